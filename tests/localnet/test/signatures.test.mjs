// Signers, weights and thresholds, and who verifies signatures.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { Disagreement, Verifier } from '../ed25519.mjs';
import { Op, Tx } from '../results.mjs';
import { Client, keypair, payment } from './harness.mjs';

const start = async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const carol = keypair('carol');
  const setOptions = (options, signers = []) =>
    client.include(client.build(alice, [Operation.setOptions(options)], { signers }));
  const codes = async (transaction) => {
    const { status, code, operations } = await client.send(transaction);
    return status === 'ERROR' ? [code, ...operations.map(({ any, own }) => any ?? own)] : status;
  };
  return { client, alice, bob, carol, setOptions, codes };
};

test('weights add up to the threshold of the operation: low, medium, high', async (t) => {
  const { client, alice, bob, carol, setOptions, codes } = await start(t);
  await setOptions({
    signer: { ed25519PublicKey: carol.publicKey(), weight: 2 },
    masterWeight: 1,
    lowThreshold: 1,
    medThreshold: 2,
    highThreshold: 3,
  });
  const bySigners = (operation, signers) => {
    const transaction = client.build(alice, [operation], { unsigned: true });
    transaction.sign(...signers);
    return transaction;
  };
  const low = Operation.bumpSequence({ bumpTo: '0' });
  const medium = payment(bob);
  const high = Operation.setOptions({ lowThreshold: 1 });
  assert.deepEqual(await codes(bySigners(medium, [alice])), [Tx.FAILED, Op.BAD_AUTH]);
  assert.deepEqual(await codes(bySigners(high, [carol])), [Tx.FAILED, Op.BAD_AUTH]);
  assert.deepEqual(await codes(bySigners(low, [alice, carol])), [Tx.BAD_AUTH_EXTRA], 'one is enough, so two are one too many');
  assert.equal((await client.include(bySigners(low, [alice]))).status, 'SUCCESS');
  assert.equal((await client.include(bySigners(medium, [carol]))).status, 'SUCCESS');
  assert.equal((await client.include(bySigners(high, [alice, carol]))).status, 'SUCCESS');
});

test('a signer counts once, however often it signs', async (t) => {
  const { client, alice, bob, setOptions, codes } = await start(t);
  await setOptions({ lowThreshold: 2, medThreshold: 2, highThreshold: 2 });
  assert.deepEqual(await codes(client.build(alice, [payment(bob)], { signers: [alice] })), [Tx.BAD_AUTH]);
});

test('a master key of weight 0 cannot sign', async (t) => {
  const { client, alice, bob, carol, setOptions, codes } = await start(t);
  await setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight: 1 }, masterWeight: 0 });
  assert.deepEqual(await codes(client.build(alice, [payment(bob)])), [Tx.BAD_AUTH]);
  const transaction = client.build(alice, [payment(bob)], { unsigned: true });
  transaction.sign(carol);
  assert.equal(await codes(transaction), 'PENDING');
});

test('twenty signatures fit, each verified', async (t) => {
  const { client } = await start(t);
  const keys = await client.create(Array.from({ length: 20 }, (_, index) => `many ${index}`));
  const [first, ...others] = keys;
  const transaction = client.build(first, keys.map((key) => payment(first, '1', key)), { signers: others });
  assert.equal((await client.include(transaction)).status, 'SUCCESS');
});

test('node:crypto and the SDK agree on good and bad signatures', () => {
  const verifier = new Verifier({ sampleEvery: 1 });
  const key = Keypair.random();
  for (let round = 0; round < 20; round++) {
    const message = Buffer.alloc(32, round);
    const signature = Buffer.from(key.sign(message));
    assert.equal(verifier.verify(Buffer.from(key.rawPublicKey()), message, signature), true);
    signature[round] ^= 1;
    assert.equal(verifier.verify(Buffer.from(key.rawPublicKey()), message, signature), false);
    assert.equal(verifier.verify(Buffer.from(key.rawPublicKey()), message, signature.subarray(1)), false);
  }
});

test('a disagreement about a signature ends the process; the SDK checks every 50th', async (t) => {
  let asked = 0;
  const key = Keypair.random();
  const message = Buffer.alloc(32);
  const counting = new Verifier({ secondOpinion: () => ++asked > 0 });
  for (let round = 0; round < 101; round++)
    counting.verify(Buffer.from(key.rawPublicKey()), message, Buffer.from(key.sign(message)));
  assert.equal(asked, 3);

  const fatal = [];
  const verifier = new Verifier({ sampleEvery: 1, secondOpinion: () => false });
  const client = await Client.start(t, { verifier, onFatal: (error) => fatal.push(error) });
  const { error } = await client.send(client.build(client.root, [payment(keypair('alice'))]));
  assert.equal(error.code, -32003);
  assert.ok(fatal[0] instanceof Disagreement);
});

test('a fee bump of a payer with signers needs their low threshold', async (t) => {
  const { client, alice, bob, carol, setOptions, codes } = await start(t);
  await setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight: 1 }, masterWeight: 0 });
  const bump = TransactionBuilder.buildFeeBumpTransaction(alice, '100', client.build(bob, [payment(alice)]), client.passphrase);
  bump.sign(carol);
  assert.equal(await codes(bump), 'PENDING');
});
