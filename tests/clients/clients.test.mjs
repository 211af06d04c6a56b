// The example programs, each as a whole process: they pay once, sign nothing but what they sent, and go on after a crash.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { assertSettled, fairway, sleep, startWorld } from '../e2e/harness.mjs';

const ACCOUNTS = 15, XLM = 10_000_000n;
const here = import.meta.dirname, packages = path.resolve(here, '../../build/packages');
const PAYMENTS = {
  JavaScript: [process.execPath, `${here}/javascript/payment.mjs`],
  Python: ['python3', `${here}/python/payment.py`],
  Go: [path.join(path.dirname(fairway), 'tests/clients/payment')],
};
const CALLS = {
  JavaScript: [process.execPath, `${here}/javascript/call.mjs`],
  Python: ['python3', `${here}/python/call.py`],
};
let world, service, user, number = 0;

/** Starts a program in the world's folder. ended resolves to {code, out}. */
function start([program, ...args], { url = service.url } = {}) {
  const env = { ...process.env, PYTHONPATH: packages, PYTHONPYCACHEPREFIX: `${packages}/cache`, FAIRWAY_URL: url,
    FAIRWAY_SEED_FILE: 'client.seed', USER_SEED_FILE: 'user.seed', NETWORK_PASSPHRASE: world.passphrase };
  const child = spawn(program, args, { cwd: world.folder, stdio: ['ignore', 'pipe', 'pipe'], env });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (out += text));
  return { child, ended: new Promise(resolve => child.on('close', (code, signal) => resolve({ code, signal, out }))) };
}
const run = (...args) => start(...args).ended;
const balanceOf = async key => BigInt((await world.network.getAccountEntry(key.publicKey())).balance);

/** A fairway that leases another transaction than the one that was sent: URL/NAME/v1/transactions has the lie of this name. refused: the
    members of a 503 that precedes it. */
async function startLiar(lies) {
  const seen = [];
  const server = http.createServer(async (request, response) => {
    const [, name, route] = /^\/([^/]*)(.*)$/.exec(decodeURIComponent(request.url));
    seen.push([name, route]);
    const { transactionXdr } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    response.setHeader('content-type', 'application/json');
    const refused = lies[name].refused;
    delete lies[name].refused;
    if (refused)
      return response.writeHead(503, { 'retry-after': '2' }).end(JSON.stringify(refused));
    response.end(JSON.stringify(route === '/v1/transactions' ? replaced(transactionXdr, lies[name]) : { status: 'confirmed' }));
  }).listen(0, '127.0.0.1');
  await new Promise(listening => server.on('listening', listening));
  return { urlOf: name => `http://127.0.0.1:${server.address().port}/${encodeURIComponent(name)}`,
    seenOf: name => seen.filter(([it]) => it === name).map(([, route]) => route), close: () => server.close() };
}

function replaced(sentXdr, { source = Keypair.random().publicKey(), operations = one => [one], fee = '100',
  passphrase = world.passphrase, seconds = 60 }) {
  const [payment] = TransactionBuilder.fromXDR(sentXdr, world.passphrase).operations;
  const builder = new TransactionBuilder(new Account(source, '7'),
    { fee, networkPassphrase: passphrase, timebounds: { minTime: 0, maxTime: Math.floor(Date.now() / 1000) + seconds } });
  operations(payment).forEach(({ source, destination, amount }) =>
    builder.addOperation(Operation.payment({ source, destination, amount, asset: Asset.native() })));
  const transaction = builder.build();
  return { hash: Buffer.from(transaction.hash()).toString('hex'), transactionXdr: transaction.toXDR(), networkPassphrase: passphrase };
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  user = await world.newAccount();
  for (const [name, key] of [['client', world.client], ['user', user]])
    fs.writeFileSync(path.join(world.folder, `${name}.seed`), `${key.secret()}\n`, { mode: 0o600 });
});
after(() => world?.stop());

for (const [language, program] of Object.entries(PAYMENTS)) {
  test(`${language}: a payment is confirmed, and paid once when the program runs again with its key`, { timeout: 900_000 }, async () => {
    const shop = await world.newAccount(), before = await balanceOf(shop), key = `order-${++number}`;
    for (let again = 0; again < 2; again++) {
      const { code, out } = await run([...program, key, shop.publicKey(), '25']);
      assert.equal(code, 0, out);
      const end = JSON.parse(out);
      assert.deepEqual([end.status, end.reference ?? key], ['confirmed', key]);
      assert.equal(await balanceOf(shop) - before, 25n * XLM);
    }
  });

  test(`${language}: the user signs nothing but what was sent, and nothing when leases are lost`, { timeout: 900_000 }, async () => {
    const shop = await world.newAccount(), thief = Keypair.random().publicKey(), truth = 'the truth', late = 'an account that comes late';
    const forgotten = 'what may have been leased before';
    const lies = { // by what the program says of it
      'its operations, memo or Soroban data are not those': { operations: one => [{ ...one, destination: thief }] },
      'its operations, memo or Soroban data': { operations: one => [one, { ...one, destination: thief, amount: '9000' }] },
      "its source is the user's own account": { source: user.publicKey() },
      'it is for (the|another) network': { passphrase: 'Public Global Stellar Network ; September 2015' },
      'its max time is': { seconds: 86_400 },
      'its fee is': { fee: '50000000' },
      [truth]: {},
      [late]: { refused: { code: 'CHANNEL_ACCOUNT_UNAVAILABLE' }, seconds: 129 },
      [forgotten]: { refused: { code: 'GRANTS_SUSPENDED', forgottenSince: 160 } },
    };
    const liar = await startLiar(lies);
    await Promise.all(Object.keys(lies).map(async rule => {
      const { code, out } = await run([...program, 'key', shop.publicKey(), '25'], { url: liar.urlOf(rule) });
      if (rule === truth || rule === late)
        assert.deepEqual([code, ...liar.seenOf(rule)],
          [0, ...rule === late ? ['/v1/transactions'] : [], '/v1/transactions', '/v1/submissions?wait=60'], out);
      else if (rule === forgotten) {
        assert.match(out, /GRANTS_SUSPENDED/);
        assert.deepEqual([code === 0, ...liar.seenOf(rule)], [false, '/v1/transactions'], out);
      } else {
        assert.match(out, new RegExp(`must not be signed: ${rule}`));
        assert.deepEqual([code === 0, ...liar.seenOf(rule)], [false, '/v1/transactions'], out);
      }
    }));
    liar.close();
  });
}

test('calls of a contract, of which the user signs an authorization only', { timeout: 900_000 }, async t => {
  await createContract(world.network, world.passphrase, user);
  for (const [language, program] of Object.entries(CALLS))
    await t.test(language, async () => {
      const shop = await world.newAccount(), before = await balanceOf(shop), key = `call-${++number}`;
      for (let again = 0; again < 2; again++) {
        const { code, out } = await run([...program, key, shop.publicKey(), '30000000']);
        assert.equal(code, 0, out);
        assert.equal(JSON.parse(out).status, 'confirmed');
        assert.equal(await balanceOf(shop) - before, 3n * XLM);
      }
    });
});

test('payouts are paid once each, however often the job is killed', { timeout: 900_000 }, async () => {
  const shops = await Promise.all(Array.from({ length: 30 }, () => world.newAccount()));
  const lines = shops.map((shop, i) => `payout-${i} ${shop.publicKey()} ${i + 1}`);
  lines.push(`payout-nobody ${Keypair.random().publicKey()} 5`); // there is no such account
  fs.writeFileSync(path.join(world.folder, 'payouts'), `${lines.join('\n')}\n`);
  const program = [process.execPath, `${here}/javascript/payout.mjs`, 'payouts'];
  const before = await Promise.all(shops.map(balanceOf));
  let kills = 0;
  for (let ms = 600; kills < 8; ms += 150) {
    const { child, ended } = start(program);
    await sleep(ms);
    if (child.exitCode !== null)
      break;
    child.kill('SIGKILL');
    await ended;
    kills++;
  }
  const { code, out } = await run(program);
  assert.equal(code, 1, out); // because one has failed
  const ends = JSON.parse(out);
  assert.deepEqual(ends.map(({ end }) => end), [...shops.map(() => 'confirmed'), 'failed']);
  const paid = await Promise.all(shops.map(async (shop, i) => await balanceOf(shop) - before[i]));
  assert.deepEqual(paid, shops.map((_, i) => BigInt(i + 1) * XLM));
  console.log(`# ${kills} of 8 kills of the job before its end`);
});

test('a payout whose lease fairway has forgotten is left to a person', { timeout: 900_000 }, async () => {
  const shop = await world.newAccount(), before = await balanceOf(shop);
  const program = [process.execPath, `${here}/javascript/payout.mjs`, 'forgotten'], place = path.join(world.folder, 'forgotten');
  fs.writeFileSync(place, `salary-17 ${shop.publicKey()} 100\n`);
  assert.equal((await run(program)).code, 0);
  const state = JSON.parse(fs.readFileSync(`${place}.state`, 'utf8')), { hash } = state.payouts['salary-17'];
  fs.writeFileSync(`${place}.state`, JSON.stringify({ ...state, payouts: { 'salary-17': { number: 1, hash } } })); // as of the moment after the lease
  await world.sql(`SET session_replication_role = replica; DELETE FROM fairway.idempotency_keys WHERE lease_hash = '\\x${hash}';
    DELETE FROM fairway.lease_results WHERE hash = '\\x${hash}'; DELETE FROM fairway.leases WHERE hash = '\\x${hash}'`);
  const { code, out } = await run(program);
  assert.match(out, new RegExp(`GET /v1/transactions/${hash}: TRANSACTION_NOT_FOUND`));
  assert.deepEqual([code, await balanceOf(shop) - before], [1, 100n * XLM]);
});

test('each account is idle again', { timeout: 900_000 }, () => assertSettled(assert, world, service, ACCOUNTS));
