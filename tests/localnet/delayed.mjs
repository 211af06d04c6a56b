// Transactions that a fault keeps out of the queue: delayed for some ledgers, or until the last ledger that may include
// them.

import { accountKey } from './entries.mjs';
import { checkValid } from './validity.mjs';

export class Delayed {
  #bySource = new Map();
  #faults;

  constructor(faults) {
    this.#faults = faults;
  }

  get transactions() {
    return [...this.#bySource.values()].map(({ transaction }) => transaction);
  }

  has({ fullHashHex, source }) {
    return this.#bySource.get(source)?.transaction.fullHashHex === fullHashHex;
  }

  /** Takes a transaction that was just queued, if a fault applies to it. If it returns true, the caller removes it from the queue. */
  take(transaction, latestLedger) {
    if (this.#faults.happens('loseSubmission')) return true;
    const isLate = this.#faults.happensTo('late', transaction.innermost);
    const delay = isLate ? 0 : this.#faults.delayOf(transaction.innermost);
    if (!isLate && delay === 0) return false;
    this.#bySource.set(transaction.source, { transaction, isLate, due: latestLedger + 1 + delay });
    return true;
  }

  /** The transactions of a dropped ledger wait for the next one. */
  putBack(transactions, due) {
    for (const transaction of transactions) this.#bySource.set(transaction.source, { transaction, isLate: false, due });
  }

  /**
   * The transactions due in `ledger`, all valid; `nextCloseTime` is the expected close time of the ledger after it. Those that
   * became invalid are forgotten.
   */
  arrive(state, ledger, nextCloseTime, verifier) {
    const arrived = [];
    for (const [source, { transaction, isLate, due }] of this.#bySource) {
      const { maxTime, maxLedger } = transaction.innermost;
      const isLast = (maxTime !== 0n && nextCloseTime > maxTime) || (maxLedger !== 0 && ledger.sequence + 1 >= maxLedger);
      const isValid = checkValid(transaction, state, ledger, verifier).ok;
      if (isValid && !(isLate ? isLast : ledger.sequence >= due)) continue;
      this.#bySource.delete(source);
      if (isValid && state.peek(accountKey(transaction.feeSource))) arrived.push(transaction);
    }
    return arrived;
  }
}
