// The service is down for longer than the RPC keeps ledgers, and recovers from the state of the accounts. DR5.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payment, payThrough, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 8;
const RETENTION = 6;
let world, service;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, network: { retention: RETENTION } });
});
after(() => world?.stop());

/** Takes a lease and its fee bump, and does not submit it. */
async function lease(service, from, to, timeoutSeconds) {
  const leased = await service.post('/v1/transactions', { transactionXdr: payment(world, from, to).toXDR(), timeoutSeconds });
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(from);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  return { ...leased.json, bumped: bumped.json.transactionXdr };
}

const status = async (service, { hash }) => (await service.get(`/v1/transactions/${hash}`)).json.status;
const cursor = () => world.cursor();

test('DR5 after a gap beyond retention every lease has ended or is open, and nothing is leased too early', { timeout: 600_000 }, async () => {
  const [payer, payee] = await Promise.all([world.newAccount(), world.newAccount()]);
  service = await world.serve();
  const included = await lease(service, payer, payee, 300);
  const abandoned = await lease(service, payer, payee, 20);
  const late = await lease(service, payer, payee, 300);
  await service.kill('SIGKILL');
  const before = await cursor();
  await submit(world, included.bumped);
  await until(async () => (await world.network.getHealth()).oldestLedger > before + 1 + RETENTION, 60_000,
    'the ledgers after the cursor, and the payment, are forgotten');
  service = await world.serve();
  await until(() => /gap recovered/.test(service.log), 30_000, 'the gap is recovered from');
  assert.match(service.log, /ledgers are missing: grants are suspended/);
  assert.equal(await status(service, included), 'consumed');
  assert.equal(await status(service, late), 'pending');
  const [[ledgers]] = await world.sql(`SELECT count(*) FROM fairway.ledgers WHERE sequence BETWEEN ${before + 1} AND ${before + RETENTION}`);
  assert.equal(ledgers, '0', 'the lost ledgers are not in the database');

  await payThrough(world, service, payer, payee, { timeoutSeconds: 30 }); // grants have resumed
  await submit(world, late.bumped);
  await until(async () => await status(service, late) === 'confirmed', 20_000, 'the late transaction is confirmed');
  await until(async () => await status(service, abandoned) === 'expired', 40_000, 'the abandoned lease expires');
  await assertSettled(assert, world, service, ACCOUNTS);
  const [[odd]] = await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state <> 'active'");
  assert.equal(odd, '0');
});

test('DR5 ensure-accounts completes across a gap', { timeout: 600_000 }, async () => {
  const before = await cursor();
  await service.kill('SIGKILL');
  await until(async () => (await world.network.getHealth()).oldestLedger > before + 1, 60_000, 'the gap opens');
  await world.fairway('ensure-accounts', String(ACCOUNTS + 3));
  service = await world.serve();
  await until(async () => (await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active'"))[0][0]
    === String(ACCOUNTS + 3), 30_000, 'the new accounts are active');
  await assertSettled(assert, world, service, ACCOUNTS + 3);
});
