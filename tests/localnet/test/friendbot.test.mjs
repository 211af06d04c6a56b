// Friendbot creates accounts with real transactions of the root account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { Client, keypair, payment, xlm } from './harness.mjs';

/** Waits until this many requests have arrived. */
const arrived = async (client, count) => {
  while (client.net.friendbot.waiting < count) await new Promise((resolve) => setTimeout(resolve, 5));
};

const ask = async (client, addr, method = 'GET') => {
  const response = await fetch(`${client.net.url}/friendbot?addr=${addr}`, { method, signal: AbortSignal.timeout(60_000) });
  return { status: response.status, body: await response.json() };
};

test('GET and POST create an account with 10,000 XLM by a transaction that can be queried', async (t) => {
  const client = await Client.start(t);
  for (const [method, key] of [['GET', keypair('one')], ['POST', keypair('two')]]) {
    const asked = ask(client, key.publicKey(), method);
    await arrived(client, 1);
    await client.close();
    const { status, body } = await asked;
    assert.equal(status, 200);
    assert.equal(client.balance(key), xlm(10_000));
    assert.equal((await client.result(body.hash)).status, 'SUCCESS');
  }
});

test('the SDK can fund an account, twice', async (t) => {
  const client = await Client.start(t, { ledgerMs: 50, clock: Date.now });
  const key = Keypair.random();
  const account = await client.server.requestAirdrop(key.publicKey());
  assert.equal(account.sequenceNumber(), String(client.account(key).sequence));
  assert.equal((await client.server.requestAirdrop(key.publicKey())).sequenceNumber(), account.sequenceNumber());
});

test('many requests share a ledger; an account requested twice is created once', async (t) => {
  const client = await Client.start(t);
  const keys = Array.from({ length: 120 }, (_, index) => keypair(`many ${index}`));
  const asked = [...keys, keys[0]].map((key) => ask(client, key.publicKey()));
  await arrived(client, keys.length + 1);
  await client.close();
  await client.close();
  for (const { status } of await Promise.all(asked)) assert.ok(status === 200 || status === 400);
  for (const key of keys) assert.equal(client.balance(key), xlm(10_000));
});

test('a request waits while the root account is used elsewhere, and succeeds although another account is created meanwhile', async (t) => {
  const client = await Client.start(t);
  await client.send(client.build(client.root, [payment(client.root)]));
  const [one, two] = [keypair('one'), keypair('two')];
  const asked = ask(client, one.publicKey());
  await arrived(client, 1);
  await client.close();
  assert.equal(client.account(one), null);
  await client.close();
  assert.equal((await asked).status, 200);

  // Requested before it exists, created by another account before friendbot's turn.
  const [alice] = await client.create(['alice']);
  assert.ok(alice);
  const late = [ask(client, two.publicKey()), ask(client, keypair('three').publicKey())];
  await arrived(client, 2);
  await client.create(['two']);
  for (let ledger = 0; ledger < 2; ledger++) await client.close();
  const answers = await Promise.all(late);
  assert.deepEqual(answers.map(({ status }) => status), [400, 200]);
});

test('refusals: no address, a bad one, one that exists, another method', async (t) => {
  const client = await Client.start(t);
  assert.equal((await ask(client, '')).status, 400);
  assert.equal((await ask(client, 'GABC')).status, 400);
  const existing = await ask(client, client.root.publicKey());
  assert.equal(existing.status, 400);
  assert.match(existing.body.detail, /createAccountAlreadyExist/);
  assert.equal((await fetch(`${client.net.url}/friendbot`, { method: 'DELETE' })).status, 405);
});
