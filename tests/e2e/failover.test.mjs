// A database that went back in time, on real servers: standbys promoted while they lag, and a restored backup. The transactions of the
// leases that it forgot are live on the network. Nothing is granted until none of them can be included any more.
// About a minute: servers are copied, promoted and restarted, and ledgers close between.
// The tests move the end of a hold to the time when their envelopes are dead. With FAIRWAY_SIZE=long the first test waits for the real
// end, about six minutes.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { Databases } from './databases.mjs';
import { Service, assertSettled, payThrough, payment, sleep, slower, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 6;
const LONG = process.env.FAIRWAY_SIZE === 'long';
/** As in src/pool/grants_allowed.c: the longest lease, and twice the tolerated clock error. */
const HOLD_SECONDS = 300 + 2 * (30 + 1);
const TIMEOUT = { timeout: LONG ? 900_000 : 600_000 };

let world, databases, service, users;
/** The name of the current primary. */
let primary;
/** Everything that was signed in this file, by account and sequence: [{hash, maxTime}]. */
const signed = new Map();

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 500 });
  databases = new Databases(world);
  primary = databases.newest;
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
afterEach(async () => {
  await service?.kill('SIGKILL');
});
after(async () => {
  await databases?.stop();
  await world?.stop();
});

/** Starts a service that finds its primary among these servers. */
async function serveFrom(names, env = {}) {
  world.env.DATABASE_URL = databases.url(...names);
  service = await world.serve(env);
}

const cursor = async columns => (await databases.sql(primary, `SELECT ${columns} FROM fairway.cursor`))[0];
const held = async () => (await cursor("coalesce(held_until, 0)"))[0] !== '0';
const post = (to = service) => to.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds: 300 });

/** granted: the network's last close time before the request. */
function remember(lease, granted) {
  const key = `${lease.channelAccount} ${lease.sequence}`;
  const before = signed.get(key) ?? [];
  for (const old of before)
    assert.ok(old.maxTime < granted, `${key} was signed again while the first envelope could be included`);
  signed.set(key, [...before, { hash: lease.hash, maxTime: Number(lease.maxTime) }]);
}

/** Takes a lease and its fee bump without submitting it. Earlier envelopes must be dead by the network's close time. */
async function lease(timeoutSeconds = 300) {
  const { closeTime } = await world.network.getLatestLedger();
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds });
  assert.equal(status, 201, JSON.stringify(json));
  remember(json, Number(closeTime));
  const inner = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  inner.sign(users[0]);
  const bump = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bump.status, 200, JSON.stringify(bump.json));
  return { ...json, envelope: bump.json.transactionXdr, outerHash: bump.json.hash };
}

const leases = count => Promise.all(Array.from({ length: count }, () => lease()));

/** Submits all of them; the network includes them. */
async function include(...taken) {
  for (const { envelope } of taken)
    await submit(world, envelope);
  for (const { outerHash } of taken)
    await until(async () => (await world.network.getTransaction(outerHash)).status === 'SUCCESS', 10_000, 'the network has included the transaction');
  const { sequence } = await world.network.getLatestLedger();
  await until(async () => Number((await cursor('sequence'))[0]) >= sequence, 20_000, 'ingestion has caught up');
}

const SUSPENDED = '503 GRANTS_SUSPENDED';

/** Keeps asking these replicas for leases until stop(), which returns the status and code of each response that was not a lease. */
function pester(...replicas) {
  let running = true;
  const answers = new Set(), since = new Set();
  const all = Promise.all([...replicas, ...replicas].map(async replica => {
    while (running) {
      const { status, json } = await post(replica);
      answers.add(`${status} ${json.code ?? json.hash}`);
      if (json.forgottenSince)
        since.add(json.forgottenSince);
      await sleep(20);
    }
  }));
  return { stop: async () => {
    await until(() => answers.has(SUSPENDED), 20_000, 'a request was refused because of the hold').finally(() => (running = false));
    await all;
    assert.ok(since.size > 0, 'the answers say since which ledger leases may be forgotten');
    return [...answers];
  } };
}

/** While the database may have forgotten leases, requests get 503, for one of several reasons. */
function assertNothingGranted(answers) {
  assert.ok(answers.includes(SUSPENDED), answers);
  for (const answer of answers)
    assert.match(answer, /^503 /);
}

const noticed = () => until(() => held().catch(() => false), 30_000, 'the leader has put grants on hold');

async function assertMirrored() {
  const rows = await databases.sql(primary, 'SELECT public_key, state, sequence FROM fairway.channel_accounts');
  assert.equal(rows.length, ACCOUNTS);
  for (const [key, state, sequence] of rows) {
    assert.equal(state, 'active');
    assert.equal((await world.network.getAccount(key)).sequenceNumber(), sequence, `sequence of ${key}`);
  }
}

const ready = seconds => until(async () => (await service.get('/readyz')).status === 200, seconds * 1000, 'grants are allowed');

/** The hold ends as soon as no forgotten envelope can be included; these were never submitted. */
async function outlast(...abandoned) {
  const dead = Math.max(0, ...abandoned.map(({ maxTime }) => Number(maxTime)));
  await databases.sql(primary, `UPDATE fairway.cursor SET held_until = greatest(close_time + 1, ${dead})`);
  await ready(60);
}

/** Leases every account; each sequence number is the network's next one, and each envelope is valid. */
async function assertWhole(accounts = ACCOUNTS) {
  const taken = await leases(accounts);
  assert.equal(new Set(taken.map(({ channelAccount }) => channelAccount)).size, accounts);
  for (const { channelAccount, sequence } of taken) {
    const account = await world.network.getAccount(channelAccount);
    assert.equal(BigInt(sequence), BigInt(account.sequenceNumber()) + 1n);
  }
  await include(...taken);
  await assertSettled(assert, world, service, accounts);
}

test('DR10 promotion of a standby that lags: forgotten transactions are followed, and nothing is granted until they are dead', TIMEOUT, async () => {
  const old = primary, standby = await databases.standby(primary);
  await serveFrom([old, standby]);
  const other = await world.serve();
  await databases.caughtUp(standby, old);
  await databases.cut(standby);
  const confirmed = await payThrough(world, service, ...users);
  await until(async () => (await service.get(`/v1/transactions/${confirmed.hash}`)).json.status === 'confirmed', 20_000, 'confirmed');
  const forgotten = await leases(3), abandoned = await lease(LONG ? 300 : 20);
  await databases.crash(old);
  const clients = pester(service, other);
  await databases.promote(primary = standby);
  await noticed();
  assert.deepEqual(await databases.sql(primary, "SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL"), [['0']]);
  const [until_s, clock] = await cursor('held_until, floor(extract(epoch FROM clock_timestamp()))');
  assert.ok(until_s > Math.max(...forgotten.map(({ maxTime }) => Number(maxTime))), 'held until all of them are dead');
  assert.ok(until_s <= Number(clock) + HOLD_SECONDS);
  await include(...forgotten);
  for (const { hash } of [confirmed, ...forgotten])
    assert.equal((await service.get(`/v1/transactions/${hash}`)).json.status, 'confirmed', 'what ingestion finds is known again');
  await assertMirrored();
  if (LONG)
    await until(async () => Number((await cursor('close_time'))[0]) > Number(until_s) - 5, HOLD_SECONDS * 1000, 'the hold nears its end');
  assertNothingGranted(await clients.stop());
  await other.kill();
  await (LONG ? ready(60) : outlast(abandoned));
  await assert.rejects(submit(world, abandoned.envelope), /tx_too_late/);
  await assertWhole();
});

test('DR10 a restored backup has forgotten leases, and no sequence number is granted twice', TIMEOUT, async () => {
  const old = primary;
  await serveFrom([old]);
  const remembered = await lease();
  const backup = await databases.backup(old);
  await payThrough(world, service, ...users);
  const forgotten = await leases(3);
  await databases.crash(old);
  const clients = pester(service);
  await databases.restore(primary = backup);
  await noticed();
  await include(...forgotten);
  const known = await service.get(`/v1/transactions/${remembered.hash}`);
  assert.equal(known.json.status, 'pending', 'leases in the backup stay open');
  await include(remembered);
  await assertMirrored();
  assertNothingGranted(await clients.stop());
  await outlast();
  await assertWhole();
});

/** Starts a service that is not ready while grants are on hold. */
async function serveUnready() {
  service = new Service(world.env, world.client);
  await until(() => service.url, 30_000, 'serve listens');
}

for (const restarted of [false, true])
  test(`DR10 a copied volume put back under ${restarted ? 'restarted' : 'running'} replicas: a hold, no quarantine, no sequence number twice`, TIMEOUT, async () => {
    const old = primary;
    await serveFrom([old]);
    const other = await world.serve();
    const remembered = await lease();
    const copy = await databases.backup(old);
    await include(await lease()); // a ledger later, which each replica that runs has seen
    await sleep(slower(500)); // each looks several times a second
    const forgotten = await leases(3), abandoned = await lease(20);
    if (restarted) { // what these have seen is forgotten with them; the transactions tell
      await include(remembered, ...forgotten);
      await other.kill('SIGKILL');
      await service.kill('SIGKILL');
    }
    await databases.crash(old);
    const early = restarted ? null : pester(service, other);
    await databases.putBack(primary = copy);
    if (restarted) {
      world.env.DATABASE_URL = databases.url(copy);
      await serveUnready();
    }
    await noticed();
    const late = pester(service);
    assert.match((await cursor('hold_reason'))[0], /set back/);
    if (!restarted)
      await include(remembered, ...forgotten);
    const { sequence } = await world.network.getLatestLedger();
    await until(async () => Number((await cursor('sequence'))[0]) >= sequence, 20_000, 'ingestion has caught up');
    await assertMirrored();
    assertNothingGranted(await late.stop());
    if (early)
      assertNothingGranted(await early.stop());
    await other.kill('SIGKILL');
    assert.equal((await service.get(`/v1/transactions/${remembered.hash}`)).json.status, 'confirmed', 'a lease that the copy has');
    await outlast(abandoned);
    await assert.rejects(submit(world, abandoned.envelope), /tx_too_late/);
    await assertWhole();
  });

test('DR10 fairway hold needs only the database, and stops grants until a ledger ends the hold', TIMEOUT, async () => {
  await serveFrom([primary]);
  const taken = await lease();
  const { RPC_URL, MASTER_KEY_FILE, DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, ...alone } = world.env;
  const all = world.env;
  world.env = alone;
  const [before] = await cursor('floor(extract(epoch FROM clock_timestamp()))');
  const { stdout } = await world.fairway('hold', 'the volume was copied');
  world.env = all;
  const [until_s, clock, reason] = await cursor('held_until, floor(extract(epoch FROM clock_timestamp())), hold_reason');
  assert.ok(until_s <= Number(clock) + HOLD_SECONDS && until_s >= Number(before) + HOLD_SECONDS - 10);
  assert.match(stdout, new RegExp(`^no lease is granted until .*\\(${until_s}\\)$`, 'm'));
  assert.equal(reason, 'the volume was copied');
  const { status, json } = await post();
  assert.deepEqual([status, json.code], [503, 'GRANTS_SUSPENDED']);
  assert.equal((await service.get('/readyz')).status, 503);
  await include(taken); // existing leases can still be submitted
  let shrunk = false;
  const shrinking = world.fairway('ensure-accounts', String(ACCOUNTS - 1)).then(() => (shrunk = true));
  const retiring = async () => (await databases.sql(primary, "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'retiring'"))[0][0];
  await until(async () => await retiring() === '1', 20_000, 'an account retires');
  await sleep(1500);
  assert.equal(shrunk, false, 'it is not merged while it may have a forgotten lease');
  assert.deepEqual(await databases.sql(primary, "SELECT count(*) FROM fairway.provisioning WHERE kind = 'merge'"), [['0']]);
  await outlast();
  await shrinking;
  await assertWhole(ACCOUNTS - 1);
});
