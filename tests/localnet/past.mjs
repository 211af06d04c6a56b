// The ledger's entries as they were some ledgers ago: what a node still has that is behind.

const LEDGERS_KEPT = 50;

export class Past {
  #ledgers = []; // {sequence, before}, oldest first

  /** `before` has, for each entry that ledger `sequence` changed, what it was; null for none. */
  add(sequence, before) {
    this.#ledgers.push({ sequence, before });
    if (this.#ledgers.length > LEDGERS_KEPT) this.#ledgers.shift();
  }

  /** The state after ledger `sequence`, read only. */
  stateAt(sequence, state) {
    const later = this.#ledgers.filter((ledger) => ledger.sequence > sequence);
    return {
      peek: (key) => {
        const change = later.find(({ before }) => before.has(key));
        return change ? change.before.get(key) : state.peek(key);
      },
    };
  }
}
