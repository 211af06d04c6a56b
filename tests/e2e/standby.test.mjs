// The leader is stopped (SIGSTOP) while it holds its session lock: another replica takes the lead with a new term. H14. A standby waits
// 30 s and more for that, so this runs only with FAIRWAY_SIZE=long; tests/integration/test_leader.c tests it with a short wait.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertSettled, payThrough, startWorld, until } from './harness.mjs';

const ACCOUNTS = 6;
const skip = process.env.FAIRWAY_SIZE !== 'long' && 'FAIRWAY_SIZE=long';
let world;

before(async () => {
  if (!skip)
    world = await startWorld({ accounts: ACCOUNTS });
});
after(() => world?.stop());

const cursor = async () => (await world.sql('SELECT sequence, term FROM fairway.cursor'))[0].map(Number);

test('H14 another replica replaces a stopped leader, which cannot commit when it wakes', { skip, timeout: 600_000 }, async () => {
  const [payer, payee] = await Promise.all([world.newAccount(), world.newAccount()]);
  const leader = await world.serve();
  const standby = await world.serve();
  assert.match(leader.log, /this replica leads ingestion/);
  assert.doesNotMatch(standby.log, /this replica leads ingestion/);
  await payThrough(world, leader, payer, payee);
  leader.process.kill('SIGSTOP');
  const [, term] = await cursor();
  await until(async () => (await cursor())[1] > term, 60_000, 'the standby raises the term');
  await until(() => /took over: the leader committed no ledger/.test(standby.log), 20_000, 'the log has the reason');
  await until(async () => (await standby.get('/readyz')).status === 200, 20_000, 'the standby has caught up');
  await payThrough(world, standby, payer, payee);
  leader.process.kill('SIGCONT');
  await until(async () => (await leader.get('/readyz')).status === 200, 30_000, 'the replica that was stopped is ready again');
  await payThrough(world, leader, payer, payee);
  await assertSettled(assert, world, standby, ACCOUNTS);
  const [[gaps]] = await world.sql(`SELECT count(*) FROM fairway.ledgers l WHERE l.sequence > (SELECT min(sequence) FROM fairway.ledgers)
    AND NOT EXISTS (SELECT FROM fairway.ledgers m WHERE m.sequence = l.sequence - 1 AND m.hash = l.previous_hash)`);
  assert.equal(gaps, '0', 'each ledger is linked to the one before');
  const [[odd]] = await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state <> 'active'");
  assert.equal(odd, '0');
});
