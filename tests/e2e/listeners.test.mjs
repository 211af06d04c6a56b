// Connection limits of serve: clients that wait, idle, or send one byte a second, requests that find no account, and a database that
// blocks the API's workers. In each case other clients and the probes get their responses within a second.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { fairway, freePort, payment, portIsFree, sleep, slower, startWorld, until } from './harness.mjs';
import { authorization } from './token.mjs';

const ACCOUNTS = 2, PLACES = 128, CROWD = 200, HONEST_MS = 1000;
let world, service, users, lease, signed;

/** Sends a request on its own connection. Returns {status, headers, json, ms}. */
function ask(url, { method = 'GET', body, headers = {}, family } = {}) {
  const begun = Date.now(), text = body && JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, agent: false, family, timeout: slower(20_000),
      headers: { ...headers, ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }) } });
    request.on('response', response => {
      let all = '';
      response.setEncoding('utf8').on('data', data => all += data).on('end', () => resolve(
        { status: response.statusCode, headers: response.headers, json: JSON.parse(all), ms: Date.now() - begun }));
    });
    request.on('timeout', () => request.destroy(new Error(`no answer: ${method} ${url}`))).on('error', reject);
    request.end(text);
  });
}

/** Retries when the connection was closed before the response, because a busy machine let the client send too late. */
async function askPatiently(url, options) {
  for (let tries = 0; ; tries++)
    try {
      return await ask(url, options);
    } catch (error) {
      if (error.code !== 'ECONNRESET' || tries === 5)
        throw error;
    }
}

/** The median of three tries counts, because other programs use this machine too. */
async function assertAnswersSoon(url, options, what) {
  const tries = [];
  for (let i = 0; i < 3; i++) {
    const begun = Date.now(), { status, json } = await askPatiently(url, options);
    assert.equal(status, 200, `${what}: ${url}: ${JSON.stringify(json)}`);
    tries.push(Date.now() - begun);
  }
  assert.ok(tries.toSorted((a, b) => a - b)[1] < slower(HONEST_MS), `${what}: ${url} took ${tries} ms`);
}

async function assertNobodyKeptOut(what) {
  const asked = [['/v1/pool'], ['/livez'], ['/v1/fee-bumps', { method: 'POST', body: { transactionXdr: signed } }],
    ...['/livez', '/readyz', '/health'].map(probe => [probe, {}, service.adminUrl])];
  for (const [path, options, url = service.url] of asked)
    await assertAnswersSoon(url + path, options, what);
}

/** Connections that send `said`, and then, if given, `byte` once a second. With `again`, a closed one connects again. */
class Crowd {
  #timers = [];

  /** Closes them when test t ends, at the latest. */
  constructor(t, count, said, { byte, again } = {}) {
    t.after(() => this.leave());
    this.members = Array.from({ length: count }, () => ({ heard: '', closed: false }));
    for (const member of this.members)
      this.#join(member, said, again);
    if (byte)
      this.#timers.push(setInterval(() => this.members.forEach(({ socket }) => socket.write(byte)), 1000));
  }

  #join(member, said, again) {
    const { hostname, port } = new URL(service.url);
    member.closed = false;
    member.socket = net.connect({ host: hostname, port }, () => member.socket.write(said));
    member.socket.setEncoding('utf8').on('data', data => member.heard += data).on('error', () => {}).on('close', () => {
      member.closed = true;
      if (again && !this.left)
        this.#timers.push(setTimeout(() => this.left || this.#join(member, said, again), 20));
    });
  }

  status(code) {
    return this.members.filter(({ heard }) => heard.startsWith(`HTTP/1.1 ${code} `));
  }

  async leave() {
    if (this.left)
      return;
    this.left = true;
    this.#timers.forEach(clearInterval);
    this.members.forEach(({ socket }) => socket.destroy());
    await sleep(300);
  }
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve({ AUTH: 'none', CLIENT_AUTH_PUBLIC_KEYS: '', MAX_CONNECTIONS: String(PLACES), LOG_LEVEL: 'debug' });
  users = await Promise.all([world.newAccount(), world.newAccount()]);
  const leases = await Promise.all(Array.from({ length: ACCOUNTS }, () => ask(`${service.url}/v1/transactions`,
    { method: 'POST', body: { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds: 300 } })));
  lease = leases[0].json;
  const inner = TransactionBuilder.fromXDR(lease.transactionXdr, world.passphrase);
  inner.sign(users[0]);
  signed = inner.toXDR();
});
after(() => world?.stop());

test('clients that wait for a ledger get half of the connections, and the others get 503 with Retry-After', async t => {
  const crowd = new Crowd(t, CROWD, `GET /v1/transactions/${lease.hash}?wait=60 HTTP/1.1\r\nHost: x\r\n\r\n`, { again: true });
  await until(() => crowd.members.filter(({ heard, closed }) => heard === '' && !closed).length === PLACES / 2, 5000,
    'half of the connections wait');
  await assertNobodyKeptOut('waits');
  const refused = await until(() => crowd.status(503).length === CROWD - PLACES / 2 && crowd.status(503), 5000, 'the others are refused');
  assert.ok(refused.every(({ heard }) => /"code":"OVERLOADED"/.test(heard) && /^Retry-After: 1\r$/m.test(heard)));
});

test('a client that hangs up while it waits is logged as such', async () => {
  const lines = await until(() => {
    const found = service.log.split('\n').filter(line => line.includes(`path="/v1/transactions/${lease.hash}" status=499`));
    return found.length >= PLACES / 2 && found;
  }, 5000, 'log lines');
  assert.ok(lines.every(line => /level=debug .* client_left=1 /.test(line)), lines[0]);
});

test('requests that find no account get five eighths of the connections, and reads and fee bumps are served', async t => {
  const body = JSON.stringify({ transactionXdr: payment(world, ...users).toXDR() });
  const crowd = new Crowd(t, CROWD,
    `POST /v1/transactions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    { again: true });
  await until(() => crowd.members.filter(({ heard, closed }) => heard === '' && !closed).length === PLACES * 5 / 8, 5000,
    'five eighths of the connections wait');
  await assertNobodyKeptOut('leases');
  const refused = crowd.status(503);
  assert.ok(refused.every(({ heard }) => /"code":"OVERLOADED"/.test(heard) && /^Retry-After: /m.test(heard)), refused[0]?.heard);
});

test('the probes respond while running requests hold every connection and worker of the API', async t => {
  const held = world.sql('BEGIN; LOCK TABLE fairway.fee_bumps IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(6); COMMIT');
  await until(async () => (await world.sql("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"
    + " AND relation = 'fairway.fee_bumps'::regclass")).length > 0, 5000, 'the table is locked');
  const body = JSON.stringify({ transactionXdr: signed, maxFee: '54321' });
  const crowd = new Crowd(t, 2 * PLACES,
    `POST /v1/fee-bumps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await sleep(500);
  let alive = false;
  const outside = ask(`${service.url}/livez`).then(() => alive = true);
  await Promise.all(['/livez', '/readyz', '/health'].map(probe => assertAnswersSoon(service.adminUrl + probe, {}, 'full')));
  assert.equal(alive, false, 'the API is full');
  await crowd.leave();
  await Promise.all([held, outside]);
});

/** Runs a serve that is expected to fail; returns {code, text}. */
async function failing(env, limit) {
  const child = spawn('sh', ['-c', `${limit ? `ulimit -n ${limit} && ` : ''}exec "$0" serve`, fairway],
    { env: { ...world.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', data => {
    text += data;
    child.kill('SIGKILL'); // it listens
  });
  child.stderr.on('data', data => text += data);
  const timer = setTimeout(() => child.kill('SIGKILL'), slower(20_000));
  const code = await new Promise(resolve => child.on('close', resolve));
  clearTimeout(timer);
  return { code, text };
}

test('an admin port in use fails the start with advice', async () => {
  const { port } = new URL(service.adminUrl);
  const { code, text } = await failing({ ADMIN_PORT: port });
  assert.equal(code, 78, text);
  assert.match(text, new RegExp(`admin listener: cannot listen on 127\\.0\\.0\\.1:${port}.*ADMIN_PORT=0 .*ADMIN_LISTEN=off`));
  assert.doesNotMatch(text, /^listening on/m);
});

test('the admin port is 1000 above that of the API, and can be turned off', async () => {
  let port;
  do
    port = await freePort();
  while (!await portIsFree(port + 1000));
  const replica = await world.serve({ PORT: String(port), ADMIN_PORT: '' });
  assert.equal(replica.adminUrl, `http://127.0.0.1:${port + 1000}`);
  assert.match(replica.log.slice(replica.log.indexOf('listening on')), /^listening on http:\S+\nadmin listening on http:\S+\n/);
  await replica.kill();
  const without = await world.serve({ ADMIN_LISTEN: 'off' });
  assert.equal(without.adminUrl, undefined);
  await without.kill();
});

test('the admin listener of this host refuses the name of a page that an operator has open (DNS rebinding)', async () => {
  const asked = host => ask(`${service.adminUrl}/status.json`, { headers: { host } });
  for (const host of ['evil.example', 'evil.example:9001', '127.0.0.1.evil.example', 'localhost.evil.example', '1.evil.example'])
    assert.deepEqual([host, (await asked(host)).status], [host, 403]);
  for (const host of ['127.0.0.1:9001', '10.0.0.1', 'LOCALHOST:1', 'localhost', '[::1]:9001'])
    assert.deepEqual([host, (await asked(host)).status], [host, 200]);
  const open = await world.serve({ ADMIN_LISTEN: '0.0.0.0' });
  assert.equal((await ask(`${open.adminUrl.replace('0.0.0.0', '127.0.0.1')}/readyz`, { headers: { host: 'fairway-1.example:9001' } })).status, 200);
  await open.kill();
});

test('more connections than descriptors fail the start, which reports both numbers', async () => {
  const { code, text } = await failing({}, 1024);
  assert.equal(code, 78, text);
  const [, needed] = /MAX_CONNECTIONS=1024 needs (\d+) open files, but this process may open 1024 /.exec(text) ?? assert.fail(text);
  const two = await failing({ RPC_URL: `${world.localnet.url},http://127.0.0.1:1` }, 1024);
  assert.match(two.text, new RegExp(`MAX_CONNECTIONS=1024 needs ${Number(needed) + 384} open files`));
});

test('while the service stops, the admin listener reports it as not ready', async () => {
  const replica = await world.serve();
  const body = { transactionXdr: payment(world, ...users).toXDR() };
  const busy = ask(`${replica.url}/v1/transactions`,
    { method: 'POST', body, headers: authorization(world.client, 'POST', '/v1/transactions', JSON.stringify(body)) });
  await sleep(slower(300)); // the request has arrived; it waits for an account for six seconds
  replica.process.kill('SIGTERM');
  await until(async () => (await ask(`${replica.adminUrl}/readyz`)).status === 503, 2000, 'not ready');
  assert.equal((await ask(`${replica.adminUrl}/livez`)).status, 200);
  const { status } = await busy;
  assert.equal(status, 503);
  assert.equal((await replica.ended).code, 0);
});
