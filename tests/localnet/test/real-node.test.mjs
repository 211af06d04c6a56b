// What stellar-core and stellar-rpc have shown when fairway ran on them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tx } from '../results.mjs';
import { decode } from '../xdr.mjs';
import { start } from './contract-calls.mjs';
import { payment } from './harness.mjs';

const RESOURCE_LIMIT_EXCEEDED = -3;

test('a simulation fails while core has not published a snapshot, and the same bytes at once again succeed', async (t) => {
  const { client, alice, bob, transfer, unsigned } = await start(t);
  const transaction = unsigned(alice, transfer(alice, bob, 1n)).toXdr();
  const simulate = async () => (await client.call('simulateTransaction', { transaction })).result;
  client.net.faults.configure({ simulationSnapshot: 1 });
  const { error, events, latestLedger } = await simulate();
  assert.match(error, /^setting ContractComputeV0 is not present in the snapshot/);
  assert.deepEqual([events, latestLedger], [[], client.net.chain.history.latest]);
  client.net.faults.configure({ simulationSnapshot: 0 });
  assert.equal((await simulate()).error, undefined);
});

test('simulations are slow beside healthy ledgers and other methods', async (t) => {
  const { client, alice, bob, transfer, simulate } = await start(t);
  client.net.faults.configure({ simulationMs: 300 });
  const begun = performance.now();
  const simulation = simulate(alice, transfer(alice, bob, 1n));
  await client.close();
  assert.equal((await client.call('getHealth')).result.status, 'healthy');
  const between = performance.now() - begun;
  assert.ok((await simulation).minResourceFee);
  assert.ok(performance.now() - begun >= 299, `other methods were answered after ${between} ms`);
  assert.equal(client.net.faults.fired.simulationMs, 1);
});

test('a call fails by metering in the ledger although its simulation succeeded', async (t) => {
  const { client, alice, bob, transfer, prepare } = await start(t);
  client.net.faults.configure({ simulationLow: 1 });
  const before = [client.balance(alice), client.balance(bob)];
  const { status, operations, feeCharged, meta } = await client.include(await prepare(alice, transfer(alice, bob, 1n)));
  assert.deepEqual([status, operations], ['FAILED', [{ own: RESOURCE_LIMIT_EXCEEDED }]]);
  assert.deepEqual([before[0] - client.balance(alice), client.balance(bob)], [feeCharged, before[1]]);
  assert.equal(meta.diagnosticEvents.length, 1);
});

test('upgrades of the base fee and of the size of a set apply to the ledgers after theirs', async (t) => {
  const { client, alice, bob } = await start(t);
  const [carol, dave] = await client.create(['carol', 'dave']);
  const pay = (key, fee) => client.send(client.build(key, [payment(bob)], { fee }));
  let included;
  client.net.chain.on('closed', ({ items }) => (included = items.length));
  await client.call('localnet_upgrade', { baseFee: 200, maxTxSetSize: 2 });
  for (const key of [alice, carol, dave]) await pay(key, '150');
  const upgrade = await client.close();
  assert.deepEqual(upgrade.scpValue.upgrades.map((each) => decode('LedgerUpgrade', each)), [
    { type: 2, newBaseFee: 200 },
    { type: 3, newMaxTxSetSize: 2 },
  ]);
  assert.deepEqual([included, upgrade.baseFee, upgrade.maxTxSetSize, upgrade.ledgerVersion], [3, 200, 2, 28]);
  const { status, code, feeCharged } = await pay(alice, '150');
  assert.deepEqual([status, code, feeCharged], ['ERROR', Tx.INSUFFICIENT_FEE, 200n]);
  for (const key of [alice, carol, dave]) assert.equal((await pay(key, '200')).status, 'PENDING');
  const next = await client.close();
  assert.deepEqual([included, next.baseFee, next.scpValue.upgrades], [2, 200, []]);
});
