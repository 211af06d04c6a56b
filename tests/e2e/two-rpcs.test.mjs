// Two RPCs in RPC_URL, of which one lies: one that lies about ledgers stops ingestion until it agrees again or is removed, whichever comes
// first in the list; one that lies about accounts or transactions decides nothing; one that is unavailable or lags is left out; a ledger that
// one has dropped is read from the other. A lease is open all the time: nothing of that ends it.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet/localnet.mjs';
import { freePort, payment, payThrough, startWorld, submit, until } from './harness.mjs';
import { claimRemoved, dropped, failedResult, missing, refuse, setResult, stoppedAt } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const STOPPED_MS = 2000; // in which several ledgers close
let world, service, users, first, second, other, lease; // lease: the hash of the open one

/** A proxy of the network, whose `say` may replace an answer. */
async function rpc() {
  const it = {};
  const proxy = await proxyRpc(world.localnet.url, async (call, forward) => (it.say ?? (async (_, answer) => answer()))(call, forward));
  return Object.assign(it, proxy);
}

before(async () => {
  world = await startWorld({ accounts: 16, ledgerMs: 300 });
  other = await startLocalnet({ port: 0, ledgerMs: 30, passphrase: 'another network' }); // it has every number that ours has
  [first, second] = [await rpc(), await rpc()];
  Object.assign(world.env, { INGEST_POLL_MS: '50', START_TIMEOUT: '30', RPC_URL: `${first.url},${second.url}` });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
beforeEach(async () => {
  first.say = second.say = undefined;
  await begin();
});
after(async () => {
  await world?.stop();
  first?.close();
  second?.close();
  await other?.close();
});

/** Waits until both RPCs are compared, and opens a lease. */
async function begin() {
  await until(() => service.log.lastIndexOf('no second RPC responds') <= service.log.lastIndexOf('a second RPC responds again'), 120_000, 'RPCs are compared');
  await follows('before');
  lease = (await take()).hash;
}

async function take() {
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 300 });
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

/** Waits until serve logs something after this call. */
function logs(pattern, ms, what) {
  const from = service.log.length;
  return until(() => pattern.test(service.log.slice(from)), ms, what);
}

const sleep = ms => new Promise(wake => setTimeout(wake, ms));
const follows = async what => {
  const start = await world.cursor();
  await until(async () => await world.cursor() > start + 2, 60_000, `ledgers are followed ${what}:\n${service.log.slice(-2000)}`);
};
const untouched = async () => {
  const [[closed, states]] = await world.sql(`SELECT (SELECT settled_at IS NOT NULL FROM fairway.lease_history WHERE hash = '\\x${lease}'),
    (SELECT string_agg(DISTINCT state, ',') FROM fairway.channel_accounts)`);
  assert.equal(closed, 'f', 'the lease is open');
  assert.equal(states, 'active');
};
const otherHash = async (call, forward) => {
  const answer = await forward();
  answer.result?.ledgers?.forEach(ledger => (ledger.hash = 'ab'.repeat(32)));
  return answer;
};
const ofOtherNetwork = async call => (await fetch(other.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })).json();
const away = async () => null;
/** Lies by method: functions of the true answer and the call. */
const lying = says => async (call, forward) => {
  const answer = await forward();
  return says[call.method] === undefined ? answer : says[call.method](answer, call);
};

for (const [name, liar, say] of [
  ['the second RPC has another hash for a ledger', () => second, otherHash],
  ['the first RPC has another hash for a ledger', () => first, otherHash],
  ['the second RPC serves another network', () => second, ofOtherNetwork],
])
  test(`DR4 ${name}: ingestion stops, says why, and goes on when they agree again`, { timeout: 240_000 }, async () => {
    const stops = logs(/level=error msg="ingestion stopped.*at one RPC of RPC_URL and .* at another/, 60_000, 'ingestion stops');
    liar().say = say;
    await stops;
    const stopped = await world.cursor();
    await sleep(STOPPED_MS);
    assert.equal(await world.cursor(), stopped);
    assert.equal((await service.get('/readyz')).status, 503);
    assert.equal((await service.get(`/v1/transactions/${lease}`)).json.status, 'pending');
    await untouched();
    const recovers = logs(/ingestion recovered/, 60_000, 'the recovery is logged');
    liar().say = undefined;
    await recovers;
    await follows('after');
    assert.equal((await service.get('/readyz')).status, 200);
    await payThrough(world, service, users[0], users[1]);
  });

test('DR5 one RPC says that ledgers are lost: they are read from the other one, and grants go on', { timeout: 240_000 }, async () => {
  const from = service.log.length;
  first.say = async (call, forward) => call.method !== 'getLedgers' ? forward() : { jsonrpc: '2.0', id: call.id,
    error: { code: -32600, message: 'start ledger must be between the oldest ledger: 900000 and the latest ledger: 900010 for this rpc instance.' } };
  await follows('from the second RPC');
  assert.doesNotMatch(service.log.slice(from), /grants are suspended/);
  assert.deepEqual(await world.sql('SELECT grants_allowed FROM fairway.cursor'), [['t']]);
  await untouched();
  first.say = undefined;
  await follows('after');
});

test('DR4 the first RPC invents a removal in the metadata and in its reads: the accounts are not leased until both say the same', { timeout: 600_000 }, async () => {
  const [[leased]] = await world.sql(`SELECT public_key FROM fairway.channel_accounts WHERE lease_hash = '\\x${lease}'`);
  const [[idle]] = await world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL ORDER BY slot LIMIT 1");
  const from = service.log.length;
  first.say = lying({ getLedgers: claimRemoved(leased, idle), getLedgerEntries: missing(leased, idle) });
  for (const account of [leased, idle])
    await until(async () => /could not be read yet$/.test((await world.stateOf(account))[1]), 120_000, 'the account is quarantined');
  assert.match(service.log.slice(from), /two RPCs of RPC_URL differ about account/);
  await follows('without the accounts');
  assert.equal((await service.get(`/v1/transactions/${lease}`)).json.status, 'pending');
  first.say = undefined;
  for (const account of [leased, idle])
    await until(async () => (await world.stateOf(account))[0] === 'active', 120_000, 'the account is released');
  await untouched();
});

for (const [name, says, label] of [
  ['the first RPC says that the transaction failed: the lease is consumed', { getTransaction: setResult({ status: 'FAILED', resultXdr: failedResult }) }, 'consumed'],
  ['the first RPC does not find the transaction: the lease is consumed', { getTransaction: setResult({ status: 'NOT_FOUND' }) }, 'consumed'],
  ['both RPCs say how the transaction ended: so does the lease', {}, 'confirmed'],
  ['the first RPC reads no account: the second one does', { getLedgerEntries: refuse(-32603, 'internal error') }, 'confirmed'],
])
  test(`DR5 after a gap, ${name}`, { timeout: 240_000 }, async () => {
    const paid = await take(), inner = TransactionBuilder.fromXDR(paid.transactionXdr, world.passphrase);
    inner.sign(users[0]);
    const bumped = (await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() })).json;
    first.say = second.say = lying({ getLedgers: stoppedAt(await world.cursor()) });
    await submit(world, bumped.transactionXdr);
    const { ledger } = await until(async () => {
      const found = await world.network.getTransaction(bumped.hash);
      return found.status === 'SUCCESS' && found;
    }, 30_000, 'the payment is in a ledger');
    await until(async () => (await world.network.getLatestLedger()).sequence > ledger, 10_000, 'a ledger after it');
    second.say = lying({ getLedgers: dropped(ledger) });
    first.say = lying({ getLedgers: dropped(ledger), ...says });
    const status = await until(async () => {
      const { json } = await service.get(`/v1/transactions/${paid.hash}`);
      return json.status !== 'pending' && json.status;
    }, 120_000, 'the gap is recovered');
    assert.equal(status, label);
    await untouched();
    first.say = second.say = undefined;
    await follows('after the gap');
  });

test('DR6 an RPC that is unavailable or lags is left out with a warning, and compared again later', { timeout: 600_000 }, async () => {
  const answers = async (call, forward) => call.method === 'getLedgers' && call.params.startLedger > stuck
    ? { jsonrpc: '2.0', id: call.id, error: { code: -32600, message: `start ledger must be between the oldest ledger: 2 and the latest ledger: ${stuck} for this rpc instance.` } }
    : forward();
  let stuck;
  // when the first one is unavailable, the second one is followed, and is the one that lags then
  for (const [rpc, say] of [[second, away], [first, away], [second, answers]]) {
    await begin();
    stuck = await world.cursor();
    const warns = logs(/level=warn msg="no second RPC responds, or it lags/, 120_000, 'the warning'), begun = Date.now();
    rpc.say = say;
    await warns;
    // 30 s for an RPC that is compared; as long again for the one that is followed, which only lags
    assert.ok(Date.now() - begun > (say === answers ? 55_000 : 25_000));
    await follows('without it');
    await untouched();
    rpc.say = undefined;
  }
});

test('DR6 both RPCs are away: nothing changes, and ingestion goes on by itself when they are back', { timeout: 240_000 }, async () => {
  first.say = second.say = away;
  await until(async () => (await service.get('/readyz')).status === 503, 60_000, 'not ready');
  await untouched();
  const recovers = logs(/ingestion recovered/, 60_000, 'the recovery is logged');
  first.say = second.say = undefined;
  await recovers;
  await follows('after');
});

test('a liar that is removed from RPC_URL stops nothing; nor does one that is unavailable at the start', { timeout: 240_000 }, async () => {
  const stops = logs(/ingestion stopped/, 60_000, 'ingestion stops');
  second.say = otherHash;
  await stops;
  await service.kill();
  service = await world.serve({ RPC_URL: first.url });
  await follows('with the other one alone');
  await payThrough(world, service, users[0], users[1]);
  await service.kill();
  second.say = undefined;
  service = await world.serve({ RPC_URL: `http://127.0.0.1:${await freePort()},${second.url}` });
  await follows('with the first one away');
  await untouched();
});
