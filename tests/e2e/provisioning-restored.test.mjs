// ensure-accounts on a database that went back in time: an earlier copy replaces the original (DR10).
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { startProvisioning } from './provisioning.mjs';
import { sleep, until } from './harness.mjs';

let provisioning, world, proxy, original;

beforeEach(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy } = provisioning);
  original = world.env.DATABASE_URL;
});
afterEach(() => provisioning?.stop());

/** Copies the database, as a backup does; restore() replaces the database by the copy. No session may be open during either. */
async function backUp(name) {
  const url = new URL(original), source = url.pathname.slice(1), here = world.env.DATABASE_URL;
  url.pathname = '/template1';
  world.env.DATABASE_URL = url.href; // also ends the session that world.sql() has in the source
  await until(async () => (await world.sql(`SELECT 1 FROM pg_stat_activity WHERE datname = '${source}'`)).length === 0,
    10_000, 'no session is connected');
  await world.sql(`CREATE DATABASE ${name} TEMPLATE ${source}`);
  world.env.DATABASE_URL = here;
  return () => {
    url.pathname = `/${name}`;
    world.env.DATABASE_URL = url.href;
  };
}

/** Kills a run just before it sends its transaction; returns the transaction. */
async function killedAtSend(count) {
  let run;
  const sent = new Promise(resolve => {
    proxy.onSend = (forward, call) => {
      run.process.kill('SIGKILL');
      resolve(call.params.transaction);
      return 'hang up';
    };
  });
  run = provisioning.start(['ensure-accounts', String(count)]);
  const transaction = await sent;
  await run.ended;
  proxy.onSend = () => null;
  return transaction;
}

const submit = transaction => fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendTransaction', params: { transaction } }) }).then(answer => answer.json());

test('DR10 a forgotten creation that was included: its accounts are used, none is created twice', { timeout: 600_000 }, async () => {
  await provisioning.ensureExactly(2);
  await killedAtSend(5);
  await world.sql("DELETE FROM fairway.provisioning WHERE state = 'pending'");
  const restore = await backUp('before_sending'); // has the keys, and no pending transaction
  await provisioning.ensureExactly(5);
  const keys = provisioning.sponsored();
  restore();
  await provisioning.ensureExactly(5);
  assert.deepEqual(provisioning.sponsored(), keys);
});

test('DR10 a forgotten creation that is still pending: one of the two is included', { timeout: 600_000 }, async () => {
  await provisioning.ensureExactly(2);
  const before = await world.sql('SELECT coalesce(max(id), 0) FROM fairway.provisioning');
  const forgotten = await killedAtSend(6);
  await world.sql(`DELETE FROM fairway.provisioning WHERE id > ${before[0][0]}`);
  const restore = await backUp('under_way');
  restore();
  proxy.onSend = async () => {
    proxy.onSend = () => null;
    assert.equal((await submit(forgotten)).result.status, 'PENDING');
    return null;
  };
  await provisioning.ensureExactly(6);
  const states = await world.sql(`SELECT state FROM fairway.provisioning WHERE id > ${before[0][0] + 1} ORDER BY id`);
  assert.ok(!states.flat().includes('pending'));
});

for (const noticed of [false, true])
  test(`DR10 Z6 a merged account that the restored database has as active: ${noticed ? 'retired' : 'quarantined'}, never signed for, replaced`, { timeout: 600_000 }, async () => {
    await provisioning.ensureExactly(6);
    const restore = await backUp(`before_merge_${noticed}`);
    if (!noticed) // a transaction of a lease that the database does not have would be noticed, too
      await world.sql("UPDATE fairway.cursor SET paused = 'so that the distribution account is the source of the merge'");
    await provisioning.ensureExactly(3);
    restore();
    if (!noticed) // a copied volume leaves no trace
      await world.sql('UPDATE fairway.cursor SET home = (fairway.identity()).home');
    const [[cursor]] = await world.sql('SELECT sequence FROM fairway.cursor');
    await until(() => world.localnet.chain.history.latest >= Number(cursor) + 3, 10_000, 'the network is three ledgers ahead of the cursor');
    let asked = 0;
    proxy.onCall = async ({ method }) => { // so that the run could stop after the first of them, with the old state
      if (method === 'getLedgers' && ++asked === 2)
        await sleep(1500);
    };
    const { code, out } = await provisioning.ensure(6);
    proxy.onCall = async () => {};
    assert.equal(code, 0, out);
    const rows = await world.sql("SELECT public_key, state FROM fairway.channel_accounts WHERE state <> 'retired'");
    const active = rows.filter(([, state]) => state === 'active').map(([key]) => key).sort();
    assert.equal(active.length, 6);
    assert.deepEqual(provisioning.sponsored(), active, 'what is active is on the network, and nothing else is');
    const gone = rows.filter(([, state]) => state === 'quarantined').map(([key]) => key);
    assert.equal(gone.length, noticed ? 0 : 3, 'missing accounts are reported, unless the database must have forgotten their merge');
    if (!noticed)
      assert.match(out, /quarantined=3/);
    const merged = await world.sql(`SELECT 1 FROM fairway.provisioning p WHERE p.state <> 'succeeded' AND p.kind = 'merge'`);
    assert.deepEqual(merged, [], 'nothing was signed for what is gone');
    for (const key of gone)
      await world.fairway('accounts', 'retire', key);
    await provisioning.ensureExactly(6);
  });
