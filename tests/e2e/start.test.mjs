// What serve needs at start becomes unavailable: it waits for PostgreSQL until START_TIMEOUT, and starts without an RPC. Permanent errors end
// it at once.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Stop, stopped } from '../faults/stop.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';
import { freePort, payment, Service, sleep, slower, startWorld, until, within } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

let world;
const services = [], gates = [];

before(async () => {
  world = await startWorld({ accounts: 1 });
  world.env.START_TIMEOUT = '30';
  await world.serve(); // leads; readiness needs ledgers
});
after(async () => {
  for (const service of services)
    await service.kill('SIGKILL');
  for (const gate of gates)
    gate.close();
  await world?.stop();
});

function start(env) {
  const service = new Service({ ...world.env, ...env }, world.client);
  services.push(service);
  return service;
}

/** An RPC in front of the network's: each getNetwork waits for open(). onAsked() sees each before. */
async function gatedRpc() {
  const gate = { asked: 0, onAsked: () => {} };
  const opened = new Promise(resolve => (gate.open = resolve));
  Object.assign(gate, await proxyRpc(world.localnet.url, async (call, forward) => {
    if (call.method === 'getNetwork') {
      gate.asked++;
      gate.onAsked();
      await opened;
    }
    return forward();
  }));
  gates.push(gate);
  return gate;
}

/** Stops PostgreSQL when serve has connected to it and calls the RPC. */
async function stopPostgresDuring(service, gate) {
  gate.onAsked = () => service.process.kill('SIGSTOP'); // at once: it waits for the RPC for two seconds only
  await until(() => gate.asked > 0, 10_000, 'serve has connected to the database and calls the RPC');
  gate.onAsked = () => {};
  await world.postgres('stop', { mode: 'immediate' });
  gate.open();
  service.process.kill('SIGCONT');
}

test('PostgreSQL that stops during the start is retried', { timeout: 600_000 }, async () => {
  const gate = await gatedRpc();
  const service = start({ RPC_URL: gate.url });
  await stopPostgresDuring(service, gate);
  await until(() => /cannot start yet.*DATABASE_UNAVAILABLE/.test(service.log), 15_000, `it says what it waits for:\n${service.log}`);
  await world.postgres('start');
  await service.ready();
  assert.deepEqual(await service.kill(), { code: 0, signal: null });
});

test('PostgreSQL that stays unavailable ends the start with 69 after START_TIMEOUT', { timeout: 600_000 }, async () => {
  const gate = await gatedRpc();
  const service = start({ RPC_URL: gate.url, START_TIMEOUT: '3' });
  await stopPostgresDuring(service, gate);
  assert.deepEqual(await service.ended, { code: 69, signal: null });
  await world.postgres('start');
});

test('serve starts without the RPC: not ready, reads answered, nothing leased before the network is known', { timeout: 600_000 }, async () => {
  let answer = async () => 503;
  const rpc = await proxyRpc(world.localnet.url, (call, forward) => answer(call, forward)), users = [await world.newAccount(), await world.newAccount()];
  gates.push(rpc);
  const service = start({ RPC_URL: rpc.url, START_TIMEOUT: '600' });
  await until(() => service.url, 10_000, `it starts:\n${service.log}`);
  assert.match(service.log, /level=warn msg="starting without Stellar RPC.*error=RPC_UNAVAILABLE.*503/);
  const lease = () => service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR() });
  const refuses = async () => {
    assert.equal((await service.check('grants')).ok, false);
    assert.equal((await service.get('/v1/pool')).status, 200);
    assert.equal((await service.get(`/v1/transactions/${'00'.repeat(32)}`)).status, 404);
    const { status, json } = await lease(); // another replica ingests, so nothing else is in its way
    assert.deepEqual([status, json.code], [503, 'GRANTS_SUSPENDED']);
  };
  await until(() => /level=warn msg="ingestion failed; retrying".*503/.test(service.log), 10_000, 'it says what it waits for');
  await refuses();
  answer = async (call, forward) => {
    const said = await forward();
    return call.method === 'getNetwork' ? { ...said, result: { ...said.result, passphrase: 'another network' } } : said;
  };
  await until(() => /level=error msg="ingestion stopped.*error=CONFIG.*serves the network .*another network.*, but NETWORK_PASSPHRASE is/.test(service.log),
    20_000, `it refuses another network:\n${service.log}`);
  await refuses();
  answer = (call, forward) => forward();
  await service.ready();
  assert.equal((await lease()).status, 201);
  assert.deepEqual(await service.kill(), { code: 0, signal: null });
});

test('a connection lost at any statement of the start is reopened', { timeout: 600_000 }, async t => {
  const stop = new Stop(path.join(world.folder, 'stop'));
  const whole = async () => {
    const service = start(stop.env);
    await service.ready();
    return service;
  };
  let first;
  const lines = (await stop.trace(async () => (first = await whole()), () => true)).filter(line => line.startsWith('fairway start: '));
  await first.kill();
  assert.ok(lines.some(line => line.includes('master_keys')) && lines.some(line => line.includes('fairway.network')), lines.join('\n'));
  const seen = new Map();
  for (const point of lines) {
    const count = (seen.get(point) ?? 0) + 1;
    seen.set(point, count);
    stop.arm('cut', point, count);
    const service = await whole();
    assert.ok(stop.reached || count > 1, `"${point}" was passed`); // a start on a busy machine may look more than once
    assert.deepEqual(await service.kill(), { code: 0, signal: null });
  }
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.master_keys'), [['1']]);
  t.diagnostic(`${lines.length} of ${lines.length} points`);
});

test('permanent errors end the start at once', { timeout: 600_000 }, async () => {
  await world.sql('CREATE DATABASE without_schema');
  const url = new URL(world.env.DATABASE_URL);
  url.pathname = '/without_schema';
  for (const [env, words] of [
    [{ DATABASE_URL: url.href }, /run fairway migrate/],
    [{ NETWORK_PASSPHRASE: 'another network' }, /serves the network .*, but NETWORK_PASSPHRASE is/],
  ]) {
    const service = start(env);
    let ended;
    service.ended.then(how => (ended = how));
    await until(() => ended, 10_000, `it ends without waiting for START_TIMEOUT:\n${service.log}`);
    assert.deepEqual(ended, { code: 78, signal: null });
    assert.match(service.log, words);
  }
});

test('each RPC of RPC_URL must be of the network; one that does not answer is logged while another answers', { timeout: 600_000 }, async () => {
  const other = await startLocalnet({ port: 0, ledgerMs: 0, passphrase: 'another network' }), silent = await gatedRpc();
  const slow = await proxyRpc(world.localnet.url, async (call, forward) => (await sleep(1300), forward()));
  gates.push(other, slow);
  const ours = world.localnet.url, nothing = `http://127.0.0.1:${await freePort()}`;
  const theirs = other.url.replace('//', '//user:hush@') + '/?key=hush';
  const named = new RegExp(`level=error .*detail="${other.url} of RPC_URL serves the network .*another network.*, but NETWORK_PASSPHRASE is `);
  for (const [urls, words, code] of [
    [[ours, theirs], named, 78],
    [[theirs, ours], named, 78],
    [[nothing, theirs], named, 78],
    [[ours, 'ftp://127.0.0.1'], /address 2 of RPC_URL is not an http or https URL/, 78],
    [[','], /RPC_URL has no address/, 78],
    [Array.from({ length: 9 }, (_, i) => `${ours}/${i}`), /RPC_URL has 9 addresses; at most 8 are used/, 78],
    [[ours, nothing, `${ours}/`], /address 3 of RPC_URL is the same as an earlier one/, 78],
  ]) {
    const service = start({ RPC_URL: urls.join(), START_TIMEOUT: '2' });
    assert.deepEqual(await within(service.ended, slower(20_000)), { code, signal: null }, service.log);
    assert.match(service.log, words);
    assert.doesNotMatch(service.log, /hush|msg=started/);
  }
  for (const [urls, place] of [[[nothing, ours], 1], [[ours, nothing], 2], [[silent.url, slow.url], 1], [[ours, `${ours}/other`], 0]]) {
    const service = start({ RPC_URL: urls.join(), START_TIMEOUT: '6' });
    await service.ready();
    const [, logged] = /an RPC of RPC_URL does not answer; its network is not checked" rpc=(\d)/.exec(service.log) ?? [];
    assert.equal(Number(logged ?? 0), place, service.log);
    assert.deepEqual(await service.kill(), { code: 0, signal: null });
  }
});

test('a start that has lost its session beside another one stores no second master key; one that has tried again keeps no lock', { timeout: 600_000 }, async t => {
  const empty = await startWorld({ accounts: 0 }), env = { ...empty.env, MASTER_KEY_FILE: '', CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE: 'a passphrase of this test' };
  t.after(() => empty.stop());
  await empty.sql('DELETE FROM fairway.master_keys');
  const stop = new Stop(path.join(empty.folder, 'stop'));
  stop.arm('stop', 'keyd: load answered');
  const first = start({ ...env, ...stop.env, START_TIMEOUT: '600' });
  await stop.reach('the keys are loaded');
  await stopped(first.process.pid);
  await empty.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway start'");
  await start(env).listens();
  first.process.kill('SIGCONT');
  assert.deepEqual(await within(first.ended, slower(20_000)), { code: 75, signal: null }, first.log);
  assert.deepEqual(await empty.sql('SELECT count(*) FROM fairway.master_keys'), [['1']]);

  const held = empty.sql('BEGIN; LOCK TABLE fairway.network; SELECT pg_sleep(4); COMMIT'), late = start(env);
  await late.listens();
  assert.match(late.log, /cannot start yet/);
  await held;
  await start({ ...env, START_TIMEOUT: '10' }).listens(); // the late one has no lock
});
