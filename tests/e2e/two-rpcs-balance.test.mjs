// Two RPCs in RPC_URL. The first one, whose ledgers are followed, says in metadata and in reads that the distribution account has nothing to
// spend. The second one says otherwise, so leases are granted all the time. When both say it, none is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { payment, startWorld, until } from './harness.mjs';
import { claimRemoved, missing } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const LIE_MS = 10_000; // in which many ledgers close, and the balance is read many times
let world, service, users, first, second;
let lies = {}; // of the first RPC: method -> function of the true answer and the call

const rpc = says => proxyRpc(world.localnet.url, async (call, forward) => {
  const answer = await forward();
  return says()[call.method] === undefined ? answer : says()[call.method](answer, call);
});

before(async () => {
  world = await startWorld({ accounts: 16, ledgerMs: 300 });
  [first, second] = [await rpc(() => lies), await rpc(() => lies.both ? lies : {})];
  Object.assign(world.env, { INGEST_POLL_MS: '50', START_TIMEOUT: '30', RPC_URL: `${first.url},${second.url}` });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
  await until(async () => (await service.metrics()).fairway_distribution_known === 1, 60_000, 'the balance is known');
});
after(async () => {
  await world?.stop();
  first?.close();
  second?.close();
});

const take = () => service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR() });
const claims = () => {
  const account = world.distribution.publicKey();
  return { getLedgers: claimRemoved(account), getLedgerEntries: missing(account) };
};

test('one of two RPCs says that the distribution account has nothing: leases are granted all the time', { timeout: 240_000 }, async () => {
  const start = await world.cursor();
  lies = claims();
  for (const end = Date.now() + LIE_MS; Date.now() < end; await new Promise(wake => setTimeout(wake, 1000))) {
    const { status, json } = await take();
    assert.equal(status, 201, JSON.stringify(json));
  }
  assert.ok(await world.cursor() > start + 10, 'ledgers are followed meanwhile');
  assert.doesNotMatch(service.log, /cannot pay for more leases/);
});

test('both say so: no lease is granted until they say otherwise', { timeout: 240_000 }, async () => {
  lies = { ...claims(), both: true };
  await until(async () => (await take()).json.code === 'DISTRIBUTION_ACCOUNT_UNDERFUNDED', 60_000, 'leases are refused');
  lies = {};
  await until(async () => (await take()).status === 201, 120_000, 'leases are granted again');
});
