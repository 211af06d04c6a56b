// The ledger's entries as they were some ledgers ago: what a node still has that is behind.

const LEDGERS_KEPT = 50;

export class Past {
  #ledgers = []; // {sequence, before}, oldest first

  /** `before` has, for each entry that ledger `sequence` changed, what it was; null for none. */
  add(sequence, before) {
    this.#ledgers.push({ sequence, before });
    if (this.#ledgers.length > LEDGERS_KEPT) this.#ledgers.shift();
  }

  /** The state after ledger `sequence`, read only, however many ledgers close meanwhile. */
  stateAt(sequence, state) {
    return {
      peek: (key) => {
        const change = this.#ledgers.find((ledger) => ledger.sequence > sequence && ledger.before.has(key));
        return change ? change.before.get(key) : state.peek(key);
      },
    };
  }
}
