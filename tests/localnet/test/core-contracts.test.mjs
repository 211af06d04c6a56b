// Calls of assets' contracts that stellar-core applied, applied again: same result, same hash of value and events, same
// changes. The captures are not part of the project; without them the test is skipped.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { Verifier } from '../ed25519.mjs';
import { Network } from '../network.mjs';
import { Layer, State } from '../state.mjs';
import { decodeTransaction } from '../transaction.mjs';
import { envelopesIn } from '../txset.mjs';
import { textOf } from '../contracts/values.mjs';
import { encode } from '../xdr.mjs';
import { directory, follow, ledgers, unordered } from './captures.mjs';

const network = new Network({ passphrase: '(V) (;,,;) (V)' });
const verifier = new Verifier();

/** Returns the value in the form that decoding gives. */
const decoded = (type, wire) => type.schema.decode(type.schema.encode(wire));

/** Sets the lifetime of entries to 0: it depends on a network setting that differs in the captures. */
const ageless = (changes) =>
  unordered(changes.map((change) => decoded(xdr.LedgerEntryChange, change))).map((change) =>
    change.replace(/"liveUntilLedgerSeq":\d+/, '"liveUntilLedgerSeq":0'),
  );

/** Other functions are those of contracts with code. */
const isTransfer = ({ invokeContract }) => !invokeContract || textOf(invokeContract.functionName) === 'transfer';

const contractCalls = (core) =>
  envelopesIn(core.txSet)
    .map((wire) => decodeTransaction(encode('TransactionEnvelope', wire), network))
    .filter(({ isSoroban, operations: [operation] }) =>
      isSoroban && operation.isSupported && isTransfer(operation.wire.body.invokeHostFunctionOp.hostFunction));

const applyCall = (transaction, state, { header }) => {
  const { baseFee, baseReserve } = header;
  const ledger = {
    sequence: header.ledgerSeq,
    closeTime: header.scpValue.closeTime,
    baseFee: BigInt(baseFee),
    baseReserve: BigInt(baseReserve),
  };
  const layer = new Layer(state, ledger);
  const effects = {};
  transaction.sorobanData.resourceFee = 10n ** 9n; // rent is cheaper in the captures
  const result = transaction.operations[0].apply(layer, { transaction, verifier, effects });
  return { result, changes: layer.changes(), effects };
};

/** Compares the calls of one ledger; the state is that before it, with fees and sequences applied. */
const compareLedger = (core, state, where) => {
  const compared = [];
  for (const transaction of contractCalls(core)) {
    const theirs = core.txProcessing.find(({ result }) => transaction.hash.equals(result.transactionHash));
    const { results } = theirs.result.result.result;
    if (!results) continue;
    const beforeOperation = new State();
    for (const entry of state.values()) beforeOperation.add(entry);
    for (const { feeProcessing } of core.txProcessing) beforeOperation.replay(feeProcessing);
    beforeOperation.replay(theirs.txApplyProcessing.v4.txChangesBefore);
    const { result, changes, effects } = applyCall(transaction, beforeOperation, core.ledgerHeader);
    assert.deepEqual(decoded(xdr.OperationResult, result), results[0], where);
    const [operation] = theirs.txApplyProcessing.v4.operations;
    if (operation) {
      assert.deepEqual(ageless(changes), ageless(operation.changes), where);
      const { returnValue } = theirs.txApplyProcessing.v4.sorobanMeta;
      assert.deepEqual(decoded(xdr.ScVal, effects.returnValue), returnValue, where);
    }
    compared.push(Object.values(result.tr)[1].code);
  }
  return compared;
};

test(
  "core: calls of assets' contracts come out the same here",
  { skip: existsSync(directory) ? false : `no ${directory}` },
  () => {
    const codes = [];
    for (const name of ['26fb40313adc084c', '46ee08cbe6a5345e', '5365a779053a148d', 'dff72321aec96f70', 'e8e94108c4e35442']) {
      const state = new State();
      for (const core of ledgers(`${directory}InvokeHostFunctionTests-${name}.xdr.gz`)) {
        const where = `${name} ledger ${core.ledgerHeader.header.ledgerSeq}`;
        codes.push(...compareLedger(core, state, where));
        follow(state, core);
      }
    }
    assert.deepEqual(codes, [0, 0, 0, 0, 0, -2], 'created, three times of an issued asset, and a transfer that leaves too little');
  },
);
