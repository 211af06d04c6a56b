// The calls of README.md and of the client reference: those to submit and to lease work as they are printed, and each answer has the members
// that the page shows, in that order. And openapi.json.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { authorizedTransfer, createContract } from '../dev/native-contract.mjs';
import { fairway, startWorld, submit } from './harness.mjs';

const pages = ['README.md', 'src/api/README.md'].map(name => fs.readFileSync(path.resolve(import.meta.dirname, '../..', name), 'utf8'));
const blocks = [...pages.join('').matchAll(/```\n((?:echo|target)[^]*?curl [^]*?)\n(\{"hash"[^]*?)\n```/g)].map(([, call, answer]) => ({ call, answer }));
const membersOf = text => Object.keys(JSON.parse(text));
let world, service;

before(async () => {
  world = await startWorld({ accounts: 3 });
  service = await world.serve();
});
after(() => world?.stop());

/** Runs a block as a user would, with fairway's own port, program and key. */
async function run({ call }) {
  const seed = path.join(world.folder, 'client.seed');
  fs.writeFileSync(seed, `${world.client.secret()}\n`, { mode: 0o600 });
  const own = call.replace('localhost:8001', new URL(service.url).host).replace('build/release/fairway', fairway).replace('run/client.seed', seed);
  const { stdout } = await promisify(execFile)('sh', ['-euc', own], { cwd: world.folder });
  return JSON.parse(stdout);
}

test('README: one call works as it is printed, with an authorization of today', { timeout: 600_000 }, async () => {
  assert.equal(blocks.length, 4);
  const [{ call, answer }] = blocks, [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, shop);
  const { func, auth } = await authorizedTransfer(world.network, world.passphrase, user, shop, 1n);
  const json = await run({ call: call.replace(/"func": "[^"]*", "auth": \["[^"]*"\]/, `"func": "${func}", "auth": ["${auth}"]`) });
  assert.deepEqual(Object.keys(json), membersOf(answer));
  assert.deepEqual([json.status, json.first], ['confirmed', true]);
});

test('README: a lease works as it is printed', { timeout: 600_000 }, async () => {
  const json = await run(blocks[1]);
  assert.deepEqual(Object.keys(json), membersOf(blocks[1].answer));
  assert.equal(json.maxTimeSetBy, JSON.parse(blocks[1].answer).maxTimeSetBy);
});

test('README: a fee bump and the status have the members that are shown', { timeout: 600_000 }, async () => {
  const [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  const draft = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(Operation.payment({ source: user.publicKey(), destination: shop.publicKey(), asset: Asset.native(), amount: '1' }))
    .setTimeout(0).build();
  const leased = await service.post('/v1/transactions', { transactionXdr: draft.toXDR() });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(user);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  assert.deepEqual(Object.keys(bumped.json), membersOf(blocks[2].answer));
  await submit(world, bumped.json.transactionXdr);
  const { json } = await service.get(`/v1/transactions/${leased.json.hash}?wait=60`);
  assert.equal(json.status, 'confirmed');
  assert.deepEqual(Object.keys(json), membersOf(blocks[3].answer));
});

test('GET /openapi.json needs no token, and is the document of the sources', { timeout: 600_000 }, async () => {
  const answer = await fetch(`${service.url}/openapi.json`);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(await answer.text(), fs.readFileSync(path.resolve(import.meta.dirname, '../../src/api/openapi.json'), 'utf8'));
});
