// The two queues of a node: what one of them holds for the other, and what each has of its own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tx } from '../results.mjs';
import { start as startContract } from './contract-calls.mjs';
import { keypair, payment, xlm } from './harness.mjs';

const start = async (t, options) => {
  const world = await startContract(t, options);
  const { client, alice, bob, transfer, prepare } = world;
  const accounts = [];
  for (const name of ['payer', 'carol', 'dave', 'erin']) accounts.push(...(await client.create([name])));
  const [payer, ...others] = accounts;
  const call = (source, options = {}) => prepare(source, transfer(source, source === bob ? alice : bob, 1n), options);
  const pay = (source, options) => client.build(source, [payment(source === bob ? alice : bob)], options);
  const status = async (transaction) => (await client.send(transaction)).status;
  return { ...world, payer, others, call, pay, status };
};

test('TRY_AGAIN_LATER: the source has something in the other queue', async (t) => {
  const { client, alice, bob, payer, call, pay, status } = await start(t);
  const calls = { alice: await call(alice), bob: await call(bob) };
  assert.equal(await status(calls.alice), 'PENDING');
  assert.equal(await status(pay(alice)), 'TRY_AGAIN_LATER');
  assert.equal(await status(client.bump(payer, pay(alice), 40_000)), 'TRY_AGAIN_LATER', 'a fee bump of it as well');
  assert.equal(await status(pay(bob)), 'PENDING');
  assert.equal(await status(calls.bob), 'TRY_AGAIN_LATER');
  await client.close();
  assert.equal(await status(pay(alice)), 'PENDING', 'after the ledger');
});

test('TRY_AGAIN_LATER: the source pays for the contract call of another account', async (t) => {
  const { client, alice, payer, call, pay, status } = await start(t);
  const inner = await call(alice);
  const own = await call(payer);
  assert.equal(await status(client.bump(payer, inner, BigInt(inner.fee) + 1_000n)), 'PENDING');
  assert.equal(await status(pay(payer)), 'TRY_AGAIN_LATER');
  assert.equal(await status(own), 'PENDING', 'contract calls of the payer are in the same queue');
  await client.close();
  assert.equal(await status(pay(payer)), 'PENDING', 'after the ledger');
});

test('who only pays for the classic transaction of another account may call a contract', async (t) => {
  const { client, alice, payer, call, pay, status } = await start(t);
  const own = await call(payer);
  assert.equal(await status(client.bump(payer, pay(alice), 400)), 'PENDING');
  assert.equal(await status(own), 'PENDING');
});

test('being pending in the other queue comes before all other reasons to refuse', async (t) => {
  const { client, alice, call, pay, status } = await start(t);
  await client.send(await call(alice));
  assert.equal(await status(pay(alice, { sequence: 1n })), 'TRY_AGAIN_LATER');
});

test('each queue sums up what a payer owes in it; a ledger needs both sums', async (t) => {
  const { client, alice, bob, call, pay } = await start(t);
  const inner = await call(alice);
  const bumped = client.bump(keypair('poor'), inner, BigInt(inner.fee) + 1_000n);
  const balance = String(xlm(1) + BigInt(bumped.fee) + 100n);
  const [poor] = await client.create(['poor'], balance.replace(/(.{7})$/, '.$1'));
  const sent = [await client.send(client.bump(poor, pay(bob), 200)), await client.send(bumped)];
  assert.deepEqual(sent.map(({ status }) => status), ['PENDING', 'PENDING']);
  await client.close();
  const results = [];
  for (const { hash } of sent) results.push((await client.result(hash)).status);
  assert.deepEqual(results, ['SUCCESS', 'NOT_FOUND']);
});

test('each queue has its own room, and each phase of a ledger its own room and base fee', async (t) => {
  const { client, alice, bob, payer, others, call, pay, status } = await start(t, { maxOperations: 2 });
  const [carol, dave, erin] = others;
  const generous = client.bump(bob, await call(alice), 2_000);
  const bids = [[payer, '400'], [carol, '300'], [dave, '200'], [erin, '200']];
  const payments = bids.map(([source, fee]) => pay(source, { fee }));
  for (const transaction of [...payments, generous]) assert.equal(await status(transaction), 'PENDING');
  await client.close();
  const resultOf = (transaction) => client.result(Buffer.from(transaction.hash()).toString('hex'));
  const outcomes = [];
  for (const transaction of payments) {
    const { status: name, feeCharged } = await resultOf(transaction);
    outcomes.push(feeCharged ?? name);
  }
  assert.deepEqual(outcomes, [300n, 300n, 'NOT_FOUND', 'NOT_FOUND']);
  const [{ feeCharged }, alone] = [await resultOf(generous), await client.include(client.bump(bob, await call(alice), 2_000))];
  assert.ok(feeCharged <= alone.feeCharged, 'a call does not pay for a rush of payments');
});

test('txSOROBAN_INVALID: bad resources are reported although something of the source is queued', async (t) => {
  const { client, alice, bob, payer, call, transfer, prepare, status } = await start(t);
  const good = await call(alice);
  const bad = await call(alice, { change: (data) => data.setResources(400_000_001, 1_000, 1_000) });
  const other = await prepare(alice, transfer(alice, bob, 2n));
  assert.equal(await status(good), 'PENDING');
  assert.equal((await client.send(bad)).code, Tx.SOROBAN_INVALID);
  assert.equal(await status(other), 'TRY_AGAIN_LATER');
  const bump = await client.send(client.bump(payer, bad, BigInt(bad.fee) * 2n));
  assert.deepEqual([bump.code, bump.inner], [Tx.FEE_BUMP_INNER_FAILED, Tx.SOROBAN_INVALID]);
});
