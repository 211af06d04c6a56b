// Numbers that the ledger hands out, such as those of offers: counted in the header (idPool), and within a ledger in an entry
// of its layers, so that a failed transaction uses none up.

const KEY = 'id pool';

/** Begins to count from the previous header's pool. */
export const openIds = (layer, last) => layer.create({ kind: 'idPool', key: KEY, last });

export const nextId = (layer) => (layer.load(KEY).last += 1n);

/** Ends it; the pool of the new header. */
export const closeIds = (layer) => {
  const { last } = layer.peek(KEY);
  layer.erase(KEY);
  return last;
};
