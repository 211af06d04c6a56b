// The contract of the native asset: created, called and read, with what the metadata says of it.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Account, Asset, Contract, MuxedAccount, StrKey, scValToNative, xdr } from '@stellar/stellar-sdk';
import { entryToWire } from '../entries.mjs';
import { sha256 } from '../network.mjs';
import { decode, encode } from '../xdr.mjs';
import { addressOf, amount, start } from './contract-calls.mjs';
import { Client, payment, xlm } from './harness.mjs';

const CREATED = 0;
const STATE = 3;
const somewhere = StrKey.encodeContract(Buffer.alloc(32, 7));
const typesOf = (changes) => changes.map(({ type, ...arm }) => [type, Object.values(arm)[0].data.type]).sort();

test('the contract is created from the asset, once', async (t) => {
  const { client, contract, creation, prepare, simulate } = await start(t, { isCreated: false });
  const transaction = await prepare(client.root, creation());
  const { status, meta, operations } = await client.include(transaction);
  assert.deepEqual([status, operations[0].own], ['SUCCESS', 0]);
  assert.deepEqual(typesOf(meta.operations[0].changes), [[CREATED, 6], [CREATED, 9]]);
  const { returnValue } = await client.server.getTransaction(Buffer.from(transaction.hash()).toString('hex'));
  assert.equal(scValToNative(returnValue), contract);
  const instance = await client.server.getLedgerEntries(new Contract(contract).getFootprint());
  assert.ok(instance.entries[0].liveUntilLedgerSeq > 2_000_000);
  assert.match((await simulate(client.root, creation())).error, /Error\(Storage, ExistingValue\)/);
});

test('transfer: moves lumens, emits an event, and refunds the unused fee', async (t) => {
  const { client, alice, bob, contract, transfer, prepare } = await start(t);
  const before = [client.balance(alice), client.balance(bob)];
  const { feePool } = client.net.chain.head.header;
  const transaction = await prepare(alice, transfer(alice, bob, xlm(5)));
  const { status, feeCharged, meta } = await client.include(transaction);
  assert.equal(status, 'SUCCESS');
  assert.ok(feeCharged < BigInt(transaction.fee), `${feeCharged} of ${transaction.fee}`);
  assert.deepEqual([before[0] - client.balance(alice), client.balance(bob) - before[1]], [xlm(5) + feeCharged, xlm(5)]);
  assert.equal(client.net.chain.head.header.feePool - feePool, feeCharged);
  assert.deepEqual(typesOf(meta.operations[0].changes), [[STATE, 0], [STATE, 0], [1, 0], [1, 0]].sort());
  const found = await client.server.getTransaction(Buffer.from(transaction.hash()).toString('hex'));
  const [[event]] = found.events.contractEventsXdr;
  const { topics, data } = event.body.value;
  assert.deepEqual(topics.map(scValToNative), ['transfer', alice.publicKey(), bob.publicKey(), 'native']);
  assert.equal(scValToNative(data), xlm(5));
  assert.equal(StrKey.encodeContract(event.contractId.value ?? event.contractId), contract);
  assert.equal(scValToNative(found.returnValue), null);
});

test('the result of a successful call is the hash of its value and events', async (t) => {
  const { client, alice, bob, transfer, prepare } = await start(t);
  const transaction = await prepare(alice, transfer(alice, bob, 1n));
  const { hash } = await client.send(transaction);
  await client.close();
  const { result } = await client.call('getTransaction', { hash });
  const [{ tr }] = decode('TransactionResult', Buffer.from(result.resultXdr, 'base64')).result.results;
  const { operations, sorobanMeta } = decode('TransactionMeta', Buffer.from(result.resultMetaXdr, 'base64')).v4;
  const preimage = encode('InvokeHostFunctionSuccessPreImage', { returnValue: sorobanMeta.returnValue, events: operations[0].events });
  assert.deepEqual(Buffer.from(tr.invokeHostFunctionResult.success), sha256(preimage));
});

test('balance, decimals, name and symbol can be read by simulation', async (t) => {
  const { client, alice, bob, call, simulate } = await start(t);
  const read = async (name, args = []) => scValToNative((await simulate(alice, call(name, args))).result.retval);
  assert.equal(await read('balance', [addressOf(bob)]), client.balance(bob));
  assert.equal(await read('balance', [addressOf(somewhere)]), 0n);
  assert.deepEqual([await read('decimals'), await read('name'), await read('symbol')], [7, 'native', 'native']);
});

test('transfer to a contract: its balance is contract data, created and then changed', async (t) => {
  const { client, alice, call, transfer, prepare, applied, simulate } = await start(t);
  const first = await client.include(await prepare(alice, transfer(alice, somewhere, xlm(3))));
  assert.deepEqual(typesOf(first.meta.operations[0].changes).filter(([type]) => type === CREATED), [[CREATED, 6], [CREATED, 9]]);
  assert.equal(await applied(alice, transfer(alice, somewhere, xlm(4))), 0);
  const { result } = await simulate(alice, call('balance', [addressOf(somewhere)]));
  assert.equal(scValToNative(result.retval), xlm(7));
  const stored = await client.server.getSACBalance(somewhere, Asset.native(), client.passphrase);
  assert.equal(stored.balanceEntry.amount, String(xlm(7)));
});

test('transfer to a muxed account: the account gets the amount, and the event has the number', async (t) => {
  const { client, alice, bob, call, prepare } = await start(t);
  const muxed = new MuxedAccount(new Account(bob.publicKey(), '0'), '77');
  const before = client.balance(bob);
  const operation = call('transfer', [addressOf(alice), addressOf(muxed.accountId()), amount(5n)]);
  const { meta } = await client.include(await prepare(alice, operation));
  assert.equal(client.balance(bob) - before, 5n);
  const { data } = meta.operations[0].events[0].body.v0;
  assert.deepEqual(scValToNative(xdr.ScVal.fromXdr(encode('ScVal', data))), { amount: 5n, to_muxed_id: 77n });
});

test('a simulation returns the entries and their changes', async (t) => {
  const { client, alice, bob, transfer, simulate } = await start(t);
  const before = client.balance(bob);
  const { stateChanges, transactionData, minResourceFee, latestLedger } = await simulate(alice, transfer(alice, bob, 9n));
  assert.deepEqual(stateChanges.map(({ type }) => type), ['updated', 'updated']);
  const [, bobs] = stateChanges;
  assert.equal(bobs.after.data.value.balance - bobs.before.data.value.balance, 9n);
  assert.deepEqual([transactionData.getReadOnly().length, transactionData.getReadWrite().length], [1, 2]);
  assert.ok(BigInt(minResourceFee) > 0n);
  assert.equal(latestLedger, client.net.chain.history.latest);
  assert.equal(client.balance(bob), before, 'nothing happened');
});

test('a fee bump pays for the call and gets the refund', async (t) => {
  const { client, alice, bob, transfer, prepare } = await start(t);
  const [payer] = await client.create(['payer']);
  const inner = await prepare(alice, transfer(alice, bob, xlm(1)));
  const before = [client.balance(alice), client.balance(payer)];
  const resourceFee = inner.toEnvelope().toXdrObject().v1.tx.ext.sorobanData.resourceFee;
  const bump = client.bump(payer, inner, BigInt(inner.fee) + 1_000n);
  const { status, code, feeCharged } = await client.include(bump);
  assert.deepEqual([status, code], ['SUCCESS', 1]);
  assert.equal(before[0] - client.balance(alice), xlm(1));
  assert.equal(before[1] - client.balance(payer), feeCharged);
  assert.ok(feeCharged < resourceFee + 200n, `${feeCharged} of ${resourceFee} and 200`);
});

test('classic transactions and calls share a ledger, with the calls in a separate phase', async (t) => {
  const { client, alice, bob, transfer, prepare } = await start(t);
  const others = await client.create(Array.from({ length: 9 }, (_, index) => `payer ${index}`));
  const sent = [await prepare(alice, transfer(alice, bob, 1n)), ...others.map((key) => client.build(key, [payment(bob)]))];
  for (const transaction of sent) assert.equal((await client.send(transaction)).status, 'PENDING');
  await client.close();
  const latest = client.net.chain.history.latest;
  const { result } = await client.call('getLedgers', { startLedger: latest });
  const { v2 } = decode('LedgerCloseMeta', Buffer.from(result.ledgers[0].metadataXdr, 'base64'));
  const [classic, parallel] = v2.txSet.v1TxSet.phases;
  assert.equal(classic.v0Components[0].txsMaybeDiscountedFee.txs.length, others.length);
  assert.equal(parallel.parallelTxsComponent.executionStages.flat(2).length, 1);
  assert.equal(v2.txProcessing.at(-1).postTxApplyFeeProcessing.length, 2, 'the call is last, and has a refund');
});

test('contract data and refunds survive a restart', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'localnet-'));
  t.after(() => rmSync(data, { recursive: true, force: true }));
  const stateOf = (client) =>
    [...client.net.chain.state.values()].map((entry) => encode('LedgerEntry', entryToWire(entry)).toString('hex')).sort();
  const { client, alice, transfer, prepare, applied } = await start(t, { data });
  assert.equal(await applied(alice, transfer(alice, somewhere, xlm(3))), 0);
  const last = await prepare(alice, transfer(alice, somewhere, xlm(3)));
  await client.include(last);
  const saved = stateOf(client);
  await client.net.close();
  const after = await Client.start(t, { data });
  assert.deepEqual(stateOf(after), saved);
  const found = await after.server.getTransaction(Buffer.from(last.hash()).toString('hex'));
  assert.equal(found.status, 'SUCCESS');
  assert.equal(found.events.contractEventsXdr[0].length, 1);
});
