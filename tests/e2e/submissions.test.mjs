// POST /v1/submissions: fairway sends what was signed, until a ledger ends its lease. The official SDK signs, and the local network's queue
// behaves as a node's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { decode, encode } from '../localnet/xdr.mjs';
import { assertSettled, payment, payThrough, sleep, slower, slowerSeconds, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const ACCOUNTS = 8;
let world, service, users, rpcs;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 1000 });
  rpcs = await Promise.all([0, 1].map(async () => {
    const it = { say: (_, forward) => forward() };
    return Object.assign(it, await proxyRpc(world.localnet.url, (call, forward) => (async () => it.say(call, forward))().catch(() => null)));
  }));
  world.env.RPC_URL = rpcs.map(({ url }) => url).join();
  service = await world.serve();
  users = [await world.newAccount(), await world.newAccount()];
});
after(async () => {
  await world?.stop();
  rpcs?.forEach(rpc => rpc.close());
});

async function lease(draft = payment(world, ...users), timeoutSeconds = 60) {
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: draft.toXDR(), timeoutSeconds });
  assert.equal(status, 201, JSON.stringify(json));
  return TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
}

async function signed(...args) {
  const transaction = await lease(...args);
  transaction.sign(users[0]);
  return transaction;
}

const submit = (transaction, wait, more = {}) =>
  service.post(`/v1/submissions${wait ? `?wait=${wait}` : ''}`, { transactionXdr: transaction.toXDR(), ...more });
const hashOf = transaction => Buffer.from(transaction.hash()).toString('hex');
const bidsOf = async transaction => (await world.sql(
  `SELECT fee FROM fairway.fee_bumps WHERE lease_hash = '\\x${hashOf(transaction)}' ORDER BY signed_at`)).flat().map(Number);
/** The same transaction as a TransactionV0Envelope, which has the same hash. */
const asV0 = transaction => {
  const { v1: { tx: { sourceAccount, cond, ...rest }, signatures } } = decode('TransactionEnvelope', Buffer.from(transaction.toXDR(), 'base64'));
  const tx = { ...rest, sourceAccountEd25519: sourceAccount.ed25519, timeBounds: cond.timeBounds };
  return { hash: () => transaction.hash(), toXDR: () => encode('TransactionEnvelope', { type: 0, v0: { tx, signatures } }).toString('base64') };
};
const isSend = ({ method }) => method === 'sendTransaction';
const everywhere = say => rpcs.forEach(rpc => (rpc.say = say));
const asIs = (_, forward) => forward();

test('a signed payment is sent, and its end is the answer; a repeated request gets the same, and is not the first', async () => {
  const transaction = await signed();
  const { status, json } = await submit(transaction, slowerSeconds(30), { reference: null, timeoutSeconds: null, maxFee: null, func: null, auth: null });
  assert.equal(status, 200, JSON.stringify(json));
  assert.deepEqual([json.status, json.first, json.hash], ['confirmed', true, hashOf(transaction)]);
  const again = await submit(transaction);
  assert.deepEqual([again.status, again.json.status, again.json.first], [200, 'confirmed', false]);
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.submissions'), [['0']]);
});

test('without ?wait= the answer is 202, and the payment goes on without the client', async () => {
  const transaction = await signed();
  const { status, json } = await submit(transaction);
  assert.deepEqual([status, json.status, json.first], [202, 'pending', true]);
  assert.equal((await service.get(`/v1/transactions/${hashOf(transaction)}?wait=${slowerSeconds(30)}`)).json.status, 'confirmed');
});

test('an unsigned transaction, one whose fee is above the maximum, and what belongs to a lease are refused', async () => {
  const unsigned = payment(world, ...users);
  assert.equal((await submit(unsigned)).json.code, 'NO_SIGNATURES_PROVIDED');
  assert.equal((await submit(await lease(undefined, 20))).json.code, 'NO_SIGNATURES_PROVIDED');
  const transaction = await signed(undefined, 20);
  assert.equal((await submit(transaction, 0, { maxFee: '100000000' })).json.code, 'FEE_EXCEEDS_MAXIMUM');
  assert.match((await submit(transaction, 0, { reference: 'order 7' })).json.detail, /^reference is for a call that is leased here/);
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.submissions'), [['0']]);
});

test('what the database does not commit is not sent', async () => {
  let sent = 0;
  everywhere((call, forward) => ((sent += isSend(call)), forward()));
  await world.sql(`CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
    CREATE TRIGGER refuse BEFORE INSERT ON fairway.submissions FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
  const transaction = await signed();
  const { status } = await submit(transaction);
  await sleep(1500);
  await world.sql('DROP TRIGGER refuse ON fairway.submissions; DROP FUNCTION public.refuse()');
  assert.deepEqual([status, sent, (await bidsOf(transaction)).length], [500, 0, 0]);
  assert.equal((await submit(transaction, slowerSeconds(20))).json.status, 'confirmed');
  everywhere(asIs);
});

test('a missing signature is reported at once and not after the wait; with it the same lease is confirmed', async () => {
  const other = Keypair.random();
  const options = payment(world, ...users); // has the source's second signer
  const setUp = new TransactionBuilder(await world.network.getAccount(users[0].publicKey()), { fee: '1000', networkPassphrase: world.passphrase })
    .addOperation(Operation.setOptions({ signer: { ed25519PublicKey: other.publicKey(), weight: 1 }, medThreshold: 2, highThreshold: 2 }))
    .setTimeout(60).build();
  setUp.sign(users[0]);
  await world.network.sendTransaction(setUp);
  await until(async () => (await world.network.getTransaction(hashOf(setUp))).status === 'SUCCESS', 20_000, 'there are two signers');
  const transaction = await signed(options);
  const begun = Date.now();
  const { status, json } = await submit(transaction, 60);
  assert.deepEqual([status, json.status], [202, 'pending']);
  assert.deepEqual(json.rejected?.operationResults, ['opBAD_AUTH'], JSON.stringify(json));
  assert.equal(json.rejected.resultCode, 'txFAILED');
  assert.ok(Date.now() - begun < Math.min(slower(10_000), 50_000), `${Date.now() - begun} ms`); // the wait is 60 s
  const later = Date.now();
  assert.ok((await service.get(`/v1/transactions/${hashOf(transaction)}?wait=2`)).json.rejected);
  assert.ok(Date.now() - later >= 1900, 'a later wait waits for news');
  const waiting = service.get(`/v1/transactions/${hashOf(transaction)}?wait=60`);
  const repeated = await submit(transaction, 60); // sent at once, by another bid
  assert.deepEqual([repeated.json.rejected?.operationResults, repeated.json.first], [['opBAD_AUTH'], false]);
  assert.deepEqual(await bidsOf(transaction), [20_000, 20_001]);
  transaction.sign(other);
  const whole = await submit(transaction, slowerSeconds(40)); // another hash of the fee bump: no node has banned it
  assert.deepEqual([whole.status, whole.json.status, whole.json.rejected, whole.json.first], [200, 'confirmed', undefined, false]);
  assert.ok(['pending', 'confirmed'].includes((await waiting).json.status));
  users[0] = await world.newAccount();
});

test('a submission waits while no RPC answers, and is sent when one does', async () => {
  everywhere((call, forward) => (isSend(call) ? null : forward()));
  const transaction = await signed();
  assert.equal((await submit(transaction, 3)).status, 202);
  rpcs[1].say = asIs;
  assert.equal((await service.get(`/v1/transactions/${hashOf(transaction)}?wait=${slowerSeconds(20)}`)).json.status, 'confirmed');
  everywhere(asIs);
});

test('of two RPCs one loses what it has taken, hangs or does not know: the other one is enough', async () => {
  const answers = { lost: { status: 'PENDING', latestLedger: 2 ** 31 - 1, hash: '00', latestLedgerCloseTime: '1' },
    later: { status: 'TRY_AGAIN_LATER', latestLedger: 2 ** 31 - 1, hash: '00', latestLedgerCloseTime: '1' } };
  for (const say of [call => ({ jsonrpc: '2.0', id: call.id, result: answers.lost }), () => new Promise(() => {}),
    call => ({ jsonrpc: '2.0', id: call.id, result: answers.later }),
    call => ({ jsonrpc: '2.0', id: call.id, error: { code: -32603, message: 'could not submit transaction to stellar-core' } })]) {
    rpcs[0].say = (call, forward) => (isSend(call) ? say(call) : forward());
    assert.equal((await submit(await signed(), slowerSeconds(20))).json.status, 'confirmed');
  }
  everywhere(asIs);
});

test('what a node has lost is sent again: the first bytes reach nobody, those after the next ledger do', async () => {
  let sent = 0;
  everywhere((call, forward) => (isSend(call) && ++sent <= 2 ? { jsonrpc: '2.0', id: call.id,
    result: { status: 'PENDING', latestLedger: 1, hash: '00', latestLedgerCloseTime: '1' } } : forward()));
  const transaction = await signed();
  const { json } = await submit(transaction, slowerSeconds(20));
  assert.equal(json.status, 'confirmed');
  assert.ok(sent > 2);
  assert.equal((await bidsOf(transaction)).length, 1, 'the same bytes');
  everywhere(asIs);
});

test('bytes that aged out are followed by another hash, within the cap, and a repeat keeps that, also of a V0 envelope', async () => {
  world.localnet.faults.configure({ loseSubmission: 1 });
  const transaction = asV0(await signed(undefined, 120));
  const due = async () => (await world.sql(`SELECT bid, max_fee FROM fairway.submissions WHERE lease_hash = '\\x${hashOf(transaction)}'`)).flat().map(Number);
  assert.equal((await submit(transaction, 0, { maxFee: '20001' })).status, 202);
  await until(async () => (await bidsOf(transaction)).length >= 3, 40_000, 'a third bid');
  const third = await due();
  assert.equal((await submit(transaction)).status, 202);
  assert.deepEqual(await due(), third);
  assert.equal(third[1], 20_001);
  world.localnet.faults.configure({ loseSubmission: 0 });
  assert.deepEqual((await bidsOf(transaction)).slice(0, 3), [20_000, 20_001, 19_999], 'at the cap another one below it');
  assert.equal((await service.get(`/v1/transactions/${hashOf(transaction)}?wait=60`)).json.status, 'confirmed');
});

test('another replica goes on when the one that took the submission is killed', async () => {
  const dying = await world.serve();
  everywhere((call, forward) => (isSend(call) ? null : forward()));
  const transaction = await signed();
  assert.equal((await dying.post('/v1/submissions', { transactionXdr: transaction.toXDR() })).status, 202);
  await dying.kill('SIGKILL');
  everywhere(asIs);
  assert.equal((await service.get(`/v1/transactions/${hashOf(transaction)}?wait=${slowerSeconds(20)}`)).json.status, 'confirmed');
});

test('everything is settled, and no submission is left', async () => {
  await payThrough(world, service, ...users);
  await assertSettled(assert, world, service, ACCOUNTS);
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.submissions'), [['0']]);
});
