// An RPC that has just started with an empty store, as a client meets it for a second or two.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, payment } from './harness.mjs';

const ENTRY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const FOREVER = 600_000;

const start = async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  return { client, alice, bob, setEmpty: (emptyStoreMs) => client.net.faults.configure({ emptyStoreMs }) };
};

test('every method has its own error for an empty store', async (t) => {
  const { client, alice, bob, setEmpty } = await start(t);
  setEmpty(FOREVER);
  const error = async (method, params) => (await client.call(method, params)).error;
  const says = (message) => ({ code: -32603, message });
  assert.deepEqual(await error('getHealth'), says('[-32603] data stores are not initialized: DB is empty'));
  assert.deepEqual(await error('getNetwork'), says('DB is empty'));
  assert.deepEqual(await error('getLedgers', { startLedger: 2 }), says('DB is empty'));
  assert.deepEqual(await error('getLatestLedger'), says('could not get latest ledger sequence'));
  assert.deepEqual(await error('getLedgerEntries', { keys: [ENTRY] }), says('could not get latest ledger: DB is empty'));
  assert.deepEqual(await error('getTransaction', { hash: '0'.repeat(64) }), says('unable to get ledger range: DB is empty'));
  const transaction = client.build(alice, [payment(bob)]).toXdr();
  assert.deepEqual((await client.call('simulateTransaction', { transaction })).result, { error: 'DB is empty', latestLedger: 0 });
  assert.equal((await client.call('getVersionInfo')).result.protocolVersion, 28);
  assert.ok((await client.call('localnet_status')).result.latestLedger > 2, 'those that steer the network answer');
});

test('the fault ends after its time, or by a reset', async (t) => {
  const { client, setEmpty } = await start(t);
  const begun = performance.now();
  setEmpty(300);
  while ((await client.call('getHealth')).error) await new Promise((wake) => setTimeout(wake, 10));
  assert.ok(performance.now() - begun >= 300);
  setEmpty(FOREVER);
  assert.ok((await client.call('getHealth')).error);
  client.net.faults.configure({ reset: true });
  assert.equal((await client.call('getHealth')).result.status, 'healthy');
});
