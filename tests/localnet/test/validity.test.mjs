// Each rule that refuses an envelope at submission, and its result code.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, Asset, Claimant, Memo, MuxedAccount, Operation, SorobanDataBuilder, xdr } from '@stellar/stellar-sdk';
import { Verifier } from '../ed25519.mjs';
import { Op, Tx } from '../results.mjs';
import { decodeTransaction } from '../transaction.mjs';
import { checkValid } from '../validity.mjs';
import { Client, keypair, payment } from './harness.mjs';

const start = async (t, options) => {
  const client = await Client.start(t, options);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const refuses = async (transaction, code, detail = {}) => {
    const before = client.account(alice).sequence;
    const { status, ...sent } = await client.send(transaction);
    assert.equal(status, 'ERROR');
    assert.equal(sent.code, code);
    for (const [name, value] of Object.entries(detail)) assert.deepEqual(sent[name], value, name);
    await client.close();
    assert.equal(client.account(alice).sequence, before, 'nothing is consumed by what was refused');
  };
  const accepts = async (transaction) => {
    const result = await client.include(transaction);
    assert.equal(result.status, 'SUCCESS');
    return result;
  };
  return { client, alice, bob, refuses, accepts };
};

test('a plain payment is accepted, in V1 and in V0 form, under one hash', async (t) => {
  const { client, alice, bob, accepts } = await start(t);
  await accepts(client.build(alice, [payment(bob)]));

  const v1 = client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(0, client.now + 60) });
  const { tx, signatures } = v1.toEnvelope().toXdrObject().v1;
  const { sourceAccount, cond, ext, ...rest } = tx;
  const v0 = { ...rest, sourceAccountEd25519: sourceAccount.ed25519, timeBounds: cond.timeBounds, ext: { v: 0 } };
  const envelope = xdr.TransactionEnvelope.schema.encode({ type: 0, v0: { tx: v0, signatures } });
  const sent = await client.send(Buffer.from(envelope).toString('base64'));
  assert.deepEqual(sent, { status: 'PENDING', hash: Buffer.from(v1.hash()).toString('hex') });
  await client.close();
  assert.equal((await client.result(sent.hash)).status, 'SUCCESS');
});

test('muxed accounts stand for their account', async (t) => {
  const { client, alice, bob, accepts } = await start(t);
  const muxed = (account) => new MuxedAccount(account, '7');
  const destination = new MuxedAccount(new Account(bob.publicKey(), '0'), '9').accountId();
  const before = client.balance(bob);
  await accepts(client.build(alice, [Operation.payment({ destination, asset: Asset.native(), amount: '1' })], { muxed }));
  assert.equal(client.balance(bob) - before, 10_000_000n);
});

test('malformed XDR is an invalid_xdr error, not a result', async (t) => {
  const { client, alice, bob } = await start(t);
  const good = Buffer.from(client.build(alice, [payment(bob)]).toXdr(), 'base64');
  const bad = [good.subarray(0, -4), Buffer.concat([good, Buffer.alloc(4)]), Buffer.from([0, 0, 0, 9]), Buffer.alloc(0)];
  for (const bytes of bad) {
    const { error } = await client.send(bytes.toString('base64'));
    assert.deepEqual(error, { code: -32602, message: 'invalid_xdr' });
  }
  assert.equal((await client.send('no base64!')).error.message, 'invalid_xdr');
});

test('txMISSING_OPERATION: no operation', async (t) => {
  const { client, alice, refuses } = await start(t);
  await refuses(client.build(alice, []), Tx.MISSING_OPERATION);
});

test('txNO_ACCOUNT: the source does not exist', async (t) => {
  const { client, bob, refuses } = await start(t);
  await refuses(client.build(keypair('nobody'), [payment(bob)], { sequence: 1 }), Tx.NO_ACCOUNT);
});

test('txBAD_SEQ: used, skipped, and the starting sequence of the next ledger', async (t) => {
  const { client, alice, bob, refuses } = await start(t);
  const current = client.account(alice).sequence;
  await refuses(client.build(alice, [payment(bob)], { sequence: current }), Tx.BAD_SEQ, { feeCharged: 100n });
  await refuses(client.build(alice, [payment(bob)], { sequence: current + 2n }), Tx.BAD_SEQ);

  const target = BigInt(client.net.chain.head.header.ledgerSeq + 2) << 32n;
  await client.include(client.build(alice, [Operation.bumpSequence({ bumpTo: String(target - 1n) })]));
  await refuses(client.build(alice, [payment(bob)]), Tx.BAD_SEQ);
});

test('minSeqNum relaxes the sequence, within its bounds', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const current = client.account(alice).sequence;
  const withMinimum = (sequence, minimum) =>
    client.build(alice, [payment(bob)], { sequence, configure: (builder) => builder.setMinAccountSequence(String(minimum)) });
  await refuses(withMinimum(current + 5n, current + 1n), Tx.BAD_SEQ);
  await refuses(withMinimum(current, current - 1n), Tx.BAD_SEQ);
  await accepts(withMinimum(current + 5n, current));
  assert.equal(client.account(alice).sequence, current + 5n);
});

test('txBAD_MIN_SEQ_AGE_OR_GAP: the sequence changed too recently', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  await accepts(client.build(alice, [payment(bob)]));
  const aged = (seconds) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setMinAccountSequenceAge(BigInt(seconds)) });
  const apart = (ledgers) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setMinAccountSequenceLedgerGap(ledgers) });
  await refuses(aged(60), Tx.BAD_MIN_SEQ_AGE_OR_GAP);
  await refuses(apart(60), Tx.BAD_MIN_SEQ_AGE_OR_GAP);
  await accepts(aged(5));
  await accepts(apart(1));
});

test('txTOO_EARLY: before minTime or minLedger', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const from = (minTime) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(minTime, 0) });
  const fromLedger = (minLedger) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setLedgerbounds(minLedger, 0) });
  await refuses(from(client.now + 1), Tx.TOO_EARLY);
  await accepts(from(client.now));
  await refuses(fromLedger(client.net.chain.head.header.ledgerSeq + 2), Tx.TOO_EARLY);
  await accepts(fromLedger(client.net.chain.head.header.ledgerSeq + 1));
});

test('txTOO_LATE: past maxTime, or less than two ledgers before it', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const until = (maxTime) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(0, maxTime) });
  await refuses(until(client.now - 1), Tx.TOO_LATE);
  await refuses(until(client.now + 9), Tx.TOO_LATE);
  await accepts(until(client.now + 10));
  client.pass(20); // counted from now, not from the last ledger
  await refuses(until(client.now + 9), Tx.TOO_LATE);
});

test('txTOO_LATE: maxLedger is exclusive', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const until = (maxLedger) =>
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setLedgerbounds(0, maxLedger) });
  await refuses(until(client.net.chain.head.header.ledgerSeq + 1), Tx.TOO_LATE);
  await accepts(until(client.net.chain.head.header.ledgerSeq + 2));
});

test('txINSUFFICIENT_FEE: less than the base fee for each operation', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  await refuses(client.build(alice, [payment(bob), payment(bob)], { fee: '99' }), Tx.INSUFFICIENT_FEE, { feeCharged: 200n });
  const { feeCharged } = await accepts(client.build(alice, [payment(bob), payment(bob)], { fee: '1000' }));
  assert.equal(feeCharged, 200n, 'no more than the base fee is charged while there is room');
});

test('txINSUFFICIENT_BALANCE: the balance above the reserve does not cover the fee', async (t) => {
  const { client, alice, bob, refuses } = await start(t);
  const [poor] = await client.create(['poor'], '1');
  await refuses(client.build(poor, [payment(bob)]), Tx.INSUFFICIENT_BALANCE);
  await client.include(client.build(alice, [payment(poor, '0.0000100')]));
  assert.equal((await client.send(client.build(poor, [payment(bob)]))).status, 'PENDING');
});

test('txINSUFFICIENT_BALANCE is checked again when the ledger is nominated', async (t) => {
  const { client, alice, bob } = await start(t);
  const { chain, network } = client.net;
  const ledger = { sequence: 4, closeTime: BigInt(client.now), baseFee: 100n, baseReserve: 5_000_000n };
  const plain = client.build(alice, [payment(bob)]);
  for (const [transaction, payer] of [[plain, alice], [client.bump(bob, plain, 200), bob]]) {
    const decoded = decodeTransaction(Buffer.from(transaction.toXdr(), 'base64'), network);
    const poor = { ...client.account(payer), balance: 10_000_000n + decoded.fee - 1n };
    const view = { peek: (key) => (key === poor.id ? poor : chain.state.peek(key)) };
    assert.equal(checkValid(decoded, chain.state, ledger, new Verifier()).outerCode >= 0, true);
    assert.equal(checkValid(decoded, view, ledger, new Verifier()).outerCode, Tx.INSUFFICIENT_BALANCE);
  }
});

test('txBAD_AUTH: unsigned, signed by another, for another network, or by a wrong hint', async (t) => {
  const { client, alice, bob, refuses } = await start(t);
  await refuses(client.build(alice, [payment(bob)], { unsigned: true }), Tx.BAD_AUTH);
  const byBob = client.build(alice, [payment(bob)], { unsigned: true });
  byBob.sign(bob);
  await refuses(byBob, Tx.BAD_AUTH);
  const elsewhere = await Client.start(t, { passphrase: 'another network' });
  await refuses(elsewhere.build(alice, [payment(bob)], { sequence: client.account(alice).sequence + 1n }), Tx.BAD_AUTH);

  const wire = client
    .build(alice, [payment(bob)])
    .toEnvelope()
    .toXdrObject();
  wire.v1.signatures[0].hint = Buffer.alloc(4);
  await refuses(Buffer.from(xdr.TransactionEnvelope.schema.encode(wire)).toString('base64'), Tx.BAD_AUTH);
});

test('txBAD_AUTH_EXTRA: a signature that nothing needs, or the same one twice', async (t) => {
  const { client, alice, bob, refuses } = await start(t);
  await refuses(client.build(alice, [payment(bob)], { signers: [bob] }), Tx.BAD_AUTH_EXTRA);
  await refuses(client.build(alice, [payment(bob)], { signers: [alice] }), Tx.BAD_AUTH_EXTRA);
});

test('extra signers must sign, and must not be given twice', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const demand = (keys, signers) =>
    client.build(alice, [payment(bob)], { signers, configure: (builder) => builder.setExtraSigners(keys.map((key) => key.publicKey())) });
  const carol = keypair('carol');
  await refuses(demand([carol], []), Tx.BAD_AUTH);
  await refuses(demand([carol, bob], [carol]), Tx.BAD_AUTH);
  await refuses(demand([carol, carol], [carol]), Tx.MALFORMED);
  await accepts(demand([carol, bob], [carol, bob]));
});

test('opBAD_AUTH: an operation of another account, which did not sign', async (t) => {
  const { client, alice, bob, refuses, accepts } = await start(t);
  const operations = [payment(bob), payment(alice, '1', bob)];
  await refuses(client.build(alice, operations), Tx.FAILED, { operations: [{ own: 0 }, { any: Op.BAD_AUTH }] });
  await accepts(client.build(alice, operations, { signers: [bob] }));
});

test('an operation of an account that does not exist needs its signature, and then fails in the ledger', async (t) => {
  const { client, alice, refuses } = await start(t);
  const nobody = keypair('nobody');
  await refuses(client.build(alice, [payment(alice, '1', nobody)]), Tx.FAILED, { operations: [{ any: Op.BAD_AUTH }] });
  const result = await client.include(client.build(alice, [payment(alice, '1', nobody)], { signers: [nobody] }));
  assert.equal(result.code, Tx.FAILED);
  assert.deepEqual(result.operations, [{ any: Op.NO_ACCOUNT }]);
});

test('txMALFORMED: Soroban data on a classic transaction', async (t) => {
  const { client, alice, bob, refuses } = await start(t);
  const wire = client
    .build(alice, [payment(bob)])
    .toEnvelope()
    .toXdrObject();
  wire.v1.tx.ext = { v: 1, sorobanData: new SorobanDataBuilder().build().toXdrObject() };
  await refuses(Buffer.from(xdr.TransactionEnvelope.schema.encode(wire)).toString('base64'), Tx.MALFORMED);
});

test('a memo of any kind is accepted', async (t) => {
  const { client, alice, bob, accepts } = await start(t);
  for (const memo of [Memo.text('hello'), Memo.id('1'), Memo.hash(Buffer.alloc(32, 1)), Memo.return(Buffer.alloc(32, 2))]) {
    await accepts(client.build(alice, [payment(bob)], { configure: (builder) => builder.addMemo(memo) }));
  }
});
