// Programs that others wrote, as the npm registry has them, each to a confirmed transaction. README.md has the table of what works.
import './bundled.mjs';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';
import { ChannelsClient } from '@openzeppelin/relayer-plugin-channels';
import { handler } from '@openzeppelin/relayer-plugin-x402-facilitator';
import { Address, Asset, Keypair, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { assertSettled } from '../e2e/harness.mjs';
import { ACCOUNT_CODE } from '../localnet/contracts/account.mjs';
import { API_KEY, startPayments } from './harness.mjs';

const { RelayerClient, SmartAccountKit } = await import('smart-account-kit'); // all after bundled.mjs
const { Client: SmartAccountClient } = await import('smart-account-kit-bindings');
const { PasskeyClient, PasskeyKit, PasskeyServer } = await import('passkey-kit');
const ACCOUNTS = 5;
let clients, proxy, rpcUrl, codeEntry, passphrase;

before(async () => {
  clients = await startPayments({ accounts: ACCOUNTS, codeOf: key => key === CODE_KEY ? codeEntry : undefined });
  ({ rpcUrl, world: { passphrase: passphrase } } = clients);
  proxy = await clients.channels(clients.services[0]);
});
after(() => clients?.stop());

/** Asserts that send() of a call moves these stroops, and that its answer names a transaction of a ledger. */
async function confirms(stroops, send) {
  const before = await clients.balanceOf(clients.shop);
  const answer = await send(await clients.transfer(stroops));
  assert.equal(answer.status, 'confirmed', JSON.stringify(answer));
  assert.equal((await clients.world.network.getTransaction(answer.hash)).status, 'SUCCESS');
  assert.equal(await clients.balanceOf(clients.shop) - before, stroops);
}

for (const [mode, options] of [['directly', {}], ['through a relayer', { pluginId: 'channels' }]])
  test(`ChannelsClient ${mode}`, { timeout: 300_000 }, async () => {
    const client = new ChannelsClient({ baseUrl: proxy, apiKey: API_KEY, ...options });
    await confirms(1n, call => client.submitSorobanTransaction(call));
    await confirms(2n, call => client.submitTransaction({ xdr: clients.draftOf(call).toXDR() }));
    const call = await clients.transfer(4n);
    let answer = await client.submitSorobanTransaction({ ...call, skipWait: true });
    while (answer.status === 'pending')
      answer = await client.getTransaction(answer);
    assert.equal(answer.status, 'confirmed');
    await assert.rejects(client.submitSorobanTransaction({ func: call.func, auth: ['AAAA'] }), { name: 'PluginExecutionError' });
  });

test('passkey-kit sends what a wallet has signed', { timeout: 300_000 }, async () => {
  const server = new PasskeyServer({ relayerUrl: proxy, relayerApiKey: API_KEY });
  await confirms(8n, call => server.send(clients.draftOf(call).toXDR()));
});

test('smart-account-kit sends the same, which knows no key', { timeout: 300_000 }, async () => {
  const client = new RelayerClient(await clients.channels(clients.services[0], { API_KEYS: '', KEYLESS_PER_MINUTE: '60' }));
  await confirms(32n, ({ func, auth }) => client.send(func, auth));
});

const CODE_KEY = xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: ACCOUNT_CODE })).toXdr('base64');

/** Lets the RPC have code with the interface of these bindings, which the kits read before they deploy. */
function keepCode(bindings) {
  const part = (...parts) => [Buffer.from([parts[0].length & 127 | 128, parts[0].length >> 7 & 127 | 128, parts[0].length >> 14]), ...parts];
  const { spec } = new bindings({ contractId: Asset.native().contractId(passphrase), rpcUrl, networkPassphrase: passphrase });
  const section = Buffer.concat([...part(Buffer.from('contractspecv0')), ...spec.entries.map(entry => entry.toXDR())]);
  const code = Buffer.concat([Buffer.from('0061736d0100000000', 'hex'), ...part(section)]);
  const entry = xdr.LedgerEntryData.contractCode(new xdr.ContractCodeEntry({ ext: xdr.ContractCodeEntryExt.v0(), hash: ACCOUNT_CODE, code }));
  codeEntry = { key: CODE_KEY, lastModifiedLedgerSeq: 1, xdr: entry.toXdr('base64') };
}

const { publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
const passkey = { startRegistration: async () => ({ id: crypto.randomBytes(16).toString('base64url'),
  response: { publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64url') } }) };
const DEPLOYMENTS = { // {deployer, contractId, signed} of each kit
  async 'passkey-kit'(options) {
    const kit = new PasskeyKit({ ...options, walletWasmHash: ACCOUNT_CODE.toString('hex'), WebAuthn: passkey });
    keepCode(PasskeyClient);
    await clients.world.fund(kit.walletPublicKey);
    const { contractId, signedTx } = await kit.createWallet('app', 'user');
    return { deployer: kit.walletKeypair, contractId, signed: signedTx.toXDR() };
  },
  async 'smart-account-kit'(options) {
    const kit = new SmartAccountKit({ ...options, accountWasmHash: ACCOUNT_CODE.toString('hex'), indexerUrl: false, webAuthn: passkey,
      webauthnVerifierAddress: Asset.native().contractId(passphrase) });
    keepCode(SmartAccountClient);
    await clients.world.fund(kit.deployerPublicKey);
    const { contractId, signedTransaction } = await kit.createWallet('app', 'user');
    return { deployer: kit.deployerKeypair, contractId, signed: signedTransaction };
  },
};
for (const [name, make] of Object.entries(DEPLOYMENTS))
  test(`a wallet of ${name} is deployed step by step, with the deployer as the operation's source`, { timeout: 300_000 }, async () => {
    const { deployer, contractId, signed } = await make({ rpcUrl, networkPassphrase: passphrase }), [service] = clients.services, { network } = clients.world;
    const sequence = (await network.getAccount(deployer.publicKey())).sequenceNumber();
    const envelope = xdr.TransactionEnvelope.fromXdr(signed, 'base64');
    envelope.v1.tx.operations[0].sourceAccount = Keypair.fromPublicKey(deployer.publicKey()).xdrMuxedAccount();
    const leased = await service.post('/v1/transactions', { transactionXdr: envelope.toXdr('base64') });
    assert.equal(leased.status, 201, JSON.stringify(leased.json));
    const lease = TransactionBuilder.fromXDR(leased.json.transactionXdr, passphrase);
    lease.sign(Keypair.fromSecret(deployer.secret()));
    const { json } = await service.post('/v1/submissions?wait=60', { transactionXdr: lease.toXDR() });
    assert.equal(json.status, 'confirmed', JSON.stringify(json));
    assert.equal(Address.fromScVal(xdr.ScVal.fromXdr(json.returnValue, 'base64')).toString(), contractId);
    assert.equal((await network.getAccount(deployer.publicKey())).sequenceNumber(), sequence);
  });

/** The facilitator of OpenZeppelin settles it. */
const settle = params => handler({ route: '/settle', params,
  config: { networks: [{ network: 'stellar:testnet', type: 'stellar', relayer_id: 'x', assets: [params.paymentRequirements.asset], channel_service_api_url: proxy, channel_service_api_key: API_KEY }] },
  api: { useRelayer: () => ({ getRelayer: async () => ({ network: 'testnet', address: clients.world.distribution.publicKey() }), rpc: async body => (await fetch(clients.world.localnet.url,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() }) } });

test('the x402 facilitator of OpenZeppelin settles once what it is asked to settle three times, and of two payments what the user has', { timeout: 300_000 }, async () => {
  const before = await clients.balanceOf(clients.shop), payment = await clients.pay(clients.user, 16n);
  const thrice = await Promise.all([payment, payment, payment].map(settle));
  assert.deepEqual(thrice.map(({ success }) => success).sort(), [false, false, true], JSON.stringify(thrice));
  assert.equal(await clients.balanceOf(clients.shop) - before, 16n);
  const user = await clients.world.newAccount(), both = await Promise.all([60_000_000_000n, 60_000_000_001n].map(stroops => clients.pay(user, stroops)));
  const [one, other] = await Promise.all(both.map(settle));
  assert.notEqual(one.success, other.success, JSON.stringify([one, other]));
});

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, clients.world, clients.services[0], ACCOUNTS));
