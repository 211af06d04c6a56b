// The proxy, asked by a client that was written from Channels' wire format.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Asset, Operation, TransactionBuilder, nativeToScVal, scValToNative, xdr } from '@stellar/stellar-sdk';
import { assertSettled, payment, until } from '../e2e/harness.mjs';
import { API_KEY, startClients } from './harness.mjs';

const ACCOUNTS = 5;
let world, service, url, user, shop, transfer, draftOf, balanceOf, stop;

before(async () => {
  const clients = await startClients({ accounts: ACCOUNTS });
  ({ world, services: [service], user, shop, transfer, draftOf, balanceOf, stop } = clients);
  url = await clients.channels(service);
});
after(() => stop?.());

/** One call as Channels' clients make it: they look at `success`, then at `data`, of any HTTP status. */
async function ask(body, { place = '/', headers = { authorization: `Bearer ${API_KEY}` } } = {}) {
  const answer = await fetch(url + place,
    { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
  const { success, data, error } = await answer.json();
  return { http: answer.status, success, error, ...data };
}
const succeeds = answer => {
  assert.deepEqual([answer.http, answer.success, answer.error], [200, true, null], JSON.stringify(answer));
  return answer;
};

test('{params: {func, auth}}, the bare {func, auth}, and {xdr} of a call are confirmed, by either path and header', { timeout: 300_000 }, async () => {
  const before = await balanceOf(shop);
  const results = [
    await ask({ params: await transfer(1n) }),
    await ask(await transfer(2n), { headers: { 'x-api-key': API_KEY } }),
    await ask({ params: await transfer(4n) }, { place: '/api/v1/plugins/channels/call' }),
    await ask({ params: { xdr: draftOf(await transfer(8n)).toXDR() } }),
  ];
  for (const result of results) {
    succeeds(result);
    assert.equal(result.status, 'confirmed');
    const { data } = await (await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${API_KEY}` },
      body: JSON.stringify({ params: { getTransaction: { transactionId: result.transactionId } } }) })).json();
    assert.deepEqual([data.transactionId, data.status, data.hash], [result.transactionId, 'confirmed', result.hash]);
    assert.equal((await world.network.getTransaction(result.hash)).status, 'SUCCESS');
  }
  assert.equal(await balanceOf(shop) - before, 15n);
});

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
  assert.equal(await refused({ params: call }, { headers: {} }), '401 UNAUTHORIZED');
  assert.equal(await refused({ params: call }, { headers: { 'x-api-key': 'another' } }), '401 UNAUTHORIZED');
  assert.equal(await refused({ params: { func: call.func } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { ...call, xdr: 'AAAA' } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { getTransaction: { transactionId: '../pool' } } }), '400 INVALID_PARAMS');
  assert.equal(await refused({ params: { func: other.func, auth: call.auth } }), '400 SIMULATION_FAILED');
  assert.equal(await refused({ params: { xdr: 'AAAA' } }), '400 INVALID_XDR');
});

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, world, service, ACCOUNTS));
