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

async function setNames(names) {
  await databases.sql('postgres', `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await databases.sql('postgres', 'SELECT pg_reload_conf()');
  const shown = async () => (await databases.sql('postgres', 'SHOW synchronous_standby_names'))[0]?.[0] ?? '';
  await until(async () => await shown() === names, 10_000, `synchronous_standby_names is '${names}'`);
}

const line = async service => (await service.get('/readyz')).json.checks.find(({ name }) => name === 'standby');
const metric = async service =>
  /^fairway_database_synchronous_standby_configured (\d)$/m.exec(await (await fetch(`${service.adminUrl}/metrics`)).text())[1];

test('DR10 without a synchronous standby the start, /readyz and /metrics report it', { timeout: 60_000 }, async () => {
  const replica = await world.serve(ENV);
  assert.match(replica.log, /level=warn msg="DATABASE_FAILOVER=synchronous, but no synchronous standby is configured/);
  const { ok, warning } = await line(replica);
  assert.equal(ok, true);
  assert.match(warning, /no synchronous standby/);
  assert.equal(await metric(replica), '0');
  await replica.kill();
});

test('DR10 the leader logs when no synchronous standby is configured any more, and when one is again', { timeout: 90_000 }, async () => {
  const standby = await databases.standby('postgres');
  await setNames('*');
  const synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
  await until(async () => (await databases.sql('postgres', synchronous))[0][0] === '1', 20_000, 'it is synchronous');
  const service = await world.serve(ENV);
  assert.doesNotMatch(service.log, /no synchronous standby/);
  assert.deepEqual(await line(service), { name: 'standby', ok: true });
  assert.equal(await metric(service), '1');
  await setNames('');
  await until(() => /level=warn msg="[^"]*no synchronous standby is configured any more/.test(service.log), 20_000, 'it says so');
  assert.match((await line(service)).warning, /no synchronous standby/);
  await setNames('*');
  await until(() => /a synchronous standby is configured again/.test(service.log), 20_000, 'it says that too');
  await setNames('');
  await service.kill();
  await databases.crash(standby);
});
