// The two queues of a node, for classic transactions and for contract calls. Each has its own limit, ages, bans and sums of fees.
// (core: HerderImpl::recvTransaction)

import { Queue, tryAgainLater } from './queue.mjs';
import { phaseOf } from './transaction.mjs';

export class Queues {
  #queues;

  /** `options` are those of Queue. */
  constructor(options) {
    this.#queues = { classic: new Queue(options), soroban: new Queue(options) };
  }

  /** All queued transactions. */
  get transactions() {
    return this.#all.flatMap(({ transactions }) => transactions);
  }

  get size() {
    return this.transactions.length;
  }

  submit(transaction, state, ledger, late) {
    if (this.#isPendingInOther(transaction)) return tryAgainLater;
    return this.#of(transaction).submit(transaction, state, ledger, late);
  }

  /** Removes a transaction as if it had not arrived; it is not banned. */
  withdraw(transaction) {
    this.#of(transaction).withdraw(transaction);
  }

  /** The transactions that may be in `ledger`, whose close time is known now. Drops and bans the others. */
  nominate(state, ledger) {
    const fees = new Map();
    for (const queue of this.#all) {
      queue.dropInvalid(state, ledger, 0n);
      queue.dropUnpaid(state, ledger, fees);
    }
    return this.transactions;
  }

  ledgerClosed(applied, state, ledger, late) {
    for (const [phase, queue] of Object.entries(this.#queues))
      queue.ledgerClosed(applied.filter((transaction) => phaseOf(transaction) === phase), state, ledger, late);
  }

  get #all() {
    return Object.values(this.#queues);
  }

  #of(transaction) {
    return this.#queues[phaseOf(transaction)];
  }

  /** Who pays for the contract call of another account is pending, too; paying for a classic transaction blocks nothing. */
  #isPendingInOther({ source, isSoroban }) {
    const { classic, soroban } = this.#queues;
    return isSoroban ? classic.hasSource(source) : soroban.hasSource(source) || soroban.hasPayer(source);
  }
}
