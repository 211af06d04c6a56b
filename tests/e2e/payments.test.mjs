// Complete payments through fairway: the official SDK is the client, and the local network validates every envelope.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payThrough, payment, slower, startWorld, submit } from './harness.mjs';

const ACCOUNTS = 15;
let world, service, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  users = await Promise.all(Array.from({ length: 20 }, () => world.newAccount()));
});
after(() => world?.stop());

/** Compares what a status says of the result with what the SDK gets from the network. */
async function assertAsOnTheNetwork(status, hash) {
  const { resultXdr: result, ledger, returnValue } = await world.network.getTransaction(hash);
  assert.equal(status.ledgerHash, hash);
  assert.equal(status.ledger, ledger);
  assert.equal(status.resultXdr, result.toXdr('base64'));
  assert.equal(status.feeCharged, String(result.feeCharged));
  assert.equal(status.returnValue, returnValue?.toXdr('base64'));
}

test('one payment: leased, signed, fee-bumped, confirmed, account idle again', async () => {
  const [from, to] = users;
  const draft = payment(world, from, to, '25');
  const leased = await service.post('/v1/transactions', { transactionXdr: draft.toXDR() });
  assert.equal(leased.status, 201);
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, leased.json.networkPassphrase);
  assert.equal(inner.source, leased.json.channelAccount);
  assert.equal(inner.sequence, leased.json.sequence);
  assert.equal(inner.timeBounds.maxTime, leased.json.maxTime);
  assert.equal(Buffer.from(inner.hash()).toString('hex'), leased.json.hash);
  assert.equal(inner.signatures.length, 1);
  const signer = Keypair.fromPublicKey(leased.json.channelAccount);
  assert.ok(signer.verify(inner.hash(), inner.signatures[0].signature), "the channel account's signature, by the SDK");
  assert.deepEqual(inner.operations, draft.operations);

  assert.deepEqual([leased.json.status, leased.json.first], ['pending', true]);
  const pending = await service.get(`/v1/transactions/${leased.json.hash}`);
  assert.deepEqual([pending.json.status, pending.json.bids], ['pending', []]);
  inner.sign(from);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200);
  const outer = TransactionBuilder.fromXDR(bumped.json.transactionXdr, world.passphrase);
  assert.equal(outer.feeSource, world.distribution.publicKey());
  assert.equal(Buffer.from(outer.hash()).toString('hex'), bumped.json.hash);
  assert.equal(bumped.json.innerHash, leased.json.hash);
  const { bids } = (await service.get(`/v1/transactions/${leased.json.hash}`)).json;
  assert.deepEqual(bids, [{ hash: bumped.json.hash, fee: bumped.json.fee }]);
  await submit(world, bumped.json.transactionXdr);
  for (const hash of [leased.json.hash, bumped.json.hash]) {
    const status = await service.get(`/v1/transactions/${hash}?wait=30`);
    assert.equal(status.json.status, 'confirmed');
    assert.equal(status.json.resultCode, 'txSUCCESS');
    assert.equal(status.json.hash, leased.json.hash);
    await assertAsOnTheNetwork(status.json, bumped.json.hash);
  }
  await assertSettled(assert, world, service, ACCOUNTS);
});

/** Pays; asks again when no account was idle for six seconds, because ledgers are late on a busy machine. */
async function payPatiently(from, to) {
  for (;;)
    try {
      return await payThrough(world, service, from, to);
    } catch (error) {
      if (error.answer?.json.code !== 'CHANNEL_ACCOUNT_UNAVAILABLE' || slower(100) === 100)
        throw error;
    }
}

test('200 payments by 20 concurrent clients over 15 accounts: every one confirmed, no txBAD_SEQ, all idle at the end', async () => {
  const hashes = new Set();
  await Promise.all(users.map(async (user, i) => {
    for (let n = 0; n < 10; n++) {
      const lease = await payPatiently(user, users[(i + 1) % users.length]);
      assert.ok(!hashes.has(lease.hash));
      hashes.add(lease.hash);
      const status = await service.get(`/v1/transactions/${lease.hash}?wait=60`);
      assert.equal(status.json.status, 'confirmed', JSON.stringify(status.json));
    }
  }));
  assert.equal(hashes.size, 200);
  await assertSettled(assert, world, service, ACCOUNTS);
});

test('a payment that fails in the ledger consumes the sequence and ends the lease as failed', async () => {
  const poor = users[3], reference = 'order 7';
  const draft = payment(world, poor, users[4], '100000000');
  const leased = await service.post('/v1/transactions', { transactionXdr: draft.toXDR(), reference });
  assert.equal(leased.json.reference, reference);
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(poor);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  await submit(world, bumped.json.transactionXdr);
  const status = await service.get(`/v1/transactions/${leased.json.hash}?wait=30`);
  assert.equal(status.json.status, 'failed');
  assert.equal(status.json.resultCode, 'txFAILED');
  assert.deepEqual(status.json.operationResults, ['PAYMENT_UNDERFUNDED']);
  assert.equal(status.json.feeCharged, '200');
  assert.equal(status.json.reference, reference);
  await assertAsOnTheNetwork(status.json, bumped.json.hash);
  await assertSettled(assert, world, service, ACCOUNTS);
});

test('an exhausted pool gives 503 with Retry-After after six seconds; leases that are never submitted expire by a ledger and free their accounts', async () => {
  const drafts = Array.from({ length: ACCOUNTS }, () => payment(world, users[0], users[1]).toXDR());
  const leased = await Promise.all(drafts.map(transactionXdr => service.post('/v1/transactions', { transactionXdr, timeoutSeconds: 20 })));
  assert.ok(leased.every(answer => answer.status === 201));
  assert.equal(new Set(leased.map(answer => answer.json.channelAccount)).size, ACCOUNTS, 'no account twice');
  const begun = Date.now();
  const refused = await service.post('/v1/transactions', { transactionXdr: drafts[0] });
  assert.equal(refused.status, 503);
  assert.equal(refused.json.code, 'CHANNEL_ACCOUNT_UNAVAILABLE');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.ok(Date.now() - begun >= 5900 && Date.now() - begun < slower(8000), `${Date.now() - begun} ms`);
  for (const { json } of leased)
    assert.equal((await service.get(`/v1/transactions/${json.hash}?wait=45`)).json.status, 'expired');
  await assertSettled(assert, world, service, ACCOUNTS);
});
