// Authentication end to end: tokens as wallet-backend's clients sign them, a captured request that is sent again, clients that come and
// go while the service runs, and what each client may see.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Keypair } from '@stellar/stellar-sdk';
import { fairway, payment, startWorld, until } from './harness.mjs';
import { authorization, signToken } from './token.mjs';

const TIMEOUT = { timeout: 600_000 }, ACCOUNTS = 12, LEASES = '/v1/transactions';
const run = promisify(execFile);
const wallet = Keypair.random(), other = Keypair.random(), reader = Keypair.random();
let world, replicas, users, clientsFile;

const writeClients = clients => {
  fs.writeFileSync(`${clientsFile}.new`, JSON.stringify(clients));
  fs.renameSync(`${clientsFile}.new`, clientsFile);
};
const everyone = {
  wallet: { keys: [wallet.publicKey()] },
  other: { keys: [other.publicKey()] },
  reader: { keys: [reader.publicKey()], scopes: ['status', 'pool'] },
};

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  clientsFile = path.join(world.folder, 'clients', 'clients.json');
  fs.mkdirSync(path.dirname(clientsFile));
  writeClients(everyone);
  const env = { CLIENTS_FILE: clientsFile };
  replicas = [await world.serve(env), await world.serve(env)];
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(() => world?.stop());

/** Sends exactly this token. */
const send = (service, token, method, target, body, headers = {}) =>
  service.request(method, target, body, { authorization: `Bearer ${token}`, ...headers });
/** Signs and sends a request of a client. */
const as = (keypair, service, method, target, body, headers = {}) =>
  service.request(method, target, body, { ...authorization(keypair, method, target, body, headers['idempotency-key']), ...headers });
let bodies = 0;
/** The body of a payment that no earlier test made. */
const newBody = () => JSON.stringify({ transactionXdr: payment(world, ...users, String(++bodies)).toXDR(), timeoutSeconds: 30 });
const leaseCount = async () => Number((await world.sql('SELECT count(*) FROM fairway.leases'))[0][0]);

test('a token of wallet-backend takes a lease, and one that does not fit is refused with its cause', TIMEOUT, async () => {
  const [service] = replicas, body = newBody(), before = await leaseCount();
  const good = signToken(wallet, 'POST', LEASES, body);
  const [head, claims, signature] = good.split('.');
  const now = Math.floor(Date.now() / 1000), hidden = /^The token is not signed with the key of a client\.$/;
  const wrong = {
    'no token': [undefined, /Authorization/],
    'another key': [signToken(Keypair.random(), 'POST', LEASES, body), hidden],
    'a changed signature': [`${head}.${claims}.${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`, hidden],
    'another body': [signToken(wallet, 'POST', LEASES, `${body} `),
      new RegExp(`^bodyHash .*${body.length} bytes received is ${crypto.createHash('sha256').update(body).digest('hex')}\\.$`)],
    'another method': [signToken(wallet, 'GET', LEASES, body), /^methodAndPath is "GET \/v1\/transactions", but the request is "POST \/v1\/transactions"\.$/],
    'another query': [signToken(wallet, 'POST', `${LEASES}?a=1`, body), /^methodAndPath is .*\?a=1", but/],
    expired: [signToken(wallet, 'POST', LEASES, body, { now: now - 60 }), new RegExp(`^The token has expired: exp is ${now - 45}, and the server's time is \\d+\\.$`)],
    'too long': [signToken(wallet, 'POST', LEASES, body, { seconds: 16 }), /^exp must be 1 to 15 s after iat/],
    'from the future': [signToken(wallet, 'POST', LEASES, body, { now: now + 60 }), /^The token is not valid yet: iat is \d+/],
    'another network': [signToken(wallet, 'POST', LEASES, body, { claims: { aud: 'Public Global Stellar Network ; September 2015' } }), /^aud /],
    unsigned: [`${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${claims}.`, /signature/],
  };
  const answers = new Set();
  for (const [name, [token, detail]] of Object.entries(wrong)) {
    const { status, json, headers } = await service.request('POST', LEASES, body, { authorization: token === undefined ? '' : `Bearer ${token}` });
    assert.equal(status, 401, name);
    assert.equal(headers.get('www-authenticate'), 'Bearer');
    assert.match(json.detail, detail, name);
    const { requestId, ...rest } = json;
    answers.add(JSON.stringify({ ...rest, detail: undefined }));
    assert.ok(await until(() => service.log.includes(requestId), 5000, `${name} is logged`));
  }
  assert.equal(answers.size, 1, [...answers].join('\n'));
  assert.equal(JSON.parse([...answers][0]).code, 'UNAUTHORIZED');
  for (const line of [/client= sub=G\w{55} reason="sub is not a client's key/, / sub= reason="The (Authorization header|token)/,
    new RegExp(` sub=${wallet.publicKey()} reason="The signature is not by the key`)])
    assert.match(service.log, line);
  assert.equal(await leaseCount(), before);
  const { status, json } = await send(service, good, 'POST', LEASES, body);
  assert.equal(status, 201, JSON.stringify(json));
  const aud = { claims: { aud: [world.passphrase] } };
  assert.equal((await send(service, signToken(wallet, 'GET', '/v1/pool', '', aud), 'GET', '/v1/pool')).status, 200);
  assert.ok(!replicas.some(({ log }) => log.includes(signature)), 'no token is logged');
});

test('DA2 one token takes one lease: 200 copies of a request, in parallel, at two replicas', TIMEOUT, async () => {
  const body = newBody(), before = await leaseCount();
  const token = signToken(wallet, 'POST', LEASES, body);
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => send(replicas[i % 2], token, 'POST', LEASES, body)));
  const taken = answers.filter(({ status }) => status < 300);
  assert.deepEqual(taken.filter(({ json }) => json.first).map(({ status }) => status), [201]);
  assert.equal(new Set(taken.map(({ json }) => json.transactionXdr)).size, 1);
  assert.deepEqual(answers.filter(({ status }) => status !== 200 && status !== 201 && status !== 503), []);
  assert.equal(await leaseCount(), before + 1);
  const [{ stored }] = [{ stored: (await world.sql('SELECT string_agg(l::text, \' \') FROM fairway.leases l'))[0][0] }];
  assert.ok(!stored.includes(token.split('.')[2]), 'only a hash of the token is stored');
});

test('DA2 a captured request takes no second lease, with the header or without it', TIMEOUT, async () => {
  const [service] = replicas, body = newBody(), before = await leaseCount();
  const plain = signToken(wallet, 'POST', LEASES, body);
  const keyed = signToken(wallet, 'POST', LEASES, body, { claims: { idempotencyKey: 'captured' } });
  const answer = async (token, key) => {
    const { status, json } = await send(service, token, 'POST', LEASES, body, key && { 'idempotency-key': key });
    return json.hash ?? status;
  };
  const one = await answer(plain), other = await answer(keyed, 'captured');
  assert.equal(new Set([one, other]).size, 2);
  assert.equal(await leaseCount(), before + 2);
  assert.deepEqual([await answer(plain), await answer(plain, 'new'), await answer(plain, 'captured')], [one, 401, 401]);
  assert.deepEqual([await answer(keyed, 'captured'), await answer(keyed), await answer(keyed, 'other')], [other, 401, 401]);
  assert.equal(await leaseCount(), before + 2);
});

test('a client may do only what its scopes say; probes need no token', TIMEOUT, async () => {
  const [service] = replicas;
  const { status, json } = await as(reader, service, 'POST', LEASES, newBody());
  assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
  assert.equal((await as(reader, service, 'GET', '/v1/pool')).status, 200);
  for (const probe of ['/livez', '/readyz', '/health'])
    assert.equal((await fetch(service.url + probe)).status, 200, probe);
  for (const guarded of ['/v1/pool', '/v1/channel-accounts', `${LEASES}/${'0'.repeat(64)}`])
    assert.equal((await fetch(service.url + guarded)).status, 401, guarded);
});

/** Sends the head of a POST that announces a body; resolves to what the service answers before the body has come. */
const answerToHead = (service, token, length) => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(service.url), socket = net.connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', text => (answer += text)).on('end', () => resolve(answer)).on('error', reject);
  socket.write(`POST ${LEASES} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${length}\r\n\r\n`);
});

test('DX4 a request without a good token is refused before its body is read, and a body that is not the token\'s after that', TIMEOUT, async () => {
  const [service] = replicas, body = newBody(), before = await leaseCount();
  const refused = { 'no token': '', 'another key': signToken(Keypair.random(), 'POST', LEASES, body),
    expired: signToken(wallet, 'POST', LEASES, body, { now: Math.floor(Date.now() / 1000) - 60 }) };
  for (const [name, token] of Object.entries(refused)) {
    const answer = await answerToHead(service, token, 50_000);
    assert.match(answer, /^HTTP\/1.1 401 /, name);
    assert.match(answer, /^Connection: close\r$/m, name);
  }
  assert.match(await answerToHead(service, signToken(reader, 'POST', LEASES, body), 50_000), /^HTTP\/1.1 403 /);
  const other = await send(service, signToken(wallet, 'POST', LEASES, body), 'POST', LEASES, body.replace('30', '31'));
  assert.equal(other.status, 401);
  assert.match(service.log, /bodyHash does not match the body/);
  assert.equal(await leaseCount(), before);
});

test('fairway token refuses what no request can be, and says so', TIMEOUT, async () => {
  const seed = path.join(world.folder, 'refusals.seed');
  const { stdout } = await run(fairway, ['keygen', '--client', seed]);
  const cases = [
    [[seed, 'post', LEASES], 64, /METHOD/], [[seed, 'GET', 'v1/pool'], 64, /TARGET/], [[seed, 'GET', 'http://x/v1/pool'], 64, /TARGET/],
    [[`${seed}.none`, 'GET', '/v1/pool'], 78, /KEY_FILE/], [[seed, 'POST', LEASES, `${seed}.none`], 66, /cannot read the body/],
    [[seed, 'POST', LEASES, world.folder], 66, /cannot read the body/],
  ];
  for (const [args, code, says] of cases)
    await assert.rejects(run(fairway, ['token', ...args]), { code, stderr: says }, args.join(' '));
  fs.chmodSync(seed, 0o644);
  await assert.rejects(run(fairway, ['token', seed, 'GET', '/v1/pool']), { code: 78 }, 'others may read the seed');
  fs.chmodSync(seed, 0o400);
  await assert.rejects(run('sh', ['-c', `exec ${fairway} token ${seed} GET /v1/pool >/dev/full`]), { code: 74 });
  await assert.rejects(run('sh', ['-c', `exec ${fairway} keygen --client ${seed}.2 >/dev/full`]), { code: 74 });
  assert.ok(!fs.existsSync(`${seed}.2`), 'a key that nobody knows is not kept');
  const signed = execFileSync(fairway, ['token', seed, 'POST', LEASES, '-'], { input: 'a body', encoding: 'utf8' }).trim();
  const [, claims] = signed.split('.').map(part => Buffer.from(part, 'base64url').toString());
  assert.equal(JSON.parse(claims).bodyHash, crypto.createHash('sha256').update('a body').digest('hex'));
  assert.equal(JSON.parse(claims).sub, stdout.trim());
});

test('fairway keygen --client and fairway token make what serve accepts', TIMEOUT, async () => {
  const seed = path.join(world.folder, 'new.seed'), bodyFile = path.join(world.folder, 'body.json'), body = newBody();
  const { stdout } = await run(fairway, ['keygen', '--client', seed]);
  assert.equal(fs.statSync(seed).mode & 0o777, 0o400);
  assert.equal(Keypair.fromSecret(fs.readFileSync(seed, 'utf8').trim()).publicKey(), stdout.trim());
  const service = await world.serve({ CLIENT_AUTH_PUBLIC_KEYS: `${world.client.publicKey()},${stdout.trim()}`, CLIENT_AUTH_AUDIENCE: 'on' });
  fs.writeFileSync(bodyFile, body);
  const sign = async (...args) => (await run(fairway, ['token', ...args])).stdout.trim();
  const signed = await sign('--audience', world.passphrase, seed, 'POST', LEASES, bodyFile);
  assert.equal((await send(service, signed, 'POST', LEASES, body)).status, 201);
  assert.equal((await send(service, await sign(seed, 'GET', '/v1/pool'), 'GET', '/v1/pool')).status, 401, 'it names no audience');
  await assert.rejects(run(fairway, ['token', bodyFile, 'GET', '/v1/pool']), { code: 78 });
  fs.chmodSync(bodyFile, 0o600);
  await assert.rejects(run(fairway, ['token', bodyFile, 'GET', '/v1/pool']), { code: 78 });
  await assert.rejects(run(fairway, ['token', seed, 'GET']), { code: 64 });
  await assert.rejects(run(fairway, ['keygen', '--client', seed]), { code: 73 });
});

test('AUTH=none listens on loopback only, unless LISTEN says another address', TIMEOUT, async () => {
  const open = { AUTH: 'none', CLIENT_AUTH_PUBLIC_KEYS: '' };
  const service = await world.serve({ ...open, LISTEN: '' });
  assert.match(service.log, /^listening on http:\/\/127\.0\.0\.1:/m);
  assert.equal((await fetch(`${service.url}/v1/pool`)).status, 200);
  const wide = await world.serve({ ...open, LISTEN: '0.0.0.0' });
  assert.match(wide.log, /^listening on http:\/\/0\.0\.0\.0:/m);
});
