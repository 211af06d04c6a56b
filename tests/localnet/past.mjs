// The ledger's entries as they were some ledgers ago, for a node that lags.

const LEDGERS_KEPT = 50;

export class Past {
  #ledgers = []; // {sequence, before}, oldest first

  /** For each entry that ledger `sequence` changed, `before` has its earlier value; null for none. */
  add(sequence, before) {
    this.#ledgers.push({ sequence, before });
    if (this.#ledgers.length > LEDGERS_KEPT) this.#ledgers.shift();
  }

  /** The read-only state after ledger `sequence`, however many ledgers close meanwhile. */
  stateAt(sequence, state) {
    return {
      peek: (key) => {
        const change = this.#ledgers.find((ledger) => ledger.sequence > sequence && ledger.before.has(key));
        return change ? change.before.get(key) : state.peek(key);
      },
    };
  }
}
