// Ledgers that stellar-core closed, applied again by this network: same set hash, same results, same changes. The captures are not
// part of the project; without them the test is skipped.

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { closeLedger } from '../close.mjs';
import { Verifier } from '../ed25519.mjs';
import { newAccount } from '../entries.mjs';
import { Network, TOTAL_COINS, hex } from '../network.mjs';
import { State } from '../state.mjs';
import { decodeTransaction } from '../transaction.mjs';
import { decode, encode } from '../xdr.mjs';
import { directory, follow, isForeign, ledgers, unordered } from './captures.mjs';

const captures = /\.xdr\.gz$/;

const compareTransaction = (ours, theirs, where) => {
  assert.equal(hex(ours.result.transactionHash), hex(theirs.result.transactionHash), where);
  assert.deepEqual(encode('TransactionResult', ours.result.result), encode('TransactionResult', theirs.result.result), where);
  assert.deepEqual(unordered(ours.feeProcessing), unordered(theirs.feeProcessing), `${where}, fees`);
  const [mine, cores] = [ours.txApplyProcessing.v4, theirs.txApplyProcessing.v4];
  assert.deepEqual(unordered(mine.txChangesBefore), unordered(cores.txChangesBefore), `${where}, before`);
  assert.equal(mine.operations.length, cores.operations.length, where);
  mine.operations.forEach((operation, index) => {
    assert.deepEqual(unordered(operation.changes), unordered(cores.operations[index].changes), `${where}, operation ${index}`);
  });
};

/** Whether this network implements everything in the ledger; for other ledgers it takes the changes from core's metadata. */
const isWithin = (core, transactions) =>
  core !== undefined &&
  core.txSet.v1TxSet.phases.every((phase) => !phase.parallelTxsComponent?.executionStages.length) &&
  transactions.every(({ operations }) => operations.every((operation) => operation.isSupported));

const CONFIG_SETTING = 8;
const FROZEN_LEDGER_KEYS = 17;

const freezesKeys = ({ upgradesProcessing }) =>
  upgradesProcessing
    .flatMap(({ changes }) => changes)
    .some(({ updated }) => {
      const setting = updated?.data.type === CONFIG_SETTING ? updated.data.configSetting : null;
      return setting?.configSettingID === FROZEN_LEDGER_KEYS;
    });

const classicComponent = (core) =>
  core?.txSet.v1TxSet.phases.flatMap((phase) => phase.v0Components ?? [])[0]?.txsMaybeDiscountedFee;

const replay = async (path, network, verifier) => {
  const state = new State();
  state.add({ ...newAccount({ id: network.root.id, balance: TOTAL_COINS, sequence: 0n }), modified: 1 });
  let applied = 0;
  for (const core of ledgers(path)) {
    const component = classicComponent(core);
    const transactions = (component?.txs ?? []).map((wire) =>
      decodeTransaction(encode('TransactionEnvelope', wire), network),
    );
    const { header } = core.ledgerHeader;
    // A capture is followed up to where it has what does not exist here; neither do frozen keys (CAP-77).
    if (freezesKeys(core) || isForeign(core)) break;
    if (!isWithin(core, transactions)) {
      follow(state, core);
      continue;
    }
    const closed = await closeLedger({
      network,
      verifier,
      state,
      previous: { header: { ...header, ledgerSeq: header.ledgerSeq - 1 }, hash: Buffer.from(header.previousLedgerHash) },
      transactions,
      baseFees: { classic: component?.baseFee ?? 100n },
      closeTimeMs: header.scpValue.closeTime * 1000n,
    });
    const where = `${path.split('/').at(-1)} ledger ${header.ledgerSeq}`;
    const ours = decode('LedgerCloseMeta', closed.meta).v2;
    assert.equal(hex(closed.header.scpValue.txSetHash), hex(header.scpValue.txSetHash), `${where}, set hash`);
    core.txProcessing.forEach((theirs, index) => compareTransaction(ours.txProcessing[index], theirs, where));
    assert.equal(hex(closed.header.txSetResultHash), hex(header.txSetResultHash), `${where}, result hash`);
    closed.layer.commit();
    applied += transactions.length;
  }
  return applied;
};

test(
  'core: ledgers of stellar-core come out the same here',
  { skip: existsSync(directory) ? false : `no ${directory}` },
  async () => {
    const network = new Network({ passphrase: '(V) (;,,;) (V)' });
    const verifier = new Verifier({ sampleEvery: 1_000 });
    let applied = 0;
    for (const name of readdirSync(directory).filter((file) => captures.test(file)))
      applied += await replay(directory + name, network, verifier);
    assert.ok(applied > 1100, `${applied} transactions were compared`);
  },
);
