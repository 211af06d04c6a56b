// DR1, DR2, DR7: the ledger transaction, killed, cut off or stopped at every point. At every instant that another session can see, a lease is
// closed if and only if its ledger's row and the cursor are committed.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { isLedgerWhole, ledgerTransaction, points, Stop, stopped } from '../faults/stop.mjs';
import { assertSettled, payment, sleep, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 8;
let world, users, service, stop, list;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  users = [await world.newAccount(), await world.newAccount()];
  world.localnet.pause();
  stop = new Stop(path.join(world.folder, 'stop'));
  service = await world.serve(stop.env);
});
after(() => world?.stop());

/** A lease's transaction, signed by its user. */
async function signed() {
  const leased = await service.post('/v1/transactions',
    { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 300 });
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(users[0]);
  return { hash: leased.json.hash, inner };
}

/** Takes a lease that the next ledger will include. */
async function submitted() {
  const { hash, inner } = await signed();
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  await submit(world, bumped.json.transactionXdr);
  return hash;
}

/** Takes a lease that fairway sends, and that the node has not taken: it is due after the next ledger. */
async function refusedOnce() {
  const { hash, inner } = await signed(), { faults } = world.localnet, { tryAgainLater } = faults.fired;
  faults.configure({ tryAgainLater: 1 });
  assert.equal((await service.post('/v1/submissions', { transactionXdr: inner.toXDR() })).status, 202);
  await until(() => faults.fired.tryAgainLater > tryAgainLater, 10_000, 'it was sent');
  faults.configure({ tryAgainLater: 0 });
  return hash;
}

const waits = hash => world.localnet.chain.queued.some(({ innerHash }) => innerHash === hash);
/** undefined: it has not ended. */
const resultOf = async hash => (await world.sql(`SELECT result FROM fairway.lease_history WHERE hash = '\\x${hash}'`))[0]?.[0];

/** The points of the last claim before a transaction was sent, and of that. */
function claimPoints(all) {
  const mine = all.filter(line => /^(fairway submit|rpc): /.test(line)), sent = mine.indexOf('rpc: sendTransaction');
  const begins = mine.findLastIndex((line, i) => i < sent && line.startsWith('fairway submit: SELECT '));
  return [...mine.slice(begins, sent), ...mine.filter(line => line.startsWith('rpc: '))];
}

const latest = async () => (await world.network.getLatestLedger()).sequence;

/** Checks in one snapshot that lease, account, ledger row and cursor agree; returns {closed, cursor}. */
async function look(hash, ledger) {
  const [[closed, idle, row, cursor]] = await world.sql(`SELECT l.settled_at IS NOT NULL, a.lease_hash IS DISTINCT FROM l.hash,
    EXISTS (SELECT FROM fairway.ledgers WHERE sequence = ${ledger}), c.sequence
    FROM fairway.lease_history l JOIN fairway.channel_accounts a ON a.public_key = l.account, fairway.cursor c
    WHERE l.hash = '\\x${hash}'`);
  assert.equal(closed, idle, 'lease and account');
  assert.equal(closed, row, 'lease and ledger row');
  assert.equal(closed, Number(cursor) >= ledger ? 't' : 'f', 'lease and cursor');
  return { closed: closed === 't', cursor: Number(cursor) };
}

/** Polls until stop() is called, which returns the number of polls. */
function watch(hash, ledger) {
  let stopped = false, looks = 0;
  const watching = (async () => {
    while (!stopped) {
      await look(hash, ledger);
      looks++;
      await sleep(5);
    }
  })();
  return async () => {
    stopped = true;
    await watching;
    return looks;
  };
}

const settled = (hash, ledger) => until(async () => (await look(hash, ledger)).closed, 20_000, `lease ${hash} is closed`);

async function endedOnce(hash, ledger) {
  assert.deepEqual(await world.sql(`SELECT result, ledger FROM fairway.lease_history WHERE hash = '\\x${hash}'`), [['confirmed', String(ledger)]]);
  const numbers = (await world.sql('SELECT sequence FROM fairway.ledgers ORDER BY sequence')).map(([n]) => Number(n));
  assert.deepEqual(numbers, Array.from(numbers, (_, i) => numbers[0] + i), 'no ledger skipped');
}

/** The sequence numbers of the pool, added up. */
const used = async () => Number((await world.sql('SELECT sum(sequence) FROM fairway.channel_accounts'))[0][0]);

/** Closes a ledger by hand; the leader follows. */
async function closeLedger() {
  await world.localnet.closeLedger();
  return latest();
}

test('DR1 the points of the ledger transaction are those of faults/points', { timeout: 600_000 }, async () => {
  const first = await submitted(); // statements are prepared once per session
  await settled(first, await closeLedger());
  const hash = await submitted();
  const lines = await stop.trace(async () => settled(hash, await closeLedger()), isLedgerWhole);
  list = points('ledger', ledgerTransaction(lines));
});

/** Returns every n-th point, and all points from COMMIT on; with FAIRWAY_SIZE=long, all. */
const sample = n => list.filter((_, i) => process.env.FAIRWAY_SIZE === 'long' || i % n === 0 || i >= list.length - 4);

for (const action of ['kill', 'cut'])
  test(`${action === 'kill' ? 'DR1' : 'DR2'} the leader is ${action === 'kill' ? 'killed' : 'cut off'} at every point: no early and no lost release`, { timeout: 600_000 }, async t => {
    let looks = 0, committed = 0;
    const chosen = action === 'kill' ? list : sample(2), before = await used();
    for (const { point, count } of chosen) {
      const hash = await submitted();
      stop.arm(action, point, count);
      const ledger = await closeLedger();
      const stopWatching = watch(hash, ledger);
      await stop.reach(point);
      if (action === 'kill') {
        assert.equal((await service.ended).signal, 'SIGKILL');
        committed += (await look(hash, ledger)).closed;
        service = await world.serve(stop.env);
      }
      await settled(hash, ledger);
      looks += await stopWatching();
      await endedOnce(hash, ledger);
    }
    t.diagnostic(`${chosen.length} of ${list.length} points, ${looks} looks: 0 early, 0 lost releases`);
    if (action === 'kill')
      assert.ok(committed > 0 && committed < chosen.length, 'points on both sides of the COMMIT');
    assert.equal(await used(), before + chosen.length, 'each lease used one sequence number');
    assert.deepEqual(await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state <> 'active'"), [['0']]);
  });

test('DL16 what a replica has claimed after a ledger and not sent, because it was killed at any point, is sent after the next one', { timeout: 600_000 }, async t => {
  const first = await refusedOnce();
  const lines = await stop.trace(async () => {
    await closeLedger();
    await until(() => waits(first), 20_000, 'it waits in the node');
  }, all => all.includes('rpc: sendTransaction sent'));
  const all = points('claim', claimPoints(lines)), hashes = [first];
  for (const { point } of all) {
    const hash = await refusedOnce();
    stop.arm('kill', point);
    await closeLedger();
    await stop.reach(point);
    assert.equal((await service.ended).signal, 'SIGKILL');
    service = await world.serve(stop.env);
    await closeLedger();
    hashes.push(hash);
    await until(async () => waits(hash) || await resultOf(hash) === 'confirmed', 20_000, `killed at "${point}": it is sent`);
  }
  await closeLedger();
  for (const hash of hashes)
    await until(async () => await resultOf(hash) === 'confirmed', 20_000, `${hash} is confirmed`);
  t.diagnostic(`${all.length} of ${all.length} points`);
});

test('DR7 a stopped leader that has lost its lock commits nothing when it continues with its old term', { timeout: 600_000 }, async t => {
  const old = service;
  let takeovers = 0;
  for (const { point, count } of sample(3)) {
    const hash = await submitted();
    stop.arm('stop', point, count);
    const ledger = await closeLedger();
    const stopWatching = watch(hash, ledger);
    await stop.reach(point);
    await stopped(old.process.pid);
    const [[term]] = await world.sql('SELECT term FROM fairway.cursor');
    // the server releases the stopped leader's locks, as it does by itself after the idle timeout
    await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway ingest'");
    service = await world.serve();
    await settled(hash, ledger);
    // after COMMIT the lease is closed already, and the young one may not lead yet
    await until(async () => Number((await world.sql('SELECT term FROM fairway.cursor'))[0][0]) > Number(term), 20_000, 'the term is another one');
    const next = await submitted();
    old.process.kill('SIGCONT');
    const nextLedger = await closeLedger();
    await settled(next, nextLedger);
    await stopWatching();
    await endedOnce(hash, ledger);
    await endedOnce(next, nextLedger);
    await service.kill('SIGKILL');
    service = old;
    takeovers++;
  }
  t.diagnostic(`${takeovers} takeovers, 0 regressions`);
});

test('DR1 at the end every account is idle, at the sequence number that the network has', { timeout: 600_000 }, async () => {
  world.localnet.resume();
  await assertSettled(assert, world, service, ACCOUNTS);
});
