// Complete payments through fairway: the official SDK is the client, and the local network validates every envelope.
// About 30 s: leases of 20 s, the shortest, expire.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payThrough, payment, slower, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 15;
let world, service, users, earlier;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  const { said, ledgers } = await quiet();
  earlier = ledgers - said.fairway_ledger_commit_delay_seconds_count; // ensure-accounts has committed these
  users = await Promise.all(Array.from({ length: 20 }, () => world.newAccount()));
});
after(() => world?.stop());

/** What the metrics say, and how many ledgers the database has, while none is committed. */
const quiet = () => until(async () => {
  const said = await service.metrics(), [[ledgers]] = await world.sql('SELECT count(*) FROM fairway.ledgers');
  return (await service.metrics()).fairway_cursor_ledger === said.fairway_cursor_ledger && { said, ledgers: Number(ledgers) };
}, 20_000, 'a moment without a ledger');

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

/** Rows of two columns, as an object. */
const table = async query => Object.fromEntries((await world.sql(query)).map(([key, count]) => [key, Number(count)]));

test('DO2 every counter and gauge agrees with the database, and each client is counted', async () => {
  const [from, to] = users, draft = payment(world, from, to);
  const leased = await service.post('/v1/transactions', { transactionXdr: draft.toXDR() });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(from);
  const submitted = await service.post('/v1/submissions?wait=60', { transactionXdr: inner.toXDR() });
  assert.equal(submitted.json.status, 'confirmed', JSON.stringify(submitted.json));
  await service.post('/v1/transactions', { transactionXdr: draft.toXDR() }); // open meanwhile

  const [[oldest]] = await world.sql(`SELECT floor(extract(epoch FROM clock_timestamp() - min(granted_at)))::int FROM fairway.lease_history
    WHERE result IS NULL`);
  const ends = await table('SELECT result, count(*) FROM fairway.lease_history WHERE result IS NOT NULL GROUP BY result');
  assert.deepEqual(Object.keys(ends).sort(), ['confirmed', 'expired', 'failed']);
  const { said, ledgers } = await quiet();
  const [[leases, bumps, sequence]] = (await world.sql(`SELECT (SELECT count(*) FROM fairway.leases), (SELECT count(*) FROM fairway.fee_bumps),
    (SELECT sequence FROM fairway.cursor)`)).map(row => row.map(Number));
  for (const end of ['confirmed', 'failed', 'expired', 'superseded', 'consumed'])
    assert.equal(said[`fairway_leases_ended_total{end="${end}"}`], ends[end] ?? 0, end);
  for (const [state, count] of [['idle', ACCOUNTS - 1], ['leased', 1], ['creating', 0], ['retiring', 0], ['quarantined', 0]])
    assert.equal(said[`fairway_channel_accounts{state="${state}"}`], count, state);
  assert.equal(said.fairway_leases_granted_total, leases);
  assert.equal(said.fairway_lease_wait_seconds_count, leases + 1, 'one request was refused for want of an account');
  assert.ok(said.fairway_fee_bumps_total >= bumps && bumps > 0);
  assert.equal(said.fairway_submissions_accepted_total, 1);
  assert.equal(said['fairway_submissions{state="pending"}'], 0);
  assert.ok(said.fairway_oldest_lease_seconds >= Number(oldest) && said.fairway_cursor_ledger <= sequence);
  assert.equal(said.fairway_ledger_commit_delay_seconds_count, ledgers - earlier);
  assert.equal(said.fairway_ledger_answer_seconds_count, ledgers - earlier);
  assert.deepEqual([said.fairway_ingestion_leader, said.fairway_ingestion_lead_taken_total, said.fairway_grants_allowed], [1, 1, 1]);
  const calls = (method, result) => said[`fairway_rpc_calls_total{rpc="1",method="${method}",result="${result}"}`];
  assert.ok(calls('getLedgers', 'ok') >= 1 && calls('getLedgers', 'ok') <= ledgers && calls('sendTransaction', 'ok') >= 1);
  assert.deepEqual([calls('getLedgers', 'failed'), said['fairway_rpc_calls_total{rpc="2",method="getLedgers",result="ok"}']], [0, undefined]);
  assert.ok(said['fairway_rpc_call_duration_seconds_count{rpc="1",method="getLedgers"}'] >= calls('getLedgers', 'ok') + calls('getLedgers', 'error'));
  const total = pattern => Object.entries(said).filter(([name]) => pattern.test(name)).reduce((sum, [, count]) => sum + count, 0);
  const client = world.client.publicKey();
  assert.equal(said[`fairway_client_requests_total{client="${client}",code="CHANNEL_ACCOUNT_UNAVAILABLE"}`], 1);
  // The request for the metrics before these may end while they are written.
  assert.ok(Math.abs(total(/^fairway_client_requests_total/) - total(/^fairway_http_requests_total/)) <= 1);
  assert.ok(said[`fairway_client_requests_total{client="${client}",code="OK"}`] >=
    total(/^fairway_http_requests_total\{route="[A-Z]+ \/v1.*code="OK"\}/));
  assert.equal(said['fairway_http_connections_max{listener="api"}'], 1024);
  assert.ok(said.process_open_fds > 10 && said.process_resident_memory_bytes > 1 << 20, 'also while it is confined');
});
