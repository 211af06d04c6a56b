// One of the node's two queues of transactions that wait for a ledger: one per source account, at most two ledgers' worth, none older
// than four ledgers. (core: TransactionQueue::canAdd, TxQueueLimiter)

import { accountKey } from './entries.mjs';
import { availableBalance } from './reserves.mjs';
import { Outcome, Tx } from './results.mjs';
import { hasBadResources } from './soroban-validity.mjs';
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

export const tryAgainLater = Object.freeze({ status: Status.TRY_AGAIN_LATER });

const operations = ({ operationCount }) => BigInt(Math.max(1, operationCount));

/** The lowest fee at which `candidate` replaces `queued`, which it bumps. */
const replacementFee = (queued, candidate) => {
  const product = queued.inclusionFee * operations(candidate) * REPLACEMENT_FACTOR;
  return (product + operations(queued) - 1n) / operations(queued) + candidate.resourceFee;
};

/** The lowest fee at which `candidate` offers more per operation than `other`. */
const feeAbove = (other, candidate) =>
  (other.inclusionFee * operations(candidate)) / operations(other) + 1n + candidate.resourceFee;

const isDuplicate = (queued, candidate) =>
  queued.fullHashHex === candidate.fullHashHex ||
  (queued.isFeeBump && !candidate.isFeeBump && queued.inner.fullHashHex === candidate.fullHashHex);

const outcomeFor = (transaction, ledger) => new Outcome(transaction, minFee(ledger, transaction) + transaction.resourceFee);
const refused = (outcome) => ({ status: Status.ERROR, outcome });

/** What is said to a transaction of whose source another one is queued; null if it may replace that one. */
const answerBeside = (queued, transaction, ledger) => {
  if (isDuplicate(queued, transaction)) return { status: Status.DUPLICATE };
  const outcome = outcomeFor(transaction, ledger);
  if (transaction.sequence < queued.sequence) return refused(outcome.failOuter(Tx.BAD_SEQ));
  if (transaction.isSoroban && hasBadResources(transaction.innermost)) return refused(outcome.fail(Tx.SOROBAN_INVALID));
  if (!transaction.isFeeBump || transaction.sequence !== queued.sequence) return tryAgainLater;
  const needed = replacementFee(queued, transaction);
  return transaction.fee < needed ? refused(outcome.failOuter(Tx.INSUFFICIENT_FEE, needed)) : null;
};

export class Queue {
  #bySource = new Map();
  #operations = 0;
  /** What each fee source owes if everything in the queue is included. */
  #owed = new Map();
  #banned = Array.from({ length: BAN_LEDGERS }, () => new Set());
  /** The transaction that was evicted last since a ledger closed: newcomers must offer more, even if there is room. */
  #evicted = null;
  #verifier;
  #ledgerOperations;

  /** `maxOperations()`: how many fit into a ledger. */
  constructor({ verifier, maxOperations }) {
    this.#verifier = verifier;
    this.#ledgerOperations = maxOperations;
  }

  get #maxOperations() {
    return this.#ledgerOperations() * LEDGERS_HELD;
  }

  get transactions() {
    return [...this.#bySource.values()].map(({ transaction }) => transaction);
  }

  hasSource(account) {
    return this.#bySource.has(account);
  }

  hasPayer(account) {
    return this.#owed.has(account);
  }

  /**
   * Validates a transaction and queues it; the first check that applies decides. `ledger` has the sequence of the next ledger and the
   * close time of the last one. `late` is the number of seconds after that close time for which the transaction must be valid. Returns
   * `{status, outcome?}`, with an outcome for ERROR.
   */
  submit(transaction, state, ledger, late) {
    if (this.#isBanned(transaction)) return tryAgainLater;
    if (transaction.fee < 0n || transaction.inclusionFee < 0n)
      return refused(outcomeFor(transaction, ledger).failOuter(Tx.MALFORMED, 0n));
    const queued = this.#bySource.get(transaction.source);
    const answer = queued ? answerBeside(queued.transaction, transaction, ledger) : null;
    if (answer) return answer;

    const { evict, missingFee } = this.#roomFor(transaction, queued?.transaction);
    if (!evict) {
      this.#ban(transaction);
      if (missingFee === undefined) return tryAgainLater;
      return refused(outcomeFor(transaction, ledger).failOuter(Tx.INSUFFICIENT_FEE, missingFee));
    }
    const outcome = checkValid(transaction, state, ledger, this.#verifier, late);
    if (!outcome.ok) return refused(outcome);
    if (!this.#canPay(transaction, queued?.transaction, state, ledger))
      return refused(outcomeFor(transaction, ledger).failOuter(Tx.INSUFFICIENT_BALANCE));

    for (const evicted of evict) this.#drop(evicted);
    this.#evicted = evict.at(-1) ?? this.#evicted;
    this.#remove(transaction.source);
    this.#add(transaction, queued?.age);
    return { status: Status.PENDING };
  }

  /** Removes a transaction as if it had not arrived; it is not banned. */
  withdraw({ source }) {
    this.#remove(source);
  }

  /** After a ledger: removes `applied` and what they made invalid; the others age. What was applied is banned for one close less. */
  ledgerClosed(applied, state, ledger, late) {
    for (const transaction of applied) {
      this.#ban(transaction);
      const queued = this.#bySource.get(transaction.source)?.transaction;
      if (queued && queued.sequence <= transaction.sequence) this.#remove(transaction.source);
    }
    this.#banned.pop();
    this.#banned.unshift(new Set());
    this.#evicted = null;
    for (const item of this.#bySource.values()) if (++item.age >= MAX_AGE) this.#drop(item.transaction);
    this.dropInvalid(state, ledger, late);
  }

  /** Drops and bans what may not be in `ledger`. */
  dropInvalid(state, ledger, late) {
    for (const transaction of this.transactions)
      if (!checkValid(transaction, state, ledger, this.#verifier, late).ok) this.#drop(transaction);
  }

  /**
   * Drops and bans what its fee source cannot pay in addition to `fees`, a map by fee source, and adds the fees of the others to it.
   * Since protocol 26 a set is invalid if a fee source cannot pay all of its fees in both phases.
   */
  dropUnpaid(state, ledger, fees) {
    for (const transaction of this.transactions) {
      const { feeSource, fee } = transaction;
      const total = (fees.get(feeSource) ?? 0n) + fee;
      if (total > availableBalance(ledger, state.peek(accountKey(feeSource)))) this.#drop(transaction);
      else fees.set(feeSource, total);
    }
  }

  /** A transaction that replaces another has the age of that one. */
  #add(transaction, age = 0) {
    this.#bySource.set(transaction.source, { transaction, age });
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

  /**
   * `{evict}`, the cheaper transactions that must leave for this one; or `{missingFee}`, the fee at which there is room; or `{}` if
   * there is none at any fee: it is too large for the queue, or the one that it replaces would be evicted.
   */
  #roomFor(transaction, replaced) {
    if (this.#evicted && compareFeeRates(this.#evicted, transaction) >= 0)
      return { missingFee: feeAbove(this.#evicted, transaction) };
    const added = transaction.operationCount - (replaced?.operationCount ?? 0);
    if (added > this.#maxOperations) return {};
    let surplus = this.#operations + added - this.#maxOperations;
    const evict = [];
    if (surplus <= 0) return { evict };
    for (const other of this.transactions.sort(compareFeeRates)) {
      if (compareFeeRates(other, transaction) >= 0) return { missingFee: feeAbove(other, transaction) };
      if (other === replaced) return {};
      evict.push(other);
      surplus -= other.operationCount;
      if (surplus <= 0) break;
    }
    return { evict };
  }

  /** The fee source must be able to pay for everything that it has in this queue. */
  #canPay(transaction, replaced, state, ledger) {
    const payer = state.peek(accountKey(transaction.feeSource));
    const forgiven = replaced?.feeSource === transaction.feeSource ? replaced.fee : 0n;
    const owed = (this.#owed.get(transaction.feeSource) ?? 0n) - forgiven;
    return availableBalance(ledger, payer) >= owed + transaction.fee;
  }
}
