// demo.mjs signs only what it has sent. Its fairway here is a man in the middle, who answers with a transaction of his own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Memo, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet/localnet.mjs';
import { slower } from '../slowness.mjs';
import { transactionToSign } from './check.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-demo-'));
const channel = Keypair.random(), thief = Keypair.random();
let localnet, server, replace, asked, keys;

before(async () => {
  localnet = await startLocalnet({ ledgerMs: 200 });
  server = http.createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString() || 'null');
    asked.push(request.url);
    response.setHeader('content-type', 'application/json');
    if (request.url === '/v1/pool')
      response.end('{"accounts": {"idle": 1, "leased": 0}}');
    else if (request.url === '/v1/transactions' && keys.push(request.headers['idempotency-key']) % 2 === 1)
      response.writeHead(503, { 'retry-after': '1' }).end('{"code": "OVERLOADED"}');
    else if (request.url === '/v1/transactions')
      response.end(JSON.stringify(answer(body.transactionXdr)));
    else
      response.writeHead(500).end('{"code": "INTERNAL"}');
  }).listen(0, '127.0.0.1');
  await new Promise(listening => server.on('listening', listening));
  fs.writeFileSync(path.join(folder, 'demo.json'), JSON.stringify({ api: `http://127.0.0.1:${server.address().port}`, rpc: localnet.url,
    passphrase: localnet.network.passphrase }));
});
after(async () => {
  server.close();
  await localnet.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** What fairway answers, with something replaced. */
function answer(sentXdr) {
  const sent = TransactionBuilder.fromXDR(sentXdr, localnet.network.passphrase);
  const lease = { source: channel.publicKey(), fee: 100, passphrase: localnet.network.passphrase, memo: Memo.none(),
    maxTime: Number(sent.timeBounds.maxTime), operations: sent.operations, ...replace(sent.operations[0]) };
  const builder = new TransactionBuilder(new Account(lease.source, '7'), { fee: String(lease.fee), networkPassphrase: lease.passphrase,
    memo: lease.memo, timebounds: { minTime: 0, maxTime: lease.maxTime } });
  lease.operations.forEach(({ source, destination, amount }) =>
    builder.addOperation(Operation.payment({ source, destination, amount, asset: Asset.native() })));
  const transaction = builder.build();
  transaction.sign(channel);
  const returned = lease.bumped ? TransactionBuilder.buildFeeBumpTransaction(thief, '1000', transaction, lease.passphrase) : transaction;
  return { hash: transaction.hash().toString('hex'), transactionXdr: returned.toXDR(), channelAccount: channel.publicKey(), sequence: '8',
    maxTime: String(lease.maxTime), networkPassphrase: lease.passphrase };
}

/** Runs the demo; returns what it printed, and whether it has sent the signed transaction. */
async function demo(replacement) {
  replace = replacement;
  asked = [];
  keys = [];
  const text = await new Promise(resolve => execFile(process.execPath, [path.join(import.meta.dirname, 'demo.mjs')],
    { env: { ...process.env, RUN_DIR: folder }, timeout: slower(60_000) }, (_, stdout, stderr) => resolve(stdout + stderr)));
  return { text, signed: asked.includes('/v1/fee-bumps') };
}

const REPLACED = {
  'a payment of the user\'s whole balance to somebody else': ({ source }) =>
    ({ operations: [{ source, destination: thief.publicKey(), amount: '9900' }] }),
  'a second payment': operation => ({ operations: [operation, { ...operation, destination: thief.publicKey() }] }),
  'a transaction of the user\'s own account': ({ source }) => ({ source }),
  'another memo': () => ({ memo: Memo.text('17') }),
  'a later max time': () => ({ maxTime: Math.floor(Date.now() / 1000) + 86_400 }),
  'no max time': () => ({ maxTime: 0 }),
  'a high fee': () => ({ fee: 99_000_000 }),
  'a fee bump': () => ({ bumped: true }),
  'a transaction of another network': () => ({ passphrase: 'Public Global Stellar Network ; September 2015' }),
};

test('demo.mjs repeats a lease with the same key after a 503, and signs the transaction that it has sent', { timeout: 600_000 }, async () => {
  const { text, signed } = await demo(() => ({}));
  assert.ok(signed, text);
  assert.equal(keys.length, 2);
  assert.ok(keys[0] && keys[0] === keys[1]);
});

test('demo.mjs says in a line why it fails', { timeout: 600_000 }, async () => {
  const said = async change => {
    const place = path.join(folder, 'demo.json'), whole = fs.readFileSync(place, 'utf8');
    fs.writeFileSync(place, JSON.stringify({ ...JSON.parse(whole), ...change }));
    const { text } = await demo(() => ({}));
    fs.writeFileSync(place, whole);
    return text.replace(/^[^]*?(?=make demo|\n(?:node|file):|Error)/, '');
  };
  assert.equal(await said({}), 'make demo: POST /v1/fee-bumps: 500 INTERNAL: undefined\n');
  assert.match(await said({ api: 'http://127.0.0.1:18' }), /^make demo: fetch failed: .*127\.0\.0\.1:18\n$/);
});

test('demo.mjs does not sign what a man in the middle has put in its place', { timeout: 600_000 }, async () => {
  const { text, signed } = await demo(Object.values(REPLACED)[0]);
  assert.match(text, /the transaction that fairway returned must not be signed: its operations/);
  assert.ok(!signed);
});

for (const [what, replacement] of Object.entries(REPLACED))
  test(`a client does not sign ${what}`, () => {
    const { passphrase } = localnet.network, user = Keypair.random().publicKey();
    const sent = new TransactionBuilder(new Account(user, '0'), { fee: '100', networkPassphrase: passphrase })
      .addOperation(Operation.payment({ source: user, destination: channel.publicKey(), asset: Asset.native(), amount: '25' })).setTimeout(120).build();
    const expected = { passphrase, own: [user], latestMaxTime: Number(sent.timeBounds.maxTime), highestFee: 10_000 };
    replace = () => ({});
    assert.equal(transactionToSign(sent, answer(sent.toXDR()), expected).source, channel.publicKey());
    replace = replacement;
    assert.throws(() => transactionToSign(sent, answer(sent.toXDR()), expected), /must not be signed: /);
  });
