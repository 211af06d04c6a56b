// Contract calls that no ledger includes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Account,
  Memo,
  MuxedAccount,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import { Tx } from '../results.mjs';
import { start } from './contract-calls.mjs';
import { payment } from './harness.mjs';

test('txSOROBAN_INVALID and txMALFORMED: contract calls that no ledger can include', async (t) => {
  const { client, alice, bob, transfer, unsigned } = await start(t);
  const operation = transfer(alice, bob, 1n);
  const { transactionData, result, minResourceFee } = await client.server.simulateTransaction(unsigned(alice, operation));
  const call = Operation.invokeHostFunction({ func: unsigned(alice, operation).operations[0].func, auth: result.auth });
  /** The SDK adds the resource fee to the fee that it is given; `total` sets the sum of both. */
  const withFee = (transaction, total) => {
    const wire = transaction.toEnvelope().toXdrObject();
    wire.v1.tx.fee = total;
    wire.v1.signatures = [];
    const envelope = Buffer.from(xdr.TransactionEnvelope.schema.encode(wire)).toString('base64');
    const changed = TransactionBuilder.fromXdr(envelope, client.passphrase);
    changed.sign(alice);
    return changed;
  };
  const code = async (change = (data) => data, { operations = [call], also = () => {}, total, ...options } = {}) => {
    const data = change(new SorobanDataBuilder(transactionData.build()));
    const configure = (builder) => {
      if (data) builder.setSorobanData(data.build());
      also(builder);
    };
    const built = client.build(alice, operations, { configure, ...options });
    const sent = await client.send(total === undefined ? built : withFee(built, total));
    return sent.status === 'ERROR' ? sent.code : sent.status;
  };
  const { footprint, instructions, diskReadBytes, writeBytes } = transactionData.build().resources;
  const resources = (change) => (data) => {
    const all = { instructions, diskReadBytes, writeBytes, ...change };
    return data.setResources(all.instructions, all.diskReadBytes, all.writeBytes).setResourceFee('1000000000');
  };
  assert.equal(await code(() => null), Tx.MALFORMED, 'no Soroban data');
  assert.equal(await code(undefined, { operations: [call, payment(bob)] }), Tx.MALFORMED, 'two operations');
  assert.equal(await code((data) => data.setResourceFee('-1')), Tx.MALFORMED);
  assert.equal(await code(undefined, { also: (builder) => builder.addMemo(Memo.text('x')) }), Tx.SOROBAN_INVALID);
  assert.equal(await code(undefined, { muxed: (account) => new MuxedAccount(account, '5') }), Tx.SOROBAN_INVALID);
  const muxed = new MuxedAccount(new Account(alice.publicKey(), '0'), '5').accountId();
  const byMuxed = Operation.invokeHostFunction({ func: call.body.value.hostFunction, auth: result.auth, source: muxed });
  assert.equal(await code(undefined, { operations: [byMuxed] }), Tx.SOROBAN_INVALID, 'a muxed operation source');
  const resourceFee = Number(minResourceFee);
  assert.equal(await code(undefined, { total: resourceFee - 1 }), Tx.MALFORMED, 'more than the fee');
  assert.equal(await code((data) => data.setResourceFee('100')), Tx.SOROBAN_INVALID, 'less than is always due');
  assert.equal(await code(resources({ instructions: 400_000_001 })), Tx.SOROBAN_INVALID);
  assert.equal(await code(resources({ diskReadBytes: 200_001 })), Tx.SOROBAN_INVALID);
  assert.equal(await code(resources({ writeBytes: 132_097 })), Tx.SOROBAN_INVALID);
  const twice = (data) => data.setFootprint([...footprint.readOnly, footprint.readWrite[0]], footprint.readWrite);
  assert.equal(await code(twice), Tx.SOROBAN_INVALID, 'a key twice');
  assert.equal(await code(undefined, { total: resourceFee + 99 }), Tx.INSUFFICIENT_FEE, 'too little is left for inclusion');
  assert.equal(await code(resources({})), 'PENDING');
});
