// Programs that others wrote, as the npm registry has them, each to a confirmed transaction. README.md has the table of what works.
import './bundled.mjs';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ChannelsClient } from '@openzeppelin/relayer-plugin-channels';
import { assertSettled } from '../e2e/harness.mjs';
import { API_KEY, startClients } from './harness.mjs';

const { PasskeyServer } = await import('passkey-kit/src/server.ts'); // after bundled.mjs
const ACCOUNTS = 5, PASSPHRASE = 'Test SDF Network ; September 2015'; // the x402 programs know two networks
process.env.FAIRWAY_TRUSTED = 'yes'; // the local network's validator is that of the test network
let clients, proxy;

before(async () => {
  clients = await startClients({ accounts: ACCOUNTS, passphrase: PASSPHRASE });
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

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, clients.world, clients.services[0], ACCOUNTS));
