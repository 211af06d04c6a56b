// POST /v1/submissions with {func, auth}: prepared, leased and sent in one call, once for each authorization, whichever replica gets it and
// whoever dies.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Operation, TransactionBuilder, authorizeEntry, nativeToScVal, xdr } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { Stop } from '../faults/stop.mjs';
import { assertSettled, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 8, AMOUNT = 10_000_000n;
let world, replicas, user, shop, keys = 0;

const address = key => nativeToScVal(key.publicKey(), { type: 'address' });
const draftOf = (operation, source) =>
  new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(operation).setTimeout(0).build();
const balanceOf = async key => BigInt((await world.network.getAccountEntry(key.publicKey())).balance);
const newKey = () => `key ${keys++}`;

/** A transfer that the user has authorized, as {func, auth}. */
async function transfer(from = user, amount = AMOUNT) {
  const operation = Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'transfer',
    args: [address(from), address(shop), nativeToScVal(amount, { type: 'i128' })] });
  const { result } = await world.network.simulateTransaction(draftOf(operation, shop));
  const entry = await authorizeEntry(result.auth[0], from, (await world.network.getLatestLedger()).sequence + 100, world.passphrase);
  return { func: draftOf(operation, Keypair.random()).operations[0].func.toXDR('base64'), auth: [entry.toXDR('base64')] };
}

const call = (service, body, key = newKey(), wait = 0) => service.request('POST', `/v1/submissions?wait=${wait}`, body, { 'idempotency-key': key });
const ended = async (service, hash) => (await service.get(`/v1/transactions/${hash}?wait=60`)).json;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  replicas = [await world.serve(), await world.serve()];
  [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, shop);
});
after(() => world?.stop());

test('one call is prepared, leased, sent and confirmed; its key gets the same again, another key the same hash', async () => {
  const body = { ...await transfer(), maxFee: '1000000', reference: 'order 7' }, key = newKey(), before = await balanceOf(shop);
  const { status, json } = await call(replicas[0], body, key, 30);
  assert.equal(status, 200, JSON.stringify(json));
  assert.deepEqual([json.status, json.first, json.reference], ['confirmed', true, 'order 7']);
  assert.equal(await balanceOf(shop), before + AMOUNT);
  const again = await call(replicas[1], body, key), another = await call(replicas[1], body);
  assert.deepEqual([again.status, again.json.hash, again.json.first], [200, json.hash, true]);
  assert.deepEqual([another.status, another.json.hash, another.json.first], [200, json.hash, false]);
  const { code, hash } = (await call(replicas[0], { ...body, reference: 'order 8' }, key)).json;
  assert.deepEqual([code, hash], ['IDEMPOTENCY_CONFLICT', json.hash]);
  const step = await replicas[0].post('/v1/transactions', { func: body.func, auth: body.auth });
  assert.deepEqual([step.status, step.json.code, step.json.hash], [409, 'AUTHORIZATION_LEASED', json.hash]);
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.submissions'), [['0']]);
});

test('a call that is pending is raised by its key, by another one and by its transaction, and a rejected one is revived by a repeat', async () => {
  const row = async hash => (await world.sql(`SELECT max_fee, rejected IS NULL FROM fairway.submissions WHERE lease_hash = '\\x${hash}'`))[0];
  world.localnet.faults.configure({ loseSubmission: 1 });
  const body = await transfer(), taken = newKey(), { status, json } = await call(replicas[0], { ...body, maxFee: '1000000' }, taken);
  assert.deepEqual([status, json.status, json.first], [202, 'pending', true]);
  const raised = await call(replicas[1], { ...body, maxFee: '1200000' }, taken);
  assert.deepEqual([raised.status, raised.json.hash, raised.json.first, raised.json.transactionXdr], [202, json.hash, true, json.transactionXdr]);
  assert.deepEqual(await row(json.hash), ['1200000', 't']);
  const byAnother = await call(replicas[1], { ...body, maxFee: '1400000' });
  assert.deepEqual([byAnother.status, byAnother.json.hash, byAnother.json.first, byAnother.json.transactionXdr], [202, json.hash, false, json.transactionXdr]);
  const { status: accepted } = await replicas[0].post('/v1/submissions', { transactionXdr: json.transactionXdr, maxFee: '1600000' });
  assert.deepEqual([accepted, await row(json.hash)], [202, ['1600000', 't']]);
  assert.equal((await call(replicas[1], { ...body, maxFee: '1' })).json.code, 'FEE_BELOW_MINIMUM');
  await world.sql(`UPDATE fairway.submissions SET rejected = '\\x0000000000000064fffffffa00000000' WHERE lease_hash = '\\x${json.hash}'`);
  world.localnet.faults.configure({ loseSubmission: 0 });
  const revived = await call(replicas[1], body, newKey(), 30);
  assert.deepEqual([revived.json.status, revived.json.hash, revived.json.first], ['confirmed', json.hash, false], JSON.stringify(revived.json));
});

test('a transaction of such a call is taken too; one that lacks a signature of its own is not', async () => {
  const { func, auth } = await transfer();
  const operation = Operation.invokeHostFunction({ func: xdr.HostFunction.fromXDR(func, 'base64'), auth: auth.map(it => xdr.SorobanAuthorizationEntry.fromXDR(it, 'base64')) });
  const { status, json } = await call(replicas[0], { transactionXdr: draftOf(operation, shop).toXDR() }, newKey(), 30);
  assert.deepEqual([status, json.status], [200, 'confirmed'], JSON.stringify(json));
  assert.equal((await call(replicas[0], { func, auth: [] })).status, 400);
  const sourced = draftOf(Operation.invokeHostFunction({ ...operation.body, func: xdr.HostFunction.fromXDR(func, 'base64'), auth: [], source: user.publicKey() }), shop);
  assert.equal((await call(replicas[0], { transactionXdr: sourced.toXDR() })).json.code, 'NO_SIGNATURES_PROVIDED');
});

test('a call that is leased by POST /v1/transactions, and that nobody has submitted, is sent', async () => {
  const body = await transfer(), { json: leased } = await replicas[0].post('/v1/transactions', body);
  const { json } = await call(replicas[1], body, newKey(), 10);
  assert.deepEqual([json.status, json.hash, json.first], ['confirmed', leased.hash, true], JSON.stringify(json));
});

test('a call that a limit or the fee refuses takes no account', async () => {
  const body = await transfer();
  assert.equal((await call(replicas[0], { ...body, maxFee: '1' })).json.code, 'FEE_BELOW_MINIMUM');
  assert.equal((await call(replicas[0], { ...body, maxFee: '100000000000' })).json.code, 'FEE_EXCEEDS_MAXIMUM');
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.submissions'), [['0']]);
});

test('the same authorization at both replicas at once, under three keys: one inclusion, and the first key alone is first', async () => {
  const before = await balanceOf(shop), rounds = 4;
  for (let round = 0; round < rounds; round++) {
    const body = await transfer(), three = [newKey(), newKey(), newKey()];
    const answers = await Promise.all(Array.from({ length: 24 }, async (_, i) => {
      const key = three[i % 3], { status, json } = await call(replicas[i % 2], body, key, i % 4 === 0 ? 30 : 0);
      assert.ok([200, 202].includes(status), JSON.stringify(json));
      return { key, ...json };
    }));
    assert.equal(new Set(answers.map(({ hash }) => hash)).size, 1);
    assert.equal((await ended(replicas[0], answers[0].hash)).status, 'confirmed');
    const [taker] = answers.filter(({ first }) => first);
    assert.ok(answers.every(({ key, first }) => first === (key === taker.key)), JSON.stringify(answers.map(({ key, first }) => [key, first])));
  }
  assert.equal(await balanceOf(shop), before + BigInt(rounds) * AMOUNT);
});

test('one authorization in any list of entries takes one lease, and an entry that nothing asks for claims nothing', async () => {
  const before = await balanceOf(shop), { func, auth: [a] } = await transfer(), { func: other, auth: [b] } = await transfer(user, 1n);
  const lists = [[a], [a, b], [b, a], [a, a], [a, b, b]], send = (auth, i) => call(replicas[i % 2], { func, auth }, newKey(), 30);
  for (let round = 0; round < 2; round++) { // the network has consumed it in the second one
    const answers = await Promise.all(lists.map(send));
    assert.deepEqual(answers.map(({ status, json }) => [status, json.status]), lists.map(() => [200, 'confirmed']), JSON.stringify(answers.map(({ json }) => json)));
    assert.equal(new Set(answers.map(({ json }) => json.hash)).size, 1);
    assert.equal(answers.filter(({ json }) => json.first).length, round === 0 ? 1 : 0);
  }
  const { json } = await call(replicas[0], { func: other, auth: [b] }, newKey(), 30);
  assert.deepEqual([json.status, json.first], ['confirmed', true], JSON.stringify(json));
  assert.equal(await balanceOf(shop), before + AMOUNT + 1n);
});

test('an authorization whose transaction failed in a ledger is free, and confirmed under another hash', async () => {
  const poor = await world.newAccount(), most = await balanceOf(poor) * 6n / 10n;
  const bodies = await Promise.all([transfer(poor, most), transfer(poor, most)]); // each alone is covered
  const sent = await Promise.all(bodies.map(body => call(replicas[0], body)));
  const ends = await Promise.all(sent.map(({ json }) => ended(replicas[1], json.hash)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['confirmed', 'failed'], JSON.stringify(ends));
  assert.deepEqual(ends.map(({ authorizationUsed, failure }) => [authorizationUsed, failure?.length > 0]).sort(), [[undefined, false], [undefined, true]]);
  const failed = ends.findIndex(({ status }) => status === 'failed'), refill = await call(replicas[0], await transfer(user, 1n), newKey(), 30);
  assert.equal(refill.json.status, 'confirmed');
  const top = new TransactionBuilder(await world.network.getAccount(user.publicKey()), { fee: '1000', networkPassphrase: world.passphrase })
    .addOperation(Operation.payment({ destination: poor.publicKey(), asset: Asset.native(), amount: '9000' })).setTimeout(60).build();
  top.sign(user);
  await submit(world, top.toXDR());
  await world.network.pollTransaction(Buffer.from(top.hash()).toString('hex'), { attempts: 100, sleepStrategy: () => 200 });
  const { json } = await call(replicas[1], bodies[failed], newKey(), 30);
  assert.deepEqual([json.status, json.first], ['confirmed', true], JSON.stringify(json));
  assert.notEqual(json.hash, ends[failed].hash);
});

test("a call that needs nobody's authority has no entry, and is repeated by its key alone", async () => {
  const { func } = draftOf(Operation.createStellarAssetContract({ asset: new Asset('FREE', shop.publicKey()) }), shop).operations[0];
  const body = { func: func.toXDR('base64'), auth: [] }, key = newKey(), { status, json } = await call(replicas[0], body, key, 30);
  assert.deepEqual([status, json.status, json.first], [200, 'confirmed', true], JSON.stringify(json));
  assert.equal((await call(replicas[1], body, key)).json.hash, json.hash);
  assert.equal((await call(replicas[1], body)).json.code, 'SIMULATION_FAILED'); // another one: the contract exists
});

test('an authorization that somebody else has used is refused as used, not as a call that fails', async () => {
  const { func, auth } = await transfer(), leased = await replicas[1].post('/v1/transactions', { func, auth });
  const operation = Operation.invokeHostFunction({ func: xdr.HostFunction.fromXDR(func, 'base64'),
    auth: auth.map(it => xdr.SorobanAuthorizationEntry.fromXDR(it, 'base64')) });
  const theirs = await world.network.prepareTransaction(new TransactionBuilder(await world.network.getAccount(shop.publicKey()),
    { fee: '1000', networkPassphrase: world.passphrase }).addOperation(operation).setTimeout(60).build());
  theirs.sign(shop);
  await submit(world, theirs.toXDR());
  await world.network.pollTransaction(Buffer.from(theirs.hash()).toString('hex'), { attempts: 100, sleepStrategy: () => 200 });
  const late = await replicas[0].request('POST', '/v1/submissions?wait=30', { transactionXdr: leased.json.transactionXdr });
  assert.deepEqual([late.json.status, late.json.authorizationUsed], ['failed', true], JSON.stringify(late.json));
  assert.match(Buffer.from(late.json.failure[0], 'base64').toString('latin1'), /nonce/);
  const { status, json } = await call(replicas[0], { func, auth });
  assert.deepEqual([status, json.code], [409, 'AUTHORIZATION_USED'], JSON.stringify(json));
});

test('a replica that is killed between commit and send: another one sends, and the retry is the first request', async () => {
  const stop = new Stop(path.join(world.folder, 'stop')), doomed = await world.serve(stop.env);
  assert.equal((await call(doomed, await transfer(), newKey(), 30)).json.status, 'confirmed');
  const body = await transfer(), key = newKey();
  stop.arm('kill', 'fairway grant: read after COMMIT');
  await assert.rejects(call(doomed, body, key));
  assert.equal((await doomed.ended).signal, 'SIGKILL');
  const [[hash]] = await world.sql("SELECT encode(hash, 'hex') FROM fairway.lease_history ORDER BY granted_at DESC LIMIT 1");
  assert.equal((await ended(replicas[1], hash)).status, 'confirmed');
  const { json } = await call(replicas[1], body, key);
  assert.deepEqual([json.hash, json.first, json.status], [hash, true, 'confirmed']);
});

test('every account is idle at the end', async () => {
  await until(async () => (await world.sql('SELECT count(*) FROM fairway.submissions'))[0][0] === '0', 60_000, 'no submission is left');
  await assertSettled(assert, world, replicas[0], ACCOUNTS);
});
