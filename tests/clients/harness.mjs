// What the tests of clients share: a world with the native asset's contract, a user and a shop; and a Channels proxy in front of a fairway.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { Account, Asset, Keypair, Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { createEd25519Signer } from '@x402/stellar';
import { ExactStellarScheme as Payer } from '@x402/stellar/exact/client';
import { authorizedTransfer, createContract } from '../dev/native-contract.mjs';
import { startWorld, until } from '../e2e/harness.mjs';

export const API_KEY = 'a-static-header-of-some-length';

/** {world, services, user, shop, transfer, draftOf, balanceOf, channels, secureUrl, stop}. options: startWorld's. */
export async function startClients({ replicas = 1, ...options }) {
  const world = await startWorld(options), proxies = [];
  let secure;
  const services = await Promise.all(Array.from({ length: replicas }, () => world.serve()));
  const seedFile = path.join(world.folder, 'client.seed');
  fs.writeFileSync(seedFile, world.client.secret(), { mode: 0o600 });
  const [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, user);
  return { world, services, user, shop,
    transfer: (stroops, until) => authorizedTransfer(world.network, world.passphrase, user, shop, stroops, until),
    /** The call as a transaction that nobody has signed. */
    draftOf: ({ func, auth }) => new TransactionBuilder(new Account(Keypair.random().publicKey(), '0'),
      { fee: '100', networkPassphrase: world.passphrase })
      .addOperation(Operation.invokeHostFunction({ func: xdr.HostFunction.fromXDR(func, 'base64'),
        auth: auth.map(entry => xdr.SorobanAuthorizationEntry.fromXDR(entry, 'base64')) })).setTimeout(0).build(),
    balanceOf: async key => BigInt((await world.network.getAccountEntry(key.publicKey())).balance),
    /** The address of a new proxy of this service. */
    async channels(service, env = {}) {
      const proxy = spawn(process.execPath, [path.join(import.meta.dirname, '../../docker/channels/channels.mjs')], { stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, PORT: '0', FAIRWAY_URL: service.url, FAIRWAY_SEED_FILE: seedFile,
          API_KEYS: API_KEY, ...env } });
      proxies.push(proxy);
      let out = '';
      proxy.stdout.setEncoding('utf8').on('data', text => (out += text));
      return until(() => /^listening on (\S+)/.exec(out)?.[1], 20_000, 'the proxy listens');
    },
    /** An address of the network's RPC that begins with https, which clients insist on. From then on this process believes any certificate.
     *  codeOf(key) may have a contract's code, which the local network does not keep. */
    async secureUrl(codeOf = () => undefined) {
      const [key, cert] = ['key.pem', 'cert.pem'].map(name => path.join(world.folder, name));
      execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localnet',
        '-keyout', key, '-out', cert], { stdio: 'ignore' });
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      secure = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, async (request, response) => {
        const body = Buffer.concat(await request.toArray()).toString(), { id, params } = JSON.parse(body), code = codeOf(params?.keys?.[0]);
        const headers = { 'content-type': 'application/json' };
        response.writeHead(200, headers).end(code ? JSON.stringify({ jsonrpc: '2.0', id, result: { latestLedger: 1, entries: [code] } })
          : await (await fetch(world.localnet.url, { method: 'POST', headers, body })).text());
      }).listen(0, '127.0.0.1');
      await once(secure, 'listening');
      return `https://127.0.0.1:${secure.address().port}`;
    },
    async stop() {
      for (const proxy of proxies)
        proxy.kill();
      secure?.close().closeAllConnections();
      await world.stop();
    } };
}

/** startClients on a network that the x402 programs know, with rpcUrl; pay(user, stroops) is what @x402/stellar makes a user sign for the shop.
 *  codeOf: secureUrl's. */
export async function startPayments({ codeOf, ...options }) {
  // @x402/stellar asks the public test network how long ledgers take: nobody answers.
  Object.assign(process.env, { https_proxy: 'http://127.0.0.1:9', no_proxy: '127.0.0.1', FAIRWAY_TRUSTED: 'yes' });
  const clients = await startClients({ passphrase: 'Test SDF Network ; September 2015', ...options }), url = await clients.secureUrl(codeOf);
  return { ...clients, rpcUrl: url, async pay(user, stroops) {
    const accepted = { scheme: 'exact', network: 'stellar:testnet', asset: Asset.native().contractId(clients.world.passphrase), amount: String(stroops),
      payTo: clients.shop.publicKey(), maxTimeoutSeconds: 120, extra: { areFeesSponsored: true } };
    const payload = await new Payer(createEd25519Signer(user.secret(), accepted.network), { url }).createPaymentPayload(2, accepted);
    return { paymentPayload: { ...payload, accepted }, paymentRequirements: accepted };
  } };
}
