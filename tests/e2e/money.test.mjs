// The distribution account's balance: fairway reports the network's value, warns in time, and below the minimum grants no lease until the
// account is funded.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payThrough, payment, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 3, PAYMENT = 20_000n;
let world, service, bank, user;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve({ LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' });
  [bank, user] = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(() => world?.stop());

const paymentsLeft = async () => (await service.metrics()).fairway_distribution_payments_left;

/** The account's balance on the network, in stroops. */
async function network() {
  const { balance, numSubEntries, ext } = await world.network.getAccountEntry(world.distribution.publicKey());
  const { numSponsoring, numSponsored } = ext.v1.ext.v2;
  return { balance, reserves: BigInt(2 + numSubEntries + numSponsoring - numSponsored) };
}

async function send(from, to, stroops) {
  const source = await world.network.getAccount(from.publicKey());
  const transaction = new TransactionBuilder(new Account(from.publicKey(), source.sequenceNumber()), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(Operation.payment({ destination: to.publicKey(), asset: Asset.native(), amount: `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, '0')}` }))
    .setTimeout(60).build();
  transaction.sign(from);
  await submit(world, transaction.toXDR());
}

const isLeft = count => until(async () => await paymentsLeft() === count, 30_000, `${count} payments are left`);
/** Leaves a balance for this many payments. */
async function leave(count) {
  const { balance, reserves } = await network();
  await send(world.distribution, bank, balance - reserves * 5_000_000n - 100n - BigInt(count) * PAYMENT);
  await isLeft(count);
}
async function fund(stroops) {
  const before = await paymentsLeft();
  await send(bank, world.distribution, stroops);
  await until(async () => await paymentsLeft() > before, 30_000, 'fairway knows the higher balance');
}

const times = words => service.log.split('\n').filter(line => line.includes(words)).length;
const funds = async () => {
  const { status, json } = await service.get('/readyz');
  return { status, ...json.checks.find(({ name }) => name === 'funds') };
};

test('fairway reports the balance that the network has', { timeout: 600_000 }, async () => {
  await until(async () => (await service.metrics()).fairway_distribution_known === 1, 20_000, 'the balance is known');
  for (let i = 0; i < 2; i++) {
    const said = await until(async () => {
      const { balance, reserves } = await network(), values = await service.metrics();
      return BigInt(values.fairway_distribution_balance_stroops) === balance && { ...values, balance, reserves };
    }, 20_000, 'both have the same balance');
    const spendable = said.balance - said.reserves * 5_000_000n;
    assert.equal(BigInt(said.fairway_distribution_spendable_stroops), spendable);
    assert.equal(BigInt(said.fairway_distribution_payments_left), spendable / PAYMENT);
    assert.ok(said.reserves >= 2n + 2n * BigInt(ACCOUNTS), 'it sponsors the channel accounts');
    await payThrough(world, service, user, bank);
    await assertSettled(assert, world, service, ACCOUNTS);
  }
  assert.deepEqual(await funds(), { status: 200, name: 'funds', ok: true });
});

test('one warning when the balance runs low, and one log line when it is sufficient again', { timeout: 600_000 }, async () => {
  await leave(49);
  await until(() => times('msg="the distribution account\'s balance is low') === 1, 10_000, 'the low balance is logged');
  const { warning, ...rest } = await funds();
  assert.deepEqual(rest, { status: 200, name: 'funds', ok: true });
  assert.match(warning, /low/);
  await payThrough(world, service, user, bank);
  await isLeft(48);
  assert.equal(times('msg="the distribution account\'s balance is low'), 1);
  await fund(100_000_000n);
  await until(() => times('balance is sufficient again') === 1, 10_000, 'the sufficient balance is logged');
  assert.deepEqual(await funds(), { status: 200, name: 'funds', ok: true });
});

test('below the minimum no lease is granted, earlier leases are still paid, and funding resumes grants', { timeout: 600_000 }, async () => {
  const leased = await service.post('/v1/transactions', { transactionXdr: payment(world, user, bank).toXDR(), timeoutSeconds: 300 });
  assert.equal(leased.status, 201);
  await leave(9);
  await until(() => times('msg="the distribution account cannot pay for more leases') === 1, 10_000, 'the insufficient balance is logged');
  const failed = await funds();
  assert.equal(failed.status, 503);
  assert.equal(failed.ok, false);
  const refused = await service.post('/v1/transactions', { transactionXdr: payment(world, user, bank).toXDR() });
  assert.equal(refused.status, 503);
  assert.equal(refused.json.code, 'DISTRIBUTION_ACCOUNT_UNDERFUNDED');
  assert.match(refused.json.detail, /fund/);
  assert.equal(refused.headers.get('retry-after'), '30');
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL'), [['1']]);
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(user);
  const dear = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR(), maxFee: String(9n * PAYMENT + 1n) });
  assert.equal(dear.status, 503);
  assert.equal(dear.json.code, 'DISTRIBUTION_ACCOUNT_UNDERFUNDED');
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200);
  await submit(world, bumped.json.transactionXdr);
  await isLeft(8);
  await fund(100_000_000n);
  await until(async () => (await service.get('/readyz')).status === 200, 10_000, 'ready again');
  await payThrough(world, service, user, bank);
  await assertSettled(assert, world, service, ACCOUNTS);
});
