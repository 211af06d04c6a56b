// The proxy, asked by a client that was written from Channels' wire format.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Asset, Keypair, Operation, TransactionBuilder, nativeToScVal, scValToNative, xdr } from '@stellar/stellar-sdk';
import { assertSettled, payment, sleep, until } from '../e2e/harness.mjs';
import { API_KEY, startClients } from './harness.mjs';

const ACCOUNTS = 5;
let clients, world, service, url, user, shop, transfer, balanceOf, stop;

before(async () => {
  clients = await startClients({ accounts: ACCOUNTS });
  ({ world, services: [service], user, shop, transfer, balanceOf, stop } = clients);
  url = await clients.channels(service);
});
after(() => stop?.());

/** One call as Channels' clients make it: they look at `success`, then at `data`, of any HTTP status. */
async function ask(body, { url: other = url, headers = { authorization: `Bearer ${API_KEY}` } } = {}) {
  const answer = await fetch(other,
    { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
  const { success, data, error } = await answer.json();
  return { http: answer.status, success, error, ...data };
}
const succeeds = answer => {
  assert.deepEqual([answer.http, answer.success, answer.error], [200, true, null], JSON.stringify(answer));
  return answer;
};

test('{xdr} of a signed lease is confirmed; a signed transaction of another source is refused', { timeout: 300_000 }, async () => {
  const { json } = await service.post('/v1/transactions', { transactionXdr: payment(world, user, shop).toXDR() });
  const lease = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  lease.sign(user);
  succeeds(await ask({ params: { xdr: lease.toXDR() } }));
  const foreign = payment(world, user, shop);
  foreign.sign(user);
  const { success, code } = await ask({ params: { xdr: foreign.toXDR() } });
  assert.deepEqual([success, code], [false, 'ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED']);
});

test('a call that only reads returns its value', { timeout: 300_000 }, async () => {
  const func = Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'balance',
    args: [nativeToScVal(user.publicKey(), { type: 'address' })] }).body.invokeHostFunctionOp.hostFunction.toXDR('base64');
  const { transactionId, returnValue } = succeeds(await ask({ params: { func, auth: [] } }));
  assert.equal(transactionId, null);
  assert.equal(scValToNative(xdr.ScVal.fromXDR(returnValue, 'base64')), await balanceOf(user));
});

test('skipWait answers at once, without a hash; the same authorization once more is refused', { timeout: 300_000 }, async () => {
  const call = await transfer(16n), before = await balanceOf(shop);
  const { transactionId, status, hash } = succeeds(await ask({ params: { ...call, skipWait: true } }));
  assert.deepEqual([status, hash], ['pending', null]);
  const again = await ask({ params: call });
  assert.deepEqual([again.success, again.http, again.code, again.details.id], [false, 409, 'ALREADY_SUBMITTED', transactionId]);
  await until(async () => (await ask({ params: { getTransaction: { transactionId } } })).status === 'confirmed', 30_000, 'it is confirmed');
  assert.equal(await balanceOf(shop) - before, 16n);
});

test('what is wrong is said in Channels\' codes', { timeout: 300_000 }, async () => {
  const call = await transfer(32n), other = await transfer(64n);
  const refused = async (body, options) => {
    const { http, success, code, error } = await ask(body, options);
    assert.deepEqual([success, typeof error], [false, 'string']);
    return `${http} ${code}`;
  };
  assert.equal(await refused({ params: { func: call.func } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { ...call, xdr: 'AAAA' } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { getTransaction: { transactionId: '../pool' } } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { func: other.func, auth: call.auth } }), '400 SIMULATION_FAILED');
  assert.equal(await refused({ params: { xdr: 'AAAA' } }), '400 INVALID_XDR');
});

test('who has no key is told so; a key may be another client of fairway; without keys a browser may ask so many times a minute', { timeout: 300_000 }, async () => {
  const missing = await ask({ params: {} }, { headers: {} }), wrong = await ask({ params: {} }, { headers: { 'x-api-key': 'another' } });
  assert.deepEqual([missing.http, wrong.http], [401, 401]);
  assert.match(missing.error, /"x-api-key: KEY"/);
  assert.match(wrong.error, /is none of/);
  const { transactionId } = succeeds(await ask(await transfer(2n), { headers: { 'x-api-key': API_KEY } }));

  const stranger = Keypair.random(), own = await clients.channels(service, { API_KEYS: `mine=${stranger.secret()}`, KEYLESS_PER_MINUTE: '2', CORS_ORIGIN: '*' });
  const look = { params: { getTransaction: { transactionId } } };
  assert.deepEqual((await ask(look, { url: own, headers: { 'x-api-key': 'mine' } })).details.reason, 'UNAUTHORIZED'); // fairway has no such client
  await until(async () => (await ask(look, { url: own, headers: {} })).http === 429, 10_000, 'a third request of a minute is refused');
  const asked = await fetch(own, { method: 'OPTIONS', headers: { origin: 'https://wallet.example', 'access-control-request-method': 'POST' } });
  assert.deepEqual([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*']);
  assert.deepEqual([(await fetch(`${own}/health`)).status, (await fetch(`${await clients.channels({ url: 'http://127.0.0.1:9' })}/health`)).status], [200, 503]);
});

test('a look at a payment that fairway does not answer now is no end of it; a repeat has only the time that is left', { timeout: 300_000 }, async t => {
  const asked = [], answers = [[0, 429], [0, 503], [0, 503], [4000, 503], [0, 200, { hash: 'ab', ledgerHash: 'cd', status: 'confirmed' }]];
  const busy = http.createServer(async (request, response) => {
    asked.push(request.url);
    const [ms, status, json = {}] = answers.shift();
    await sleep(ms);
    response.writeHead(status).end(JSON.stringify({ status, ...json }));
  }).listen(0, '127.0.0.1');
  t.after(() => busy.close().closeAllConnections());
  await once(busy, 'listening');
  const proxy = await clients.channels({ url: `http://127.0.0.1:${busy.address().port}` }, { API_KEYS: 'a2V5LXdpdGg==' });
  const options = { url: proxy, headers: { 'x-api-key': 'a2V5LXdpdGg==' } };
  for (let i = 0; i < 2; i++)
    assert.deepEqual((({ hash, status }) => [hash, status])(succeeds(await ask({ params: { getTransaction: { transactionId: 'ab'.repeat(32) } } }, options))), [null, 'pending']);
  assert.equal(succeeds(await ask({ params: { func: 'AAAA', auth: [] } }, options)).hash, 'cd');
  const waits = asked.slice(3).map(path => Number(/wait=(\d+)$/.exec(path)[1]));
  assert.ok(waits[0] === 25 && waits[1] <= 20, asked.join());
});

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, world, service, ACCOUNTS));
