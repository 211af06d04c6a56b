// A user signs an authorization entry and no envelope, as a smart wallet's does: {func, auth} is prepared, leased, fee-bumped and
// confirmed. What is refused is in tests/integration/test_api_prepare.c.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Operation, SorobanDataBuilder, TransactionBuilder, authorizeEntry, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { assertSettled, startWorld, submit, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const ACCOUNTS = 3;
const STRANGER = Keypair.random();
let world, service, user, shop;

const address = key => nativeToScVal(key.publicKey(), { type: 'address' });
const transferOf = (from, amount) => Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'transfer',
  args: [address(from), address(shop), nativeToScVal(amount, { type: 'i128' })] });
const draftOf = (operation, { source = STRANGER, ...options } = {}) =>
  new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase, ...options })
    .addOperation(operation).setTimeout(0).build();
const funcOf = operation => draftOf(operation).operations[0].func.toXDR('base64');
const base64 = entry => entry.toXDR('base64');
const latest = async () => (await world.network.getLatestLedger()).sequence;

/** What a wallet has signed: the entry of a simulation by another account, valid for so many ledgers. */
async function authorized(operation, signer, ledgers = 100) {
  const { result } = await world.network.simulateTransaction(draftOf(operation, { source: shop }));
  return authorizeEntry(result.auth[0], signer, await latest() + ledgers, world.passphrase);
}

const lease = body => service.post('/v1/transactions', body);
const balanceOf = async key => BigInt((await world.network.getAccountEntry(key.publicKey())).balance);

/** Nobody signs the envelope but the channel account. */
async function confirm(leased) {
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: leased.json.transactionXdr });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  await submit(world, bumped.json.transactionXdr);
  const { json } = await service.get(`/v1/transactions/${leased.json.hash}?wait=60`);
  assert.equal(json.status, 'confirmed', JSON.stringify(json));
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, shop);
});
after(() => world?.stop());

test('{func, auth} is prepared, leased and confirmed without a signature of the envelope', async () => {
  const operation = transferOf(user, 30_000_000n), entry = await authorized(operation, user);
  const before = [await balanceOf(user), await balanceOf(shop)];
  const leased = await lease({ func: funcOf(operation), auth: [base64(entry)] });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  assert.equal(inner.source, leased.json.channelAccount);
  assert.equal(inner.operations[0].source, undefined);
  assert.equal(inner.operations[0].func.toXDR('base64'), funcOf(operation));
  assert.deepEqual(inner.operations[0].auth.map(base64), [base64(entry)], 'as the user has signed it');
  const { addressV2, address: v1 } = entry.credentials;
  assert.equal(inner.ledgerBounds.maxLedger, (addressV2 ?? v1).signatureExpirationLedger + 1, 'max ledger is exclusive');
  await confirm(leased);
  assert.deepEqual([await balanceOf(user), await balanceOf(shop)], [before[0] - 30_000_000n, before[1] + 30_000_000n]);
});

test('a transaction without resource data is prepared, and keeps an earlier max ledger of its own', async () => {
  const operation = transferOf(user, 1n), entry = await authorized(operation, user), maxLedger = await latest() + 50;
  const call = Operation.invokeHostFunction({ func: draftOf(operation).operations[0].func, auth: [entry] });
  const leased = await lease({ transactionXdr: draftOf(call, { ledgerbounds: { minLedger: 0, maxLedger } }).toXDR() });
  assert.equal(TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase).ledgerBounds.maxLedger, maxLedger);
  await confirm(leased);
});

test('a call is prepared again, whatever resources its sender has found', async () => {
  const operation = transferOf(user, 2n), entry = await authorized(operation, user);
  const call = Operation.invokeHostFunction({ func: draftOf(operation).operations[0].func, auth: [entry] });
  await confirm(await lease({ transactionXdr: draftOf(call, { sorobanData: new SorobanDataBuilder().build() }).toXDR() }));
});

test('a request can be found by its id at the RPC and in the log, with its client and its transaction', async () => {
  const seen = [];
  const proxy = await proxyRpc(world.localnet.url, (call, forward, headers) => {
    seen.push([call.method, headers['x-request-id']]);
    return forward();
  });
  const replica = await world.serve({ RPC_URL: proxy.url, LOG_LEVEL: 'debug' });
  try {
    const operation = transferOf(user, 3n), entry = await authorized(operation, user);
    const { status, json } = await replica.request('POST', '/v1/transactions', { func: funcOf(operation), auth: [base64(entry)] }, { 'x-request-id': 'wallet-42' });
    assert.equal(status, 201, JSON.stringify(json));
    assert.deepEqual(seen.filter(([method]) => method === 'simulateTransaction'), [['simulateTransaction', 'wallet-42']]);
    const line = ` request_id=wallet-42 client=${world.client.publicKey()} hash=${json.hash} `;
    await until(() => replica.log.includes(line), 5000, 'the request is logged');
    const bumped = await replica.request('POST', '/v1/fee-bumps', { transactionXdr: json.transactionXdr }, { 'x-request-id': 'wallet-43' });
    await submit(world, bumped.json.transactionXdr);
    await until(() => replica.log.includes(line.replace('42', '43')), 5000, 'that of a fee bump, too');
  } finally {
    await replica.kill();
    proxy.close();
  }
});

test('every account is idle at the end', async () => {
  await assertSettled(assert, world, service, ACCOUNTS);
});
