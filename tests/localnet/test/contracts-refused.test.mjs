// Contract calls that fail in the ledger and in a simulation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation, StrKey, nativeToScVal, scValToNative } from '@stellar/stellar-sdk';
import { addressOf, amount, start } from './contract-calls.mjs';
import { keypair, xlm } from './harness.mjs';

const TRAPPED = -2;
const RESOURCE_LIMIT_EXCEEDED = -3;
const INSUFFICIENT_REFUNDABLE_FEE = -5;
const somewhere = StrKey.encodeContract(Buffer.alloc(32, 7));

test('a call without the contract traps; its fee is charged, and the unused part refunded', async (t) => {
  const { client, alice, bob, creation, transfer, prepare, simulate } = await start(t, { isCreated: false });
  assert.match((await simulate(alice, transfer(alice, bob, 1n))).error, /Error\(Storage, MissingValue\)/);
  const again = await prepare(bob, creation());
  assert.equal((await client.include(await prepare(client.root, creation()))).status, 'SUCCESS');
  const before = client.balance(bob);
  const { operations, feeCharged, meta } = await client.include(again);
  assert.deepEqual(operations, [{ own: TRAPPED }], 'it exists by now');
  assert.deepEqual([meta.operations, meta.sorobanMeta], [[], null]);
  assert.equal(before - client.balance(bob), feeCharged);
  assert.ok(feeCharged < BigInt(again.fee) / 2n, 'no rent was due');
  const { diagnosticEventsXdr } = await client.server.getTransaction(Buffer.from(again.hash()).toString('hex'));
  assert.match(scValToNative(diagnosticEventsXdr[0].event.body.value.data), /contract already exists/);
});

test('transfer: the refusals of the contract', async (t) => {
  const { alice, bob, call, transfer, simulate } = await start(t);
  const error = async (operation, source = alice) => (await simulate(source, operation)).error;
  assert.match(await error(transfer(alice, bob, xlm(1000))), /Error\(Contract, #10\)[^]*not within the allowed range/);
  assert.match(await error(transfer(alice, keypair('nobody'), 1n)), /Error\(Contract, #6\)[^]*account entry is missing/);
  assert.match(await error(transfer(alice, bob, -1n)), /Error\(Contract, #8\)[^]*negative amount/);
  assert.match(await error(transfer(alice, bob, 2n ** 64n)), /Error\(Contract, #12\)[^]*too large for an i64/);
  assert.match(await error(transfer(somewhere, bob, 1n)), /balance is not sufficient to spend/);
  assert.match(await error(call('balance', [addressOf(keypair('nobody'))])), /account entry is missing/);
  assert.match(await error(call('approve', [])), /does not implement that function/);
  assert.match(await error(call('transfer', [addressOf(alice)])), /Error\(Context, UnexpectedSize\)/);
  const text = nativeToScVal('5', { type: 'string' });
  assert.match(await error(call('transfer', [addressOf(alice), addressOf(bob), text])), /Error\(Value, UnexpectedType\)/);
  assert.match(await error(call('transfer', [text, addressOf(bob), amount(1n)])), /Error\(Value, UnexpectedType\)/);
});

test('the reserve cannot be transferred', async (t) => {
  const { client, alice, bob, transfer, simulate } = await start(t);
  const spendable = client.balance(alice) - xlm(1);
  assert.ok(!(await simulate(alice, transfer(alice, bob, spendable))).error);
  assert.match((await simulate(alice, transfer(alice, bob, spendable + 1n))).error, /not within the allowed range/);
  client.net.chain.state.add({ ...client.account(bob), balance: 1n });
  assert.match((await simulate(alice, transfer(alice, bob, 1n))).error, /not within the allowed range/, 'nor may the receiver stay below');
});

test('in a ledger: an incomplete footprint traps, and insufficient resources have their codes', async (t) => {
  const { alice, bob, transfer, applied } = await start(t);
  const with_ = (change, fee) => applied(alice, transfer(alice, bob, 1n), { change, fee });
  const [readOnly, readWrite] = [(data) => data.getReadOnly(), (data) => data.getReadWrite()];
  assert.equal(await with_((data) => data.setReadOnly([])), TRAPPED);
  assert.equal(await with_((data) => data.setReadWrite(readWrite(data).slice(1))), TRAPPED);
  const onlyRead = (data) => data.setFootprint([...readOnly(data), ...readWrite(data)], []);
  assert.equal(await with_(onlyRead), TRAPPED, 'what is written must be in readWrite');
  const resources = (change) => (data) => {
    const { instructions, diskReadBytes, writeBytes } = { ...data.build().resources, ...change };
    return data.setResources(instructions, diskReadBytes, writeBytes);
  };
  assert.equal(await with_(resources({ instructions: 1_000 })), RESOURCE_LIMIT_EXCEEDED);
  assert.equal(await with_(resources({ diskReadBytes: 10 })), RESOURCE_LIMIT_EXCEEDED);
  assert.equal(await with_(resources({ writeBytes: 10 })), RESOURCE_LIMIT_EXCEEDED);
  assert.equal(await with_((data) => data), 0);
});

test('in a ledger: the refundable fee must pay for rent and events', async (t) => {
  const { client, alice, transfer, unsigned } = await start(t);
  const operation = transfer(alice, somewhere, 1n);
  const raw = unsigned(alice, operation);
  const simulation = await client.server.simulateTransaction(raw);
  const fee = BigInt(simulation.minResourceFee) / 2n;
  simulation.transactionData.setResourceFee(String(fee));
  const auth = simulation.result.auth;
  const withAuth = Operation.invokeHostFunction({ func: raw.operations[0].func, auth });
  const configure = (builder) => builder.setSorobanData(simulation.transactionData.build());
  const transaction = client.build(alice, [withAuth], { configure });
  assert.deepEqual((await client.include(transaction)).operations, [{ own: INSUFFICIENT_REFUNDABLE_FEE }]);
});

test('a simulation reports invalid requests', async (t) => {
  const { client, alice, bob, transfer, unsigned, prepare } = await start(t);
  const ask = async (transaction, params) => (await client.call('simulateTransaction', { transaction: transaction.toXdr(), ...params })).result;
  const raw = unsigned(alice, transfer(alice, bob, 1n));
  assert.match((await ask(raw, { authMode: 'maybe' })).error, /'authMode' must be one of enforce,record,record_allow_nonroot/);
  assert.match((await ask(raw, { authMode: 'enforce' })).error, /Unauthorized function call/);
  // The Python SDK sends null for what it leaves out; Go takes it for absent.
  assert.ok((await ask(raw, { authMode: null, resourceConfig: null, xdrFormat: null })).minResourceFee);
  const prepared = await prepare(alice, transfer(alice, bob, 1n));
  assert.match((await ask(prepared, { authMode: 'record' })).error, /cannot set authMode to 'record' with an auth footprint/);
  assert.equal((await ask(prepared)).error, undefined);
  assert.match((await ask(client.bump(bob, prepared, 1_000_000))).error, /simulate the inner transaction/);
  const more = await ask(raw, { resourceConfig: { instructionLeeway: 1_000_000 } });
  assert.ok(BigInt(more.minResourceFee) > BigInt((await ask(raw)).minResourceFee));
});
