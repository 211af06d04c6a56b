// Numbers that the ledger assigns, such as those of offers: counted in the header (idPool), and within a ledger in an entry of
// its layers, so that a failed transaction uses none.

const KEY = 'id pool';

/** Starts counting from the previous header's pool. */
export const openIds = (layer, last) => layer.create({ kind: 'idPool', key: KEY, last });

export const nextId = (layer) => (layer.load(KEY).last += 1n);

/** Ends counting and returns the pool of the new header. */
export const closeIds = (layer) => {
  const { last } = layer.peek(KEY);
  layer.erase(KEY);
  return last;
};
