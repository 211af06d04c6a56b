// Two RPCs in RPC_URL, of which one lies about ledgers, without a list of validators (trusted-validators.test.mjs has one). It stops ingestion until
// it is removed. A lease is open all the time: nothing of that ends it. tests/integration/test_follow.c has RPCs that agree again, that are
// unavailable, late or hang, and gaps that one claims; tests/unit/rpc/test_rpcs.c has lies about accounts and transactions.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { startLocalnet } from '../localnet/localnet.mjs';
import { freePort, payment, payThrough, startWorld, until } from './harness.mjs';
import { forged } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const TIMEOUT = { timeout: 600_000 };
const LEFT_OUT = 'is not waited for', AGAIN = 'is waited for again';
let world, service, users, lease, other;
const rpcs = [{}, {}]; // say(call, forward) replaces an answer

before(async () => {
  world = await startWorld({ accounts: 16, ledgerMs: 300 });
  other = await startLocalnet({ port: 0, ledgerMs: 30, passphrase: 'another network' }); // it has every number that ours has
  for (const rpc of rpcs)
    Object.assign(rpc, await proxyRpc(world.localnet.url, // null: calls that arrive while the world ends
      (call, forward) => (rpc.say ?? ((_, answer) => answer()))(call, forward).catch(() => null)));
  Object.assign(world.env, { START_TIMEOUT: '30', RPC_URL: rpcs.map(({ url }) => url).join() });
  service = await world.serve();
  users = [await world.newAccount(), await world.newAccount()];
});
after(async () => {
  await world?.stop();
  rpcs.forEach(rpc => rpc.close?.());
  other?.close();
});
beforeEach(async () => { // both RPCs are compared, and a lease is open
  for (const rpc of rpcs)
    rpc.say = undefined;
  await until(() => service.log.lastIndexOf(LEFT_OUT) <= service.log.lastIndexOf(AGAIN), 120_000, 'RPCs are compared');
  await follows('again');
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds: 300 });
  assert.equal(status, 201, JSON.stringify(json));
  lease = json.hash;
});

/** Waits until serve logs something after this call. */
function logs(pattern, what) {
  const from = service.log.length;
  return until(() => pattern.test(service.log.slice(from)), 60_000, what);
}

async function follows(what) {
  const start = await world.cursor();
  await until(async () => await world.cursor() > start + 2, 90_000, `ledgers are followed ${what}:\n${service.log.slice(-2000)}`);
}

/** No lease has ended, and no account is quarantined. */
async function untouched() {
  assert.equal((await service.get(`/v1/transactions/${lease}`)).json.status, 'pending');
  assert.deepEqual(await world.sql('SELECT DISTINCT state FROM fairway.channel_accounts'), [['active']]);
}

const pay = () => payThrough(world, service, ...users);
const otherHash = async (call, forward) => {
  const answer = await forward();
  return call.method === 'getLedgers' ? forged((meta, header) => header.scpValue.closeTime++)(answer) : answer;
};

test('DR4 the second RPC serves another network: ledgers are read from the first one', TIMEOUT, async () => {
  const from = service.log.length;
  rpcs[1].say = async call =>
    (await fetch(other.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })).json();
  await follows('from the first one');
  await follows('from the first one');
  assert.doesNotMatch(service.log.slice(from), /ingestion stopped/);
  await untouched();
});

test('an RPC that was stuck when this replica lost the lead is not called stuck for ever', TIMEOUT, async () => {
  const warns = async () => /RPC 2: [^;]*stuck/.test(await (await fetch(`${service.adminUrl}/status.json`)).text());
  let stuck;
  rpcs[1].say = async (call, forward) => {
    const answer = await forward();
    if (call.method !== 'getLedgers')
      return answer;
    stuck ??= answer.result?.latestLedger;
    return call.params.startLedger <= stuck ? answer : { jsonrpc: '2.0', id: call.id, error: { code: -32600,
      message: `start ledger (${call.params.startLedger}) must be between the oldest ledger: 2 and the latest ledger: ${stuck} for this rpc instance.` } };
  };
  await until(warns, 60_000, 'it is named');
  const next = await world.serve();
  await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway ingest'");
  rpcs[1].say = undefined;
  await until(async () => !await warns(), 30_000, 'it is well again');
  await next.kill();
});

test('a liar that is removed from RPC_URL stops nothing; nor does one that is unavailable at the start', TIMEOUT, async () => {
  const [first, second] = rpcs, stops = logs(/ingestion stopped/, 'ingestion stops');
  second.say = otherHash;
  await stops;
  await service.kill();
  service = await world.serve({ RPC_URL: first.url });
  await follows('with the other one alone');
  await pay();
  await service.kill();
  second.say = undefined;
  service = await world.serve({ RPC_URL: `http://127.0.0.1:${await freePort()},${second.url}` });
  await follows('with the first one away');
  await untouched();
});
