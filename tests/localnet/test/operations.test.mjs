// What each operation does, and each way in which it fails, in a ledger or at submission.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { Op, Tx } from '../results.mjs';
import { MAX_SUBENTRIES } from '../sponsorship.mjs';
import { raw, start } from './applying.mjs';
import { keypair, payment, xlm } from './harness.mjs';

const create = (key, startingBalance) => Operation.createAccount({ destination: key.publicKey(), startingBalance });

test('createAccount: success, the new sequence, and its failures', async (t) => {
  const { client, alice, bob, applied, refused } = await start(t);
  const carol = keypair('carol');
  const before = client.balance(alice);
  assert.equal(await applied(create(carol, '1')), 0);
  const ledger = client.net.chain.head.header.ledgerSeq;
  assert.equal(client.account(carol).sequence, BigInt(ledger) << 32n);
  assert.equal(before - client.balance(alice), xlm(1) + 100n);
  assert.equal(await applied(create(bob, '1')), -4, 'ALREADY_EXIST');
  assert.equal(await applied(create(keypair('d'), '0.9999999')), -3, 'LOW_RESERVE');
  assert.equal(await applied(create(keypair('d'), '0')), -3, 'LOW_RESERVE');
  assert.equal(await applied(create(keypair('d'), '999')), -2, 'UNDERFUNDED');
  assert.equal(await refused(create(alice, '1')), -1, 'MALFORMED');
  assert.equal(await refused(raw(create(carol, '1'), (body) => (body.startingBalance = -1n))), -1, 'MALFORMED');
});

test('payment: success, and its failures', async (t) => {
  const { client, alice, bob, applied, refused } = await start(t);
  const before = client.balance(bob);
  assert.equal(await applied(payment(bob, '7')), 0);
  assert.equal(client.balance(bob) - before, xlm(7));
  assert.equal(await applied(payment(alice, '5')), 0, 'to itself');
  assert.equal(await applied(payment(alice, '500000')), 0, 'to itself, whatever it has');
  assert.equal(await applied(payment(keypair('nobody'))), -5, 'NO_DESTINATION');
  assert.equal(await applied(payment(bob, '992.9')), -2, 'UNDERFUNDED: the reserve stays');
  assert.equal(await refused(raw(payment(bob), (body) => (body.amount = 0n))), -1, 'MALFORMED');
  assert.equal(await refused(raw(payment(bob), (body) => (body.amount = -1n))), -1, 'MALFORMED');
});

test('payment and merge: LINE_FULL and DEST_FULL, when the destination would hold more than an int64', async (t) => {
  const { client, alice, bob, applied } = await start(t);
  const { state, head } = client.net.chain;
  const rich = state.peek(client.net.network.root.id);
  // More than all coins that exist: only an entry that is inserted directly can hold this much.
  state.add({ ...rich, balance: 2n ** 63n - 1n, modified: head.header.ledgerSeq });
  assert.equal(await applied(payment(client.root)), -8);
  assert.equal(await applied(Operation.accountMerge({ destination: client.root.publicKey() }), { source: bob }), -6);
  assert.ok(client.account(alice));
});

test('accountMerge: moves the balance and removes the account; failures', async (t) => {
  const { client, alice, bob, applied, refused } = await start(t);
  const merge = (destination, source) =>
    Operation.accountMerge({ destination: destination.publicKey(), source: source?.publicKey() });
  assert.equal(await applied(merge(keypair('nobody'))), -2, 'NO_ACCOUNT');
  assert.equal(await refused(merge(alice)), -1, 'MALFORMED');

  const [holder, bumped, gone] = await client.create(['holder', 'bumped', 'gone']);
  await applied(Operation.changeTrust({ asset: new Asset('USD', bob.publicKey()) }), { source: holder });
  assert.equal(await applied(merge(bob), { source: holder }), -4, 'HAS_SUB_ENTRIES');
  const far = (BigInt(client.net.chain.head.header.ledgerSeq) + 3n) << 32n;
  await applied(Operation.bumpSequence({ bumpTo: String(far) }), { source: bumped });
  assert.equal(await applied(merge(bob), { source: bumped }), -5, 'SEQNUM_TOO_FAR');

  const before = client.balance(bob);
  const { balance } = client.account(gone);
  const result = await client.include(client.build(gone, [merge(bob)]));
  assert.equal(client.balance(bob) - before, balance - 100n);
  assert.equal(client.account(gone), null);
  const changes = result.meta.operations[0].changes.map(({ type }) => type);
  assert.ok(changes.includes(2), 'the metadata has it as removed');
});

test('accountMerge: an account that was created in the same ledger is too young', async (t) => {
  const { alice, bob, applied } = await start(t);
  const young = keypair('young');
  const operations = [create(young, '5'), Operation.accountMerge({ source: young.publicKey(), destination: bob.publicKey() })];
  assert.equal(await applied(operations, { source: alice, signers: [young] }), -5);
});

test('accountMerge: signers are removed with the account', async (t) => {
  const { client, alice, bob, applied } = await start(t);
  await applied(Operation.setOptions({ signer: { ed25519PublicKey: bob.publicKey(), weight: 1 } }));
  assert.equal(await applied(Operation.accountMerge({ destination: bob.publicKey() })), 0);
  assert.equal(client.account(alice), null);
});

test('bumpSequence: forward, never back, never negative', async (t) => {
  const { client, alice, applied, refused } = await start(t);
  const target = client.account(alice).sequence + 1000n;
  const result = await client.include(client.build(alice, [Operation.bumpSequence({ bumpTo: String(target) })]));
  assert.equal(result.code, 0);
  assert.equal(client.account(alice).sequence, target);
  assert.equal(await applied(Operation.bumpSequence({ bumpTo: '0' })), 0);
  assert.equal(client.account(alice).sequence, target + 1n);
  assert.equal(await refused(raw(Operation.bumpSequence({ bumpTo: '0' }), (body) => (body.bumpTo = -1n))), -1);
});

test('changeTrust and payment of an issued asset: issued, moved, taken back, and the failures', async (t) => {
  const { client, alice, bob, line, applied, refused } = await start(t);
  const usd = new Asset('USD', bob.publicKey());
  const trust = (options) => Operation.changeTrust({ asset: usd, ...options });
  const pay = (to, amount) => Operation.payment({ destination: to.publicKey(), asset: usd, amount });
  const [carol] = await client.create(['carol']);
  assert.equal(await applied(pay(alice, '1'), { source: bob }), -6, 'NO_TRUST');
  assert.equal(await applied(pay(bob, '1')), -3, 'SRC_NO_TRUST');
  assert.equal(await applied(trust({ limit: '0' })), -3, 'INVALID_LIMIT');
  assert.equal(await applied(trust({ asset: new Asset('USD', keypair('nobody').publicKey()) })), -2, 'NO_ISSUER');
  assert.equal(await refused(Operation.changeTrust({ asset: usd }), { source: bob }), -1, 'MALFORMED');
  assert.equal(await applied(trust({ limit: '10' })), 0);
  assert.equal(await applied(trust(), { source: carol }), 0);
  assert.equal(await applied(pay(alice, '11'), { source: bob }), -8, 'LINE_FULL');
  assert.equal(await applied(pay(alice, '9'), { source: bob }), 0);
  assert.equal(await applied(pay(carol, '10')), -2, 'UNDERFUNDED');
  assert.equal(await applied(pay(carol, '4')), 0);
  assert.equal(await applied(pay(bob, '5')), 0, 'back to its issuer');
  assert.deepEqual([line(alice, usd).balance, line(carol, usd).balance], [0n, xlm(4)]);
  assert.equal(await applied(trust({ limit: '3' }), { source: carol }), -3, 'INVALID_LIMIT: it has more');
  assert.equal(await applied(trust({ limit: '0' })), 0);
  assert.deepEqual([line(alice, usd), client.account(alice).subEntries], [null, 0]);
});

test('an account has at most 1,000 subentries', async (t) => {
  const { client, alice, bob, applied } = await start(t);
  const { state } = client.net.chain;
  state.add({ ...client.account(alice), subEntries: MAX_SUBENTRIES });
  const trust = Operation.changeTrust({ asset: new Asset('USD', bob.publicKey()) });
  assert.deepEqual(await applied(trust), { any: Op.TOO_MANY_SUBENTRIES });
  assert.deepEqual(
    await applied(Operation.setOptions({ signer: { ed25519PublicKey: keypair('x').publicKey(), weight: 1 } })),
    {
      any: Op.TOO_MANY_SUBENTRIES,
    },
  );
});

test('setOptions: signers are added in order, changed and removed', async (t) => {
  const { client, alice, applied } = await start(t);
  const signer = (name, weight) =>
    Operation.setOptions({ signer: { ed25519PublicKey: keypair(name).publicKey(), weight } });
  for (const name of ['x', 'y', 'z']) assert.equal(await applied(signer(name, 1)), 0);
  const { signers, subEntries } = client.account(alice);
  assert.deepEqual(signers.map(({ key }) => key), signers.map(({ key }) => key).sort());
  assert.equal(subEntries, 3);
  assert.equal(await applied(signer('y', 9)), 0);
  assert.equal(client.account(alice).signers.find(({ weight }) => weight === 9) !== undefined, true);
  assert.equal(await applied(signer('y', 0)), 0);
  assert.equal(client.account(alice).signers.length, 2);
  assert.equal(await applied(signer('nobody', 0)), 0, 'removing none is no error');
});

test('setOptions: thresholds, home domain, inflation destination', async (t) => {
  const { client, alice, bob, applied } = await start(t);
  const options = {
    masterWeight: 9,
    lowThreshold: 1,
    medThreshold: 2,
    highThreshold: 3,
    homeDomain: 'example.org',
    inflationDest: bob.publicKey(),
  };
  assert.equal(await applied(Operation.setOptions(options)), 0);
  const { thresholds, homeDomain, inflationDestination } = client.account(alice);
  assert.deepEqual(thresholds, [9, 1, 2, 3]);
  assert.equal(Buffer.from(homeDomain).toString(), 'example.org');
  assert.equal(inflationDestination, Buffer.from(bob.rawPublicKey()).toString('hex'));
  assert.equal(await applied(Operation.setOptions({ homeDomain: '' })), 0);
  assert.equal(client.account(alice).homeDomain.length, 0);
});

test('setOptions: failures in a ledger', async (t) => {
  const { client, alice, applied } = await start(t);
  const signer = (name, source) =>
    Operation.setOptions({ source, signer: { ed25519PublicKey: keypair(name).publicKey(), weight: 1 } });
  const [poor] = await client.create(['poor'], '1.4');
  assert.equal(await applied(signer('x'), { source: poor }), -1, 'LOW_RESERVE');
  await applied(Array.from({ length: 20 }, (_, index) => signer(`signer ${index}`)));
  assert.equal(await applied(signer('one more')), -2, 'TOO_MANY_SIGNERS');
  assert.equal(await applied(Operation.setOptions({ inflationDest: keypair('nobody').publicKey() })), -4, 'INVALID_INFLATION');
  assert.ok(client.account(alice));
});

test('setOptions: failures at submission', async (t) => {
  const { alice, refused } = await start(t);
  const options = (values, change) => raw(Operation.setOptions(values), change ?? (() => {}));
  assert.equal(await refused(options({}, (body) => (body.medThreshold = 256))), -7, 'THRESHOLD_OUT_OF_RANGE');
  assert.equal(await refused(options({ signer: { ed25519PublicKey: alice.publicKey(), weight: 1 } })), -8, 'BAD_SIGNER');
  assert.equal(await refused(options({ homeDomain: 'caf\u00e9.org' })), -9, 'INVALID_HOME_DOMAIN');
});

test('one failed operation fails the transaction, and the results show which', async (t) => {
  const { client, alice, bob } = await start(t);
  const before = client.balance(bob);
  const operations = [payment(bob, '1'), payment(keypair('nobody')), payment(bob, '2')];
  const result = await client.include(client.build(alice, operations));
  assert.deepEqual(result.operations, [{ own: 0 }, { own: -5 }, { own: 0 }]);
  assert.deepEqual([result.status, result.code, result.feeCharged], ['FAILED', Tx.FAILED, 300n]);
  assert.equal(client.balance(bob), before);
});
