// Two transactions of one ledger, of which the first removes what the second needs: the result codes of a transaction that was
// valid when it was submitted, and whether it consumes its sequence number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation } from '@stellar/stellar-sdk';
import { Tx } from '../results.mjs';
import { Client, keypair, payment } from './harness.mjs';

const MAX_ATTEMPTS = 40;

/**
 * Another account, with victim's signature too, runs `takeAway(victim)` in the same ledger as `build(victim)`; repeated with new
 * accounts until it is applied first. Returns the victim's result, and whether its sequence was consumed.
 */
const collide = async (client, takeAway, build, { prepare = async () => {}, signers = (victim) => [victim] } = {}) => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const [actor, victim] = await client.create([`actor ${attempt}`, `victim ${attempt}`]);
    await prepare(victim);
    const before = client.account(victim).sequence;
    const first = await client.send(client.build(actor, [takeAway(victim)], { signers: signers(victim) }));
    const second = await client.send(build(victim));
    assert.deepEqual([first.status, second.status], ['PENDING', 'PENDING']);
    const { ledgerSeq } = await client.close();
    const order = client.net.chain.history.transactions(ledgerSeq).map(({ hash }) => hash);
    if (order.indexOf(first.hash) > order.indexOf(second.hash)) continue;
    assert.equal((await client.result(first.hash)).status, 'SUCCESS');
    const result = await client.result(second.hash);
    const source = client.account(victim)?.id;
    const consumed = result.meta.txChangesBefore.some(({ updated }) => {
      const account = updated?.data.account;
      return (account && Buffer.from(account.accountId.ed25519).toString('hex') === source && account.seqNum === before + 1n);
    });
    return { result, consumed };
  }
  throw new Error(`the order never came in ${MAX_ATTEMPTS} ledgers`);
};

const start = async (t) => {
  const client = await Client.start(t);
  const [bob, payer] = await client.create(['bob', 'payer']);
  return { client, bob, payer, plain: (victim) => client.build(victim, [payment(bob)]) };
};

const merge = (destination) => (victim) =>
  Operation.accountMerge({ source: victim.publicKey(), destination: destination.publicKey() });

test('txNO_ACCOUNT: the source was merged; the fee is paid, nothing is consumed', async (t) => {
  const { client, bob, plain } = await start(t);
  const { result, consumed } = await collide(client, merge(bob), plain);
  assert.deepEqual([result.code, result.feeCharged, consumed], [Tx.NO_ACCOUNT, 100n, false]);
  assert.deepEqual(result.meta.txChangesBefore, []);
});

test('txFEE_BUMP_INNER_FAILED with txNO_ACCOUNT inside: the same of a fee bump', async (t) => {
  const { client, bob, payer, plain } = await start(t);
  const { result } = await collide(client, merge(bob), (victim) => client.bump(payer, plain(victim), 200));
  assert.deepEqual([result.code, result.inner], [Tx.FEE_BUMP_INNER_FAILED, Tx.NO_ACCOUNT]);
});

test('txBAD_SEQ: the sequence was bumped beyond it; nothing is consumed', async (t) => {
  const { client, plain } = await start(t);
  const bump = (victim) =>
    Operation.bumpSequence({ source: victim.publicKey(), bumpTo: String(client.account(victim).sequence + 50n) });
  const { result, consumed } = await collide(client, bump, plain);
  assert.deepEqual([result.code, consumed], [Tx.BAD_SEQ, false]);
});

test('txBAD_AUTH: the threshold was raised; the sequence is consumed', async (t) => {
  const { client, plain } = await start(t);
  const raise = (victim) =>
    Operation.setOptions({ source: victim.publicKey(), lowThreshold: 5, medThreshold: 5, highThreshold: 5 });
  const { result, consumed } = await collide(client, raise, plain);
  assert.deepEqual([result.code, consumed], [Tx.BAD_AUTH, true]);
});

test('txBAD_AUTH_EXTRA: the threshold was lowered, one signature is too many; the sequence is consumed', async (t) => {
  const { client, bob } = await start(t);
  const extra = keypair('extra');
  const thresholds = (value) => ({ lowThreshold: value, medThreshold: value, highThreshold: value });
  const demandTwo = (victim) => {
    const signer = { ed25519PublicKey: extra.publicKey(), weight: 1 };
    return client.include(client.build(victim, [Operation.setOptions({ signer, ...thresholds(2) })]));
  };
  const lower = (victim) => Operation.setOptions({ source: victim.publicKey(), ...thresholds(1) });
  const build = (victim) => client.build(victim, [payment(bob)], { signers: [extra] });
  const { result, consumed } = await collide(client, lower, build, { prepare: demandTwo, signers: (victim) => [victim, extra] });
  assert.deepEqual([result.code, consumed], [Tx.BAD_AUTH_EXTRA, true]);
});

test('opBAD_AUTH in a ledger: the source of an operation raised its threshold; the sequence is consumed', async (t) => {
  const { client, bob } = await start(t);
  const raise = (victim) => Operation.setOptions({ source: victim.publicKey(), medThreshold: 5, highThreshold: 5 });
  const { result, consumed } = await collide(client, raise, (victim) => client.build(victim, [payment(bob)]));
  assert.deepEqual([result.code, result.operations, consumed], [Tx.FAILED, [{ any: -1 }], true]);
});
