// Fee bumps: who pays, how much, and the refusals of the outer and the inner transaction.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { Op, Tx } from '../results.mjs';
import { Client, keypair, payment } from './harness.mjs';

const start = async (t) => {
  const client = await Client.start(t);
  const [alice, bob, payer] = await client.create(['alice', 'bob', 'payer']);
  return { client, alice, bob, payer };
};

const hashOf = (transaction) => Buffer.from(transaction.hash()).toString('hex');

/** Only the SDK's builder requires sensible fees; the wire format does not. */
const rebuilt = (client, bump, change, signer) => {
  const wire = bump.toEnvelope().toXdrObject();
  change(wire.feeBump.tx);
  wire.feeBump.signatures = [];
  const transaction = TransactionBuilder.fromXdr(
    Buffer.from(xdr.TransactionEnvelope.schema.encode(wire)).toString('base64'),
    client.passphrase,
  );
  transaction.sign(signer);
  return transaction;
};

test('the payer pays, the inner fee may be 0, and both hashes find the transaction', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)], { fee: '0' });
  const bump = client.bump(payer, inner, 200);
  const before = { alice: client.balance(alice), payer: client.balance(payer) };
  const result = await client.include(bump);
  assert.deepEqual(
    { ...result, meta: undefined, ledger: undefined },
    {
      status: 'SUCCESS',
      code: Tx.FEE_BUMP_INNER_SUCCESS,
      inner: 0,
      operations: [{ own: 0 }],
      feeCharged: 200n,
      innerFeeCharged: 0n,
      meta: undefined,
      ledger: undefined,
    },
  );
  assert.equal(before.payer - client.balance(payer), 200n);
  assert.equal(before.alice - client.balance(alice), 10_000_000n);
  for (const hash of [hashOf(bump), hashOf(inner)]) {
    const { result: found } = await client.call('getTransaction', { hash });
    assert.equal(found.txHash, hash);
    assert.equal(found.feeBump, true);
    assert.equal(found.ledger, result.ledger);
    assert.equal(found.envelopeXdr, bump.toXdr());
  }
});

test('an account without a balance can be a source if another account pays', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const channel = keypair('channel');
  const sponsored = [
    Operation.beginSponsoringFutureReserves({ sponsoredId: channel.publicKey() }),
    Operation.createAccount({ destination: channel.publicKey(), startingBalance: '0' }),
    Operation.endSponsoringFutureReserves({ source: channel.publicKey() }),
  ];
  await client.include(client.build(payer, sponsored, { signers: [channel] }));
  const inner = client.build(channel, [payment(bob, '5', alice)], { signers: [alice] });
  assert.equal((await client.send(inner)).code, Tx.INSUFFICIENT_BALANCE);
  assert.equal((await client.include(client.bump(payer, inner, 200))).status, 'SUCCESS');
});

test('a fee bump whose inner operations fail consumes the sequence and costs the payer', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const sequence = client.account(alice).sequence;
  const result = await client.include(client.bump(payer, client.build(alice, [payment(bob, '999999')]), 200));
  assert.equal(result.status, 'FAILED');
  assert.equal(result.code, Tx.FEE_BUMP_INNER_FAILED);
  assert.equal(result.inner, Tx.FAILED);
  assert.equal(client.account(alice).sequence, sequence + 1n);
});

test('txINSUFFICIENT_FEE: below base fee x (operations + 1), or below the rate of the inner transaction', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)]);
  const cheap = rebuilt(client, client.bump(payer, inner, 200), (tx) => (tx.fee = 199n), payer);
  assert.deepEqual(await client.send(cheap), {
    status: 'ERROR',
    hash: hashOf(cheap),
    code: Tx.INSUFFICIENT_FEE,
    inner: undefined,
    operations: [],
    feeCharged: 200n,
    innerFeeCharged: undefined,
  });

  const free = client.build(alice, [payment(bob)], { fee: '0' });
  assert.equal(
    (await client.send(rebuilt(client, client.bump(payer, free, 200), (tx) => (tx.fee = 199n), payer))).code,
    Tx.INSUFFICIENT_FEE,
  );

  const dear = client.build(alice, [payment(bob)], { fee: '1000' });
  const tooLow = rebuilt(client, client.bump(payer, dear, 2000), (tx) => (tx.fee = 1999n), payer);
  const refused = await client.send(tooLow);
  assert.equal(refused.code, Tx.INSUFFICIENT_FEE);
  assert.equal(refused.feeCharged, 2000n, 'the fee that it would take');
  assert.equal((await client.send(client.bump(payer, dear, 2000))).status, 'PENDING');
});

test('the errors of the outer transaction: no account, bad auth, extra signature, balance, negative fee', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)]);
  const code = async (transaction) => {
    const { status, code: outer, inner: none } = await client.send(transaction);
    assert.equal(status, 'ERROR');
    assert.equal(none, undefined, 'the inner transaction was not looked at');
    return outer;
  };
  const [poor] = await client.create(['poor'], '1');
  assert.equal(await code(client.bump(keypair('nobody'), inner, 200)), Tx.NO_ACCOUNT);
  assert.equal(await code(client.bump(payer, inner, 200, { signers: [bob] })), Tx.BAD_AUTH);
  assert.equal(await code(client.bump(payer, inner, 200, { signers: [payer, bob] })), Tx.BAD_AUTH_EXTRA);
  assert.equal(await code(client.bump(poor, inner, 200)), Tx.INSUFFICIENT_BALANCE);
  assert.equal(await code(rebuilt(client, client.bump(payer, inner, 200), (tx) => (tx.fee = -1n), payer)), Tx.MALFORMED);
});

test('the errors of the inner transaction come inside txFEE_BUMP_INNER_FAILED, under its hash', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const sequence = client.account(alice).sequence;
  const refused = async (inner) => {
    const bump = client.bump(payer, inner, 200);
    const { result } = await client.call('sendTransaction', { transaction: bump.toXdr() });
    const wire = xdr.TransactionResult.schema.decode(Buffer.from(result.errorResultXdr, 'base64'));
    assert.equal(wire.result.code, Tx.FEE_BUMP_INNER_FAILED);
    assert.equal(Buffer.from(wire.result.innerResultPair.transactionHash).toString('hex'), hashOf(inner));
    const { code, results } = wire.result.innerResultPair.result.result;
    return results ? [code, results.map((operation) => operation.code)] : code;
  };
  assert.equal(await refused(client.build(alice, [payment(bob)], { sequence })), Tx.BAD_SEQ);
  assert.equal(await refused(client.build(alice, [payment(bob)], { unsigned: true })), Tx.BAD_AUTH);
  assert.equal(await refused(client.build(alice, [payment(bob)], { signers: [bob] })), Tx.BAD_AUTH_EXTRA);
  assert.equal(await refused(client.build(keypair('nobody'), [payment(bob)], { sequence: 1 })), Tx.NO_ACCOUNT);
  assert.equal(
    await refused(client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(0, client.now + 5) })),
    Tx.TOO_LATE,
  );
  assert.deepEqual(await refused(client.build(alice, [payment(alice, '1', bob)])), [Tx.FAILED, [Op.BAD_AUTH]]);
});

test('the payer\'s signature on the inner transaction does not count for the outer one', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob, '1', payer)], { signers: [payer] });
  const bump = client.bump(payer, inner, 200, { signers: [alice] });
  assert.equal((await client.send(bump)).code, Tx.BAD_AUTH);
  assert.equal((await client.include(client.bump(payer, inner, 200))).status, 'SUCCESS');
});
