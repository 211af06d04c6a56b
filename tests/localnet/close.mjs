// Closing a ledger: from a set of transactions to the ledger's metadata and the changed state. Touches neither the queue
// nor the disk; the caller makes the result durable and then commits it.

import { applyTransaction, chargeFee, refundFee } from './apply.mjs';
import { hashHeader, nextHeader } from './header.mjs';
import { sha256 } from './network.mjs';
import { Layer } from './state.mjs';
import { phaseOf } from './transaction.mjs';
import { buildTransactionSet, inApplyOrder } from './txset.mjs';
import { encode } from './xdr.mjs';

const EXTENSION = { v: 0 };
const TURN_MS = 20;

/** Yields once a turn's time is used up, so that a full ledger does not delay requests. */
const takeTurns = () => {
  let until = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() < until) return;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + TURN_MS;
  };
};

const transactionMeta = ({ before, operations, effects }) => ({
  v: 4,
  v4: {
    ext: EXTENSION,
    txChangesBefore: before,
    operations: operations.map((changes) => ({ ext: EXTENSION, changes, events: effects.events ?? [] })),
    txChangesAfter: [],
    sorobanMeta: effects.returnValue ? { ext: EXTENSION, returnValue: effects.returnValue } : null,
    events: [],
    diagnosticEvents: effects.diagnostics ?? [],
  },
});

/** One element of txProcessing. */
const resultMeta = ({ transaction, outcome, feeChanges, meta, refundChanges }) => ({
  ext: EXTENSION,
  result: { transactionHash: transaction.hash, result: outcome.toWire() },
  feeProcessing: feeChanges,
  txApplyProcessing: meta,
  postTxApplyFeeProcessing: refundChanges,
});

const applyAll = async (transactions, layer, baseFees, verifier) => {
  const turn = takeTurns();
  const items = [];
  for (const transaction of transactions) {
    const { outcome, changes } = chargeFee(transaction, layer, baseFees[phaseOf(transaction)]);
    items.push({ transaction, outcome, feeChanges: changes });
    await turn();
  }
  for (const item of items) {
    const applied = applyTransaction(item.transaction, layer, verifier, item.outcome);
    item.meta = transactionMeta(applied);
    item.effects = applied.effects;
    await turn();
  }
  for (const item of items) item.refundChanges = refundFee(item.transaction, layer, item.outcome, item.effects);
  return items;
};

const ledgerCloseMeta = (entry, txSet, txProcessing, upgrades) => ({
  v: 2,
  v2: {
    ext: EXTENSION,
    ledgerHeader: entry,
    txSet,
    txProcessing,
    upgradesProcessing: upgrades,
    scpInfo: [],
    totalByteSizeOfLiveSorobanState: 0n,
    evictedKeys: [],
  },
});

/** Protocol 30 adds the costs of ML-DSA signatures (CAP-87) to those of instructions and memory; older ones changed the list likewise. */
const COST_TYPES = { before: 86, from30: 95 };
const costSettings = { 6: 'contractCostParamsCpuInsns', 7: 'contractCostParamsMemBytes' };
const costChanges = (sequence) =>
  Object.entries(costSettings).flatMap(([id, field]) => {
    const entry = (lastModifiedLedgerSeq, count) => ({
      lastModifiedLedgerSeq,
      data: {
        type: 8,
        configSetting: {
          configSettingID: Number(id),
          [field]: Array.from({ length: count }, (_, i) => ({ ext: EXTENSION, constTerm: BigInt(i), linearTerm: 0n })),
        },
      },
      ext: EXTENSION,
    });
    return [{ type: 3, state: entry(1, COST_TYPES.before) }, { type: 1, updated: entry(sequence, COST_TYPES.from30) }];
  });

/** LedgerUpgrades, with the settings that one to a protocol changes. */
const upgradesTo = ({ protocol, baseFee, maxTxSetSize }, previous) => {
  const changes = protocol >= 30 && previous.ledgerVersion < 30 ? costChanges(previous.ledgerSeq + 1) : [];
  return [
    ...(protocol ? [{ upgrade: { type: 1, newLedgerVersion: protocol }, changes }] : []),
    ...(baseFee ? [{ upgrade: { type: 2, newBaseFee: baseFee }, changes: [] }] : []),
    ...(maxTxSetSize ? [{ upgrade: { type: 3, newMaxTxSetSize: maxTxSetSize }, changes: [] }] : []),
  ];
};

/**
 * `previous` is `{header, hash}`. A dropped ledger names its transactions and applies none (CAP-83); `upgrades` are those of
 * Chain.upgrade. Returns the new `{header, hash}`, the metadata as XDR, the layer to commit, and each transaction in apply order with its
 * outcome and TransactionMeta.
 */
export const closeLedger = async (options) => {
  const { network, verifier, state, previous, transactions, baseFees, closeTimeMs, isDropped, upgrades = {} } = options;
  const ledger = {
    sequence: previous.header.ledgerSeq + 1,
    closeTime: closeTimeMs / 1000n,
    baseFee: BigInt(previous.header.baseFee),
    baseReserve: BigInt(previous.header.baseReserve),
  };
  const layer = new Layer(state, ledger);
  const agreed = buildTransactionSet(transactions, previous.hash, baseFees);
  const set = isDropped ? buildTransactionSet([], previous.hash, baseFees) : agreed;
  const applied = isDropped ? [] : inApplyOrder(transactions, agreed.hash);
  const items = await applyAll(applied, layer, baseFees, verifier);
  const txProcessing = items.map(resultMeta);
  const results = encode('TransactionResultSet', { results: txProcessing.map(({ result }) => result) });
  const upgraded = upgradesTo(upgrades, previous.header);
  const header = nextHeader(network, previous, {
    txSetHash: agreed.hash,
    isDropped,
    closeTimeMs,
    ...upgrades,
    upgrades: upgraded.map(({ upgrade }) => encode('LedgerUpgrade', upgrade)),
    txSetResultHash: sha256(results),
    stateHash: layer.hash(),
    feesCharged: items.reduce((sum, { outcome }) => sum + outcome.feeCharged, 0n),
  });
  const hash = hashHeader(header);
  const meta = encode('LedgerCloseMeta', ledgerCloseMeta({ hash, header, ext: EXTENSION }, set.wire, txProcessing, upgraded));
  return { header, hash, meta, layer, items };
};
