// The data directory: what is served is stored, and a restart continues where it stopped.

import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { Chain } from '../chain.mjs';
import { Verifier } from '../ed25519.mjs';
import { entryToWire } from '../entries.mjs';
import { Network } from '../network.mjs';
import { MemoryStore, UnusableData } from '../store.mjs';
import { encode } from '../xdr.mjs';
import { Client, keypair, payment, xlm } from './harness.mjs';

const directory = (t) => {
  const path = mkdtempSync(join(tmpdir(), 'localnet-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

const open = (t, data, options = {}) => Client.start(t, { data, ...options });

const stateOf = (client) =>
  [...client.net.chain.state.values()].map((entry) => encode('LedgerEntry', entryToWire(entry)).toString('hex')).sort();

const ledgerFile = (path) => join(path, readdirSync(path)[0]);

/** Accounts, a trust line, a fee bump, a failure and a merge. */
const fill = async (client) => {
  const [alice, bob, gone] = await client.create(['alice', 'bob', 'gone']);
  await client.include(client.build(gone, [Operation.accountMerge({ destination: bob.publicKey() })]));
  await client.include(client.build(alice, [payment(bob, '100000')]));
  await client.include(
    client.build(alice, [Operation.setOptions({ signer: { ed25519PublicKey: bob.publicKey(), weight: 1 }, homeDomain: 'example.org' })]),
  );
  const asset = new Asset('USD', bob.publicKey());
  await client.include(client.build(alice, [Operation.changeTrust({ asset })]));
  await client.include(client.build(bob, [Operation.payment({ asset, amount: '10', destination: alice.publicKey() })]));
  const bump = client.bump(bob, client.build(alice, [payment(bob)]), 200);
  await client.include(bump);
  return { alice, bob, bump };
};

test('a ledger is served only once it is stored, and after a failed ledger no other is closed', async (t) => {
  let release;
  let fail;
  class SlowStore extends MemoryStore {
    append(meta) {
      return release === undefined
        ? super.append(meta)
        : new Promise((resolve, reject) => ([release, fail] = [() => resolve(meta), reject]));
    }
  }
  const network = new Network();
  const chain = await new Chain({
    network,
    verifier: new Verifier(),
    store: new SlowStore(),
    clock: Date.now,
    targetMs: 0,
    retention: 10,
  }).open();
  t.after(() => chain.settled());
  release = null;
  const appends = async () => {
    while (release === null) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const closing = chain.closeLedger();
  await appends();
  assert.deepEqual([chain.history.latest, chain.head.header.ledgerSeq], [2, 2]);
  release();
  release = null;
  await closing;
  assert.deepEqual([chain.history.latest, chain.head.header.ledgerSeq], [3, 3]);

  const failing = chain.closeLedger();
  await appends();
  fail(new Error('no space left'));
  await assert.rejects(failing, /no space/);
  await assert.rejects(chain.closeLedger(), /no space/);
  assert.equal(chain.history.latest, 3);
});

test('a restart restores state, ledgers and transactions', async (t) => {
  const path = directory(t);
  const before = await open(t, path);
  const { bump } = await fill(before);
  const saved = {
    state: stateOf(before),
    head: before.net.chain.head.hash,
    ledgers: (await before.call('getLedgers', { startLedger: 2 })).result,
  };
  await before.net.close();

  const after = await open(t, path);
  assert.deepEqual(stateOf(after), saved.state);
  assert.deepEqual(after.net.chain.head.hash, saved.head);
  assert.deepEqual((await after.call('getLedgers', { startLedger: 2 })).result, saved.ledgers);
  for (const hash of [bump.hash(), bump.innerTransaction.hash()]) {
    assert.equal((await after.result(Buffer.from(hash).toString('hex'))).status, 'SUCCESS');
  }
  const header = await after.close();
  assert.deepEqual(Buffer.from(header.previousLedgerHash), saved.head);
});

test('an incomplete ledger at the end of the file is cut off', async (t) => {
  const path = directory(t);
  const before = await open(t, path);
  await fill(before);
  const sequence = before.net.chain.head.header.ledgerSeq;
  await before.net.close();
  const { size } = statSync(ledgerFile(path));
  for (const damage of [() => truncateSync(ledgerFile(path), size - 1), () => appendFileSync(ledgerFile(path), Buffer.from([0, 0]))]) {
    damage();
    const after = await open(t, path);
    assert.ok([sequence, sequence - 1].includes(after.net.chain.head.header.ledgerSeq));
    await after.close();
    await after.net.close();
    const again = await open(t, path);
    await again.net.close();
  }
});

test('a ledger that was tampered with is refused', async (t) => {
  const path = directory(t);
  const client = await open(t, path);
  await fill(client);
  await client.net.close();
  const bytes = readFileSync(ledgerFile(path));
  bytes[4 + 8 + 32 + 8] ^= 1; // in the first ledger's previous hash
  writeFileSync(ledgerFile(path), bytes);
  await assert.rejects(open(t, path), UnusableData);
});

test('another passphrase is another network, also in the same directory', async (t) => {
  const path = directory(t);
  const first = await open(t, path);
  await fill(first);
  await first.net.close();
  const other = await open(t, path, { passphrase: 'another' });
  assert.equal(other.net.chain.head.header.ledgerSeq, 2);
  await other.net.close();
  assert.equal(readdirSync(path).length, 2);
});
