// DATABASE_FAILOVER=synchronous promises that every commit waits for a standby. When PostgreSQL is not configured so, fairway reports it: at
// start, in /readyz and /metrics, and in the leader's log when it changes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Databases } from './databases.mjs';
import { startWorld, until } from './harness.mjs';

const ENV = { DATABASE_FAILOVER: 'synchronous' };
let world, databases;

before(async () => {
  world = await startWorld({ accounts: 1 });
  databases = new Databases(world);
});
after(async () => {
  await databases?.stop();
  await world?.stop();
});

const isConfigured = async service => (await service.metrics()).fairway_database_synchronous_standby_configured;

/** The standby is removed after the start of a replica and before its first ledger. */
async function leaderLogsWithItsFirstLedger() {
  world.localnet.pause();
  await world.localnet.chain.settled();
  const { sequence } = await world.network.getLatestLedger();
  const service = await world.serve(ENV);
  await until(async () => (await service.metrics()).fairway_cursor_ledger === sequence, 20_000, 'the last ledger is committed');
  await service.kill();
  const next = await world.serve(ENV);
  await world.setStandby('');
  assert.doesNotMatch(next.log, /no synchronous standby/);
  world.localnet.resume();
  await until(() => /level=warn msg="[^"]*no synchronous standby is configured/.test(next.log), 20_000, 'the first ledger logs the missing standby');
  await next.kill();
}

test('DR10 the leader logs when no synchronous standby is configured, and when one is again', { timeout: 600_000 }, async () => {
  const standby = await databases.standby('postgres');
  await world.setStandby('*');
  const synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
  await until(async () => (await databases.sql('postgres', synchronous))[0][0] === '1', 20_000, 'the standby is synchronous');
  const service = await world.serve(ENV);
  assert.doesNotMatch(service.log, /no synchronous standby/);
  assert.deepEqual(await service.check('standby'), { status: 200, name: 'standby', ok: true });
  assert.equal(await isConfigured(service), 1);
  await world.setStandby('');
  await until(() => /level=warn msg="[^"]*no synchronous standby is configured/.test(service.log), 20_000, 'the missing standby is logged');
  assert.match((await service.check('standby')).warning, /no synchronous standby/);
  await world.setStandby('*');
  await until(() => /a synchronous standby is configured again/.test(service.log), 20_000, 'the standby is logged');
  await service.kill();
  await leaderLogsWithItsFirstLedger();
  await databases.crash(standby);
});
