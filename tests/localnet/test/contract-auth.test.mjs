// Authorization of contract calls: by the account whose operation it is, and by an account's own signature.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Address, Operation, authorizeEntry, xdr } from '@stellar/stellar-sdk';
import { addressOf, amount, start as startCalls } from './contract-calls.mjs';
import { keypair, xlm } from './harness.mjs';

const TRAPPED = -2;
const LIFE = 1_000;

/** Bob sends transactions, and alice's lumens are moved by her signature of an authorization entry. */
const start = async (t) => {
  const world = await startCalls(t);
  const { client, alice, bob, call, unsigned } = world;
  const [carol] = await client.create(['carol']);
  const args = [addressOf(alice), addressOf(carol), amount(xlm(2))];
  const simulated = async (useUpgradedAuth = true) => {
    const simulation = await client.server.simulateTransaction(unsigned(bob, call('transfer', args)), undefined, undefined, useUpgradedAuth);
    return simulation.result.auth[0];
  };
  const until = () => client.net.chain.history.latest + LIFE;
  const signed = async (entry, signer = alice, validUntil = until()) =>
    authorizeEntry(entry, signer, validUntil, client.passphrase);
  const withAuth = (...auth) => call('transfer', args, { auth });
  /** Sends it with the resources of a simulation that has the correct signature, so that the ledger judges this signature. */
  const judged = async (good, bad) => {
    const { transactionData } = await client.server.simulateTransaction(unsigned(bob, withAuth(good)));
    const configure = (builder) => builder.setSorobanData(transactionData.build());
    return client.include(client.build(bob, [withAuth(...bad)], { configure }));
  };
  return { ...world, carol, simulated, signed, until, withAuth, judged };
};

test('the source account of the operation authorizes with its own signature, whoever sends the transaction', async (t) => {
  const { client, alice, bob, transfer, prepare } = await start(t);
  const operation = transfer(alice, bob, xlm(1), { source: alice });
  const transaction = await prepare(bob, operation, { signers: [alice] });
  const [entry] = transaction.operations[0].auth;
  assert.equal(entry.credentials.type, 'sorobanCredentialsSourceAccount');
  const before = client.balance(alice);
  assert.equal((await client.include(transaction)).status, 'SUCCESS');
  assert.equal(before - client.balance(alice), xlm(1));
});

test('an account authorizes by signing an entry, in both versions, and the nonce is stored', async (t) => {
  const { client, alice, bob, carol, simulated, signed, withAuth, prepare } = await start(t);
  for (const [isUpgraded, type] of [[true, 'sorobanCredentialsAddressV2'], [false, 'sorobanCredentialsAddress']]) {
    const entry = await simulated(isUpgraded);
    assert.equal(entry.credentials.type, type);
    const before = [client.balance(alice), client.balance(carol)];
    const { status, meta } = await client.include(await prepare(bob, withAuth(await signed(entry))));
    assert.equal(status, 'SUCCESS');
    assert.deepEqual([before[0] - client.balance(alice), client.balance(carol) - before[1]], [xlm(2), xlm(2)]);
    const created = meta.operations[0].changes.filter((change) => change.type === 0).map(({ created: { data } }) => data);
    const nonce = created.find(({ contractData }) => contractData?.key.type === 21);
    const life = created.find(({ ttl }) => ttl);
    assert.equal(nonce.contractData.durability, 0);
    assert.ok(life.ttl.liveUntilLedgerSeq > client.net.chain.history.latest);
  }
});

test('an authorization entry is used only once', async (t) => {
  const { client, bob, simulated, signed, withAuth, prepare, judged, simulate } = await start(t);
  const entry = await signed(await simulated());
  assert.equal((await client.include(await prepare(bob, withAuth(entry)))).status, 'SUCCESS');
  assert.match((await simulate(bob, withAuth(entry))).error, /nonce already exists/);
  const other = await signed(await simulated());
  const again = await judged(other, [entry]);
  assert.equal(again.operations[0].own, TRAPPED);
});

test('a call without, with somebody else\'s, or with another call\'s authorization traps', async (t) => {
  const { client, bob, simulated, signed, judged, withAuth, simulate } = await start(t);
  const good = await signed(await simulated());
  assert.equal((await judged(good, [])).operations[0].own, TRAPPED);
  const wire = (change) => {
    const copy = xdr.SorobanAuthorizationEntry.fromXdr(good.toXdr());
    change(copy);
    return copy;
  };
  const other = wire((copy) => (copy.rootInvocation.function.value.args[2] = amount(xlm(3))));
  assert.equal((await judged(good, [other])).operations[0].own, TRAPPED);
  const forged = wire((copy) => (copy.credentials.value.nonce += 1n));
  assert.equal((await judged(good, [forged])).operations[0].own, TRAPPED, 'the signature is of another nonce');
  assert.match((await simulate(bob, withAuth(forged))).error, /failed ED25519 verification/);
  const foreign = await authorizeEntry(await simulated(), bob, client.net.chain.history.latest + LIFE, client.passphrase);
  assert.match((await simulate(bob, withAuth(foreign))).error, /signer does not belong to account/);
  assert.match((await simulate(bob, withAuth(await simulated()))).error, /signature has expired/);

  // Correctly signed, but for another call, and by another account.
  const changed = async (change, signer) => {
    const copy = xdr.SorobanAuthorizationEntry.fromXdr((await simulated()).toXdr());
    change(copy);
    return signed(copy, signer);
  };
  const otherCall = await changed((copy) => (copy.rootInvocation.function.value.args[2] = amount(xlm(3))));
  assert.match((await simulate(bob, withAuth(otherCall))).error, /Unauthorized function call/);
  const otherAccount = await changed((copy) => (copy.credentials.value.address = new Address(bob.publicKey()).toScAddress()), bob);
  assert.match((await simulate(bob, withAuth(otherAccount))).error, /Unauthorized function call/);
});

test('a signature expires after its last ledger, which may not be too far away', async (t) => {
  const { client, bob, simulated, signed, withAuth, simulate, judged } = await start(t);
  const { latest } = client.net.chain.history;
  const last = await signed(await simulated(), undefined, latest + 1);
  assert.equal((await judged(last, [last])).status, 'SUCCESS', 'in its last ledger');
  const late = await signed(await simulated(), undefined, client.net.chain.history.latest);
  assert.equal((await judged(late, [late])).operations[0].own, TRAPPED);
  const long = await signed(await simulated(), undefined, latest + 10_000_000);
  assert.match((await simulate(bob, withAuth(long))).error, /expiration is too late/);
});

test('signers and the medium threshold of the account count, in the order of their keys', async (t) => {
  const { client, alice, bob, simulated, signed, until, withAuth, simulate, prepare } = await start(t);
  const signer = keypair('signer');
  const options = { signer: { ed25519PublicKey: signer.publicKey(), weight: 1 }, medThreshold: 2, highThreshold: 2 };
  assert.equal((await client.include(client.build(alice, [Operation.setOptions(options)]))).status, 'SUCCESS');
  const one = await signed(await simulated());
  assert.match((await simulate(bob, withAuth(one))).error, /weight is lower than threshold/);

  const expiration = until();
  const entry = await simulated();
  const signatures = [];
  for (const each of [alice, signer])
    signatures.push((await authorizeEntry(entry, each, expiration, client.passphrase)).credentials.value.signature.value[0]);
  const inOrder = [alice, signer].map((key, index) => [Buffer.from(key.rawPublicKey()).toString('hex'), signatures[index]]).sort();
  const both = (list) => {
    const copy = xdr.SorobanAuthorizationEntry.fromXdr(entry.toXdr());
    copy.credentials.value.signatureExpirationLedger = expiration;
    copy.credentials.value.signature = xdr.ScVal.scvVec(list.map(([, signature]) => signature));
    return copy;
  };
  assert.match((await simulate(bob, withAuth(both([...inOrder].reverse())))).error, /not ordered/);
  assert.match((await simulate(bob, withAuth(both([inOrder[0], inOrder[0]])))).error, /not ordered/);
  assert.equal((await client.include(await prepare(bob, withAuth(both(inOrder))))).status, 'SUCCESS');
});
