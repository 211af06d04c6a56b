// The set of transactions that a ledger agrees on, and the order in which they are applied.

import { compareFeeRates, phaseOf } from './transaction.mjs';
import { sha256 } from './network.mjs';
import { encode } from './xdr.mjs';

const byFullHash = (a, b) => Buffer.compare(a.fullHash, b.fullHash);

/** What fits into one phase, and the base fee of that phase. */
const selectPhase = (candidates, { baseFee, maxOperations }) => {
  const ranked = [...candidates].sort((a, b) => compareFeeRates(b, a) || byFullHash(a, b));
  const chosen = [];
  let operations = 0;
  for (const transaction of ranked) {
    if (operations + transaction.operationCount > maxOperations) continue;
    operations += transaction.operationCount;
    chosen.push(transaction);
  }
  const surge = chosen.length > 0 && chosen.length < ranked.length;
  return { chosen, baseFee: surge ? lowestRate(chosen, baseFee) : baseFee };
};

/**
 * Chooses from `candidates` (one per source account, all valid) what fits, best fee rate first. Each phase has room for
 * `maxOperations`. Returns the chosen ones and for each phase the base fee that each of them pays per operation: more than the minimum
 * only if some did not fit.
 */
export const selectTransactions = (candidates, limits) => {
  const of = (phase) => selectPhase(candidates.filter((candidate) => phaseOf(candidate) === phase), limits);
  const [classic, soroban] = [of('classic'), of('soroban')];
  return { chosen: [...classic.chosen, ...soroban.chosen], baseFees: { classic: classic.baseFee, soroban: soroban.baseFee } };
};

const lowestRate = (transactions, baseFee) => {
  const lowest = transactions.reduce((least, transaction) =>
    compareFeeRates(transaction, least) < 0 ? transaction : least,
  );
  const rate = lowest.inclusionFee / BigInt(Math.max(1, lowest.operationCount));
  return rate > baseFee ? rate : baseFee;
};

const wiresOf = (transactions) => [...transactions].sort(byFullHash).map(({ wire }) => wire);

/**
 * The GeneralizedTransactionSet with its hash; its transactions are in the order of their hashes. Contract calls are a separate
 * phase, which has one cluster here: one after the other.
 */
export const buildTransactionSet = (transactions, previousLedgerHash, baseFees) => {
  const txs = wiresOf(transactions.filter(({ isSoroban }) => !isSoroban));
  const calls = wiresOf(transactions.filter(({ isSoroban }) => isSoroban));
  const component = { type: 0, txsMaybeDiscountedFee: { baseFee: baseFees.classic, txs } };
  const parallel = calls.length > 0 ? { baseFee: baseFees.soroban, executionStages: [[calls]] } : { baseFee: null, executionStages: [] };
  const wire = {
    v: 1,
    v1TxSet: {
      previousLedgerHash,
      phases: [{ v: 0, v0Components: txs.length > 0 ? [component] : [] }, { v: 1, parallelTxsComponent: parallel }],
    },
  };
  return { wire, hash: sha256(encode('GeneralizedTransactionSet', wire)) };
};

/** The envelopes of a GeneralizedTransactionSet. */
export const envelopesIn = (set) =>
  set.v1TxSet.phases.flatMap(({ v0Components = [], parallelTxsComponent }) => [
    ...v0Components.flatMap(({ txsMaybeDiscountedFee }) => txsMaybeDiscountedFee.txs),
    ...(parallelTxsComponent?.executionStages ?? []).flat(2),
  ]);

/** Apply order: contract calls last; by full hash XOR set hash, which nobody can predict. (core: ApplyTxSorter) */
export const inApplyOrder = (transactions, setHash) => {
  const rank = ({ fullHash }) => fullHash.map((byte, index) => byte ^ setHash[index]);
  return transactions
    .map((transaction) => ({ transaction, rank: rank(transaction) }))
    .sort((a, b) => a.transaction.isSoroban - b.transaction.isSoroban || Buffer.compare(a.rank, b.rank))
    .map(({ transaction }) => transaction);
};
