// Programs that others wrote, as the npm registry has them, each to a confirmed transaction. README.md has the table of what works.
import './bundled.mjs';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ChannelsClient } from '@openzeppelin/relayer-plugin-channels';
import { handler } from '@openzeppelin/relayer-plugin-x402-facilitator';
import { Asset } from '@stellar/stellar-sdk';
import { createEd25519Signer } from '@x402/stellar';
import { ExactStellarScheme as Payer } from '@x402/stellar/exact/client';
import { assertSettled } from '../e2e/harness.mjs';
import { API_KEY, startClients } from './harness.mjs';

const { PasskeyServer } = await import('passkey-kit/src/server.ts'); // after bundled.mjs
const ACCOUNTS = 5, PASSPHRASE = 'Test SDF Network ; September 2015'; // the x402 programs know two networks
// @x402/stellar asks the public test network how long ledgers take: nobody answers.
Object.assign(process.env, { https_proxy: 'http://127.0.0.1:9', no_proxy: '127.0.0.1' });
process.env.FAIRWAY_TRUSTED = 'yes'; // the local network's validator is that of the test network
let clients, proxy, rpcUrl;

before(async () => {
  clients = await startClients({ accounts: ACCOUNTS, passphrase: PASSPHRASE });
  rpcUrl = await clients.secureUrl();
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

/** What a shop asks for. */
const requirements = stroops => ({ scheme: 'exact', network: 'stellar:testnet', asset: Asset.native().contractId(PASSPHRASE), amount: String(stroops),
  payTo: clients.shop.publicKey(), maxTimeoutSeconds: 120, extra: { areFeesSponsored: true } });

/** What @x402/stellar makes a user sign for it. */
async function pay(user, stroops) {
  const accepted = requirements(stroops);
  const payload = await new Payer(createEd25519Signer(user.secret(), accepted.network), { url: rpcUrl }).createPaymentPayload(2, accepted);
  return { paymentPayload: { ...payload, accepted }, paymentRequirements: accepted };
}

/** The facilitator of OpenZeppelin settles it. */
const settle = params => handler({ route: '/settle', params,
  config: { networks: [{ network: 'stellar:testnet', type: 'stellar', relayer_id: 'x', assets: [params.paymentRequirements.asset], channel_service_api_url: proxy, channel_service_api_key: API_KEY }] },
  api: { useRelayer: () => ({ getRelayer: async () => ({ network: 'testnet', address: clients.world.distribution.publicKey() }), rpc: async body => (await fetch(clients.world.localnet.url,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() }) } });

test('the x402 facilitator of OpenZeppelin settles once what it is asked to settle three times, and of two payments what the user has', { timeout: 300_000 }, async () => {
  const before = await clients.balanceOf(clients.shop), payment = await pay(clients.user, 16n);
  const thrice = await Promise.all([payment, payment, payment].map(settle));
  assert.deepEqual(thrice.map(({ success }) => success).sort(), [false, false, true], JSON.stringify(thrice));
  assert.equal(await clients.balanceOf(clients.shop) - before, 16n);
  const user = await clients.world.newAccount(), both = await Promise.all([60_000_000_000n, 60_000_000_001n].map(stroops => pay(user, stroops)));
  const [one, other] = await Promise.all(both.map(settle));
  assert.notEqual(one.success, other.success, JSON.stringify([one, other]));
});

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, clients.world, clients.services[0], ACCOUNTS));
