// What a new user's wallet tries first, each leased, signed by the user, fee-bumped and confirmed: a trust line, a payment of an issued
// asset, and a call of the native asset's contract.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Account, Asset, Operation, TransactionBuilder, authorizeEntry, nativeToScVal, rpc } from '@stellar/stellar-sdk';
import { assertSettled, startWorld, submit } from './harness.mjs';

const ACCOUNTS = 3;
let world, service, issuer, user, shop, usd;

/** A transaction as a wallet backend drafts it: each operation names its source. */
const draftOf = (...operations) => {
  const builder = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase });
  for (const operation of operations)
    builder.addOperation(operation);
  return builder.setTimeout(0).build();
};

/** Leases, signs, fee-bumps, submits and waits for the ledger; returns the network's transaction. */
async function confirm(draft, signer) {
  const leased = await service.post('/v1/transactions', { transactionXdr: draft.toXDR() });
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  assert.equal(inner.source, leased.json.channelAccount);
  assert.deepEqual(inner.operations, draft.operations, 'the operations are left as they are');
  inner.sign(signer);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  await submit(world, bumped.json.transactionXdr);
  const { json } = await service.get(`/v1/transactions/${leased.json.hash}?wait=60`);
  assert.deepEqual([json.status, json.resultCode], ['confirmed', 'txSUCCESS'], JSON.stringify(json));
  const found = await world.network.getTransaction(bumped.json.hash);
  assert.equal(found.status, 'SUCCESS');
  assert.equal(found.ledger, json.ledger);
  assert.equal(json.returnValue, found.returnValue?.toXdr('base64'));
  return found;
}

/** Sends a transaction of somebody who does not use fairway. */
async function directly(source, ...operations) {
  const builder = new TransactionBuilder(await world.network.getAccount(source.publicKey()),
    { fee: '1000', networkPassphrase: world.passphrase });
  for (const operation of operations)
    builder.addOperation(operation);
  let transaction = builder.setTimeout(0).build();
  if (operations.some(({ body }) => body.type === 'invokeHostFunction'))
    transaction = await world.network.prepareTransaction(transaction);
  transaction.sign(source);
  await submit(world, transaction.toXDR());
  const found = await world.network.pollTransaction(Buffer.from(transaction.hash()).toString('hex'),
    { attempts: 100, sleepStrategy: () => 200 });
  assert.equal(found.status, 'SUCCESS');
}

const balanceOf = async key => BigInt((await world.network.getAccountEntry(key.publicKey())).balance);
const held = async key => (await world.network.getTrustline(key.publicKey(), usd)).balance;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  [issuer, user, shop] = await Promise.all([world.newAccount(), world.newAccount(), world.newAccount()]);
  usd = new Asset('USD', issuer.publicKey());
  await directly(shop, Operation.changeTrust({ asset: usd }));
});
after(() => world?.stop());

test('changeTrust: the user trusts an issuer', async () => {
  await confirm(draftOf(Operation.changeTrust({ asset: usd, source: user.publicKey() })), user);
  assert.equal(await held(user), 0n);
});

test('a payment of an issued asset, from the issuer and then from the user', async () => {
  const pay = (from, to, amount) =>
    Operation.payment({ source: from.publicKey(), destination: to.publicKey(), asset: usd, amount });
  await confirm(draftOf(pay(issuer, user, '100')), issuer);
  await confirm(draftOf(pay(user, shop, '25')), user);
  assert.deepEqual([await held(user), await held(shop)], [750_000_000n, 250_000_000n]);
});

test('a transfer by the contract of the native asset, authorized by the source of the operation', async () => {
  await directly(shop, Operation.createStellarAssetContract({ asset: Asset.native() }));
  const args = [user, shop].map(key => nativeToScVal(key.publicKey(), { type: 'address' }));
  const transfer = source => Operation.invokeContractFunction({
    source, contract: Asset.native().contractId(world.passphrase), function: 'transfer',
    args: [...args, nativeToScVal(30_000_000n, { type: 'i128' })],
  });
  let before = await balanceOf(shop);
  const draft = draftOf(transfer(user.publicKey()));
  const found = await confirm(await world.network.prepareTransaction(draft), user);
  assert.equal(await balanceOf(shop) - before, 30_000_000n);
  assert.equal(found.events.contractEventsXdr[0].length, 1);

  // The same with the user's signature of an authorization entry: the operation's source is another account.
  before = await balanceOf(shop);
  const simulation = await world.network.simulateTransaction(draftOf(transfer(issuer.publicKey())));
  const { sequence } = await world.network.getLatestLedger();
  const auth = [await authorizeEntry(simulation.result.auth[0], user, sequence + 100, world.passphrase)];
  const signed = draftOf(Operation.invokeHostFunction({ func: draft.operations[0].func, auth, source: issuer.publicKey() }));
  await confirm(rpc.assembleTransaction(signed, await world.network.simulateTransaction(signed)).build(), issuer);
  assert.equal(await balanceOf(shop) - before, 30_000_000n);
});

test('a failure in a ledger is reported by its code, and every account is idle at the end', async () => {
  const tooMuch = Operation.payment({ source: user.publicKey(), destination: shop.publicKey(), asset: usd, amount: '1000' });
  const leased = await service.post('/v1/transactions', { transactionXdr: draftOf(tooMuch).toXDR() });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(user);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  await submit(world, bumped.json.transactionXdr);
  const { json } = await service.get(`/v1/transactions/${leased.json.hash}?wait=60`);
  assert.deepEqual([json.status, json.resultCode], ['failed', 'txFAILED'], JSON.stringify(json));
  await assertSettled(assert, world, service, ACCOUNTS);
});
