// Transactions that wait for a ledger: one per source account, at most two ledgers' worth, none older than four ledgers.
// (core: TransactionQueue::canAdd)

import { accountKey } from './entries.mjs';
import { availableBalance } from './reserves.mjs';
import { Outcome, Tx } from './results.mjs';
import { compareFeeRates } from './transaction.mjs';
import { checkValid, minFee } from './validity.mjs';

const REPLACEMENT_FACTOR = 10n;
const MAX_AGE = 4;
const BAN_LEDGERS = 10;
const LEDGERS_HELD = 2;

export const Status = Object.freeze({
  PENDING: 'PENDING',
  DUPLICATE: 'DUPLICATE',
  TRY_AGAIN_LATER: 'TRY_AGAIN_LATER',
  ERROR: 'ERROR',
});

const operations = ({ operationCount }) => BigInt(Math.max(1, operationCount));

/** The lowest fee at which `candidate` replaces `queued`, which it bumps. */
const replacementFee = (queued, candidate) => {
  const product = queued.inclusionFee * operations(candidate) * REPLACEMENT_FACTOR;
  return (product + operations(queued) - 1n) / operations(queued) + candidate.resourceFee;
};

const isDuplicate = (queued, candidate) =>
  queued.fullHashHex === candidate.fullHashHex ||
  (queued.isFeeBump && !candidate.isFeeBump && queued.inner.fullHashHex === candidate.fullHashHex);

export class Queue {
  #bySource = new Map();
  #operations = 0;
  /** What each fee source owes if everything in the queue is included. */
  #owed = new Map();
  #banned = Array.from({ length: BAN_LEDGERS }, () => new Set());
  #verifier;
  #ledgerOperations;
  #maxOperations;

  constructor({ verifier, maxOperations }) {
    this.#verifier = verifier;
    this.#ledgerOperations = maxOperations;
    this.#maxOperations = maxOperations * LEDGERS_HELD;
  }

  get size() {
    return this.#bySource.size;
  }

  /**
   * Validates a transaction and queues it. `ledger` has the sequence of the next ledger and the close time of the last one. `late` is the
   * number of seconds after that close time for which the transaction must be valid. Returns `{status, outcome?}`, with an outcome for
   * ERROR.
   */
  submit(transaction, state, ledger, late) {
    const refuse = (code, fee = minFee(ledger, transaction) + transaction.resourceFee) => ({
      status: Status.ERROR,
      outcome: new Outcome(transaction, fee).failOuter(code),
    });
    if (this.#isBanned(transaction)) return { status: Status.TRY_AGAIN_LATER };
    if (transaction.operationCount > this.#ledgerOperations) {
      this.#ban(transaction);
      return { status: Status.TRY_AGAIN_LATER };
    }

    const queued = this.#bySource.get(transaction.source)?.transaction;
    if (queued) {
      if (isDuplicate(queued, transaction)) return { status: Status.DUPLICATE };
      if (transaction.sequence < queued.sequence) return refuse(Tx.BAD_SEQ);
      if (!transaction.isFeeBump || transaction.sequence !== queued.sequence) return { status: Status.TRY_AGAIN_LATER };
      const needed = replacementFee(queued, transaction);
      if (transaction.fee < needed) return refuse(Tx.INSUFFICIENT_FEE, needed);
    }

    const room = this.#roomFor(transaction, queued);
    if (room.missingFee !== undefined) {
      this.#ban(transaction);
      return refuse(Tx.INSUFFICIENT_FEE, room.missingFee);
    }
    const outcome = checkValid(transaction, state, ledger, this.#verifier, late);
    if (!outcome.ok) return { status: Status.ERROR, outcome };
    if (!this.#canPay(transaction, queued, state, ledger)) return refuse(Tx.INSUFFICIENT_BALANCE);

    for (const evicted of room.evict) this.#drop(evicted);
    this.#remove(transaction.source);
    this.#add(transaction);
    return { status: Status.PENDING };
  }

  /** Queues as a core does that has no ledger yet and cannot validate. The next nomination drops what is invalid. */
  submitUnchecked(transaction) {
    if (this.#isBanned(transaction)) return { status: Status.TRY_AGAIN_LATER };
    const queued = this.#bySource.get(transaction.source)?.transaction;
    if (queued) return { status: isDuplicate(queued, transaction) ? Status.DUPLICATE : Status.TRY_AGAIN_LATER };
    this.#add(transaction);
    return { status: Status.PENDING };
  }

  /** Removes a transaction as if it had not arrived; it is not banned. */
  withdraw({ source }) {
    this.#remove(source);
  }

  /** The transactions that may be in `ledger`, whose close time is known now. Drops and bans the others. */
  nominate(state, ledger) {
    this.#banInvalid(state, ledger, 0n);
    this.#banUnpaid(state, ledger);
    return [...this.#bySource.values()].map(({ transaction }) => transaction);
  }

  /** After a ledger: removes `applied` and what they made invalid; the others age. */
  ledgerClosed(applied, state, ledger, late) {
    this.#banned.pop();
    this.#banned.unshift(new Set());
    for (const transaction of applied) {
      this.#ban(transaction);
      const queued = this.#bySource.get(transaction.source)?.transaction;
      if (queued && queued.sequence <= transaction.sequence) this.#remove(transaction.source);
    }
    for (const item of this.#bySource.values()) if (++item.age >= MAX_AGE) this.#drop(item.transaction);
    this.#banInvalid(state, ledger, late);
  }

  #banInvalid(state, ledger, late) {
    for (const { transaction } of [...this.#bySource.values()]) {
      if (!checkValid(transaction, state, ledger, this.#verifier, late).ok) this.#drop(transaction);
    }
  }

  /** Since protocol 26 a set is invalid if a fee source cannot pay all of its fees; its last transactions are dropped. */
  #banUnpaid(state, ledger) {
    const fees = new Map();
    for (const { transaction } of [...this.#bySource.values()]) {
      const { feeSource, fee } = transaction;
      const total = (fees.get(feeSource) ?? 0n) + fee;
      if (total > availableBalance(ledger, state.peek(accountKey(feeSource)))) this.#drop(transaction);
      else fees.set(feeSource, total);
    }
  }

  #add(transaction) {
    this.#bySource.set(transaction.source, { transaction, age: 0 });
    this.#operations += transaction.operationCount;
    this.#owe(transaction.feeSource, transaction.fee);
  }

  #remove(source) {
    const queued = this.#bySource.get(source)?.transaction;
    if (!queued) return;
    this.#bySource.delete(source);
    this.#operations -= queued.operationCount;
    this.#owe(queued.feeSource, -queued.fee);
  }

  #owe(feeSource, fee) {
    const owed = (this.#owed.get(feeSource) ?? 0n) + fee;
    if (owed === 0n) this.#owed.delete(feeSource);
    else this.#owed.set(feeSource, owed);
  }

  #drop(transaction) {
    this.#remove(transaction.source);
    this.#ban(transaction);
  }

  #ban(transaction) {
    this.#banned[0].add(transaction.fullHashHex);
  }

  #isBanned(transaction) {
    return this.#banned.some((hashes) => hashes.has(transaction.fullHashHex));
  }

  /** The cheaper transactions that must leave for this one, or the fee at which enough of them are cheaper. */
  #roomFor(transaction, replaced) {
    let surplus = this.#operations - (replaced?.operationCount ?? 0) + transaction.operationCount - this.#maxOperations;
    const evict = [];
    if (surplus <= 0) return { evict };
    const others = [...this.#bySource.values()].map((item) => item.transaction).filter((other) => other !== replaced);
    for (const other of others.sort(compareFeeRates)) {
      if (compareFeeRates(other, transaction) >= 0) {
        const missingFee = (other.inclusionFee * operations(transaction)) / operations(other) + 1n;
        return { missingFee: missingFee + transaction.resourceFee };
      }
      evict.push(other);
      surplus -= other.operationCount;
      if (surplus <= 0) break;
    }
    return { evict };
  }

  /** The fee source must be able to pay for everything that it has in the queue. */
  #canPay(transaction, replaced, state, ledger) {
    const payer = state.peek(accountKey(transaction.feeSource));
    const forgiven = replaced?.feeSource === transaction.feeSource ? replaced.fee : 0n;
    const owed = (this.#owed.get(transaction.feeSource) ?? 0n) - forgiven;
    return availableBalance(ledger, payer) >= owed + transaction.fee;
  }
}
