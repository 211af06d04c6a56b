// tests/dev/network.mjs, which `make run` and `make demo` use: a failing RPC does not count as a missing account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { slower } from '../slowness.mjs';
import { connect, exists, fundIfMissing } from '../dev/network.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';

async function start(t, options = {}) {
  const net = await startLocalnet({ ledgerMs: 100, ...options });
  t.after(() => net.close());
  return net;
}

test('exists() is true for an account that exists and false for one that does not', async t => {
  const net = await start(t);
  assert.equal(await exists(connect(net.url), net.network.root.publicKey), true);
  assert.equal(await exists(connect(net.url), Keypair.random().publicKey()), false);
});

test('a failing getLedgerEntries is retried, and never counts as a missing account', async t => {
  const net = await start(t, { faults: { seed: 3, snapshotMissing: 0.5, unavailable: 0.2 } });
  for (let i = 0; i < 10; i++)
    assert.equal(await exists(connect(net.url), net.network.root.publicKey), true);
  assert.ok(net.faults.fired.snapshotMissing > 0 && net.faults.fired.unavailable > 0);
  net.faults.configure({ reset: true, snapshotMissing: 1 });
  await assert.rejects(exists(connect(net.url), net.network.root.publicKey, 300),
    /cannot read account G\w+: could not query captive core: .* \(-32603\)/);
});

test('an account is funded once, through an RPC that has just started with an empty store', async t => {
  const net = await start(t), address = Keypair.random().publicKey();
  net.faults.configure({ emptyStoreMs: slower(1_000) });
  assert.equal(await fundIfMissing(net.url, address), true);
  assert.ok(net.faults.fired.emptyStoreMs > 0);
  assert.equal(await fundIfMissing(net.url, address), false);
});

test('without a friendbot the error names the account', async t => {
  const net = await start(t, { hideFriendbot: true });
  await assert.rejects(fundIfMissing(net.url, Keypair.random().publicKey()), /G\w+ does not exist, and this network has no friendbot/);
});
