// What waits for a ledger: one transaction a source, duplicates, replacement, bans, age, and what happens when it is full.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation } from '@stellar/stellar-sdk';
import { Tx } from '../results.mjs';
import { Client, payment } from './harness.mjs';

const start = async (t, options) => {
  const client = await Client.start(t, options);
  const [alice, bob, payer] = await client.create(['alice', 'bob', 'payer']);
  return { client, alice, bob, payer };
};

const status = async (client, transaction) => (await client.send(transaction)).status;

test('DUPLICATE: the same envelope, or the inner one of a queued fee bump', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)]);
  const bump = client.bump(payer, inner, 200);
  assert.equal(await status(client, bump), 'PENDING');
  assert.equal(await status(client, bump), 'DUPLICATE');
  assert.equal(await status(client, inner), 'DUPLICATE');
});

test('TRY_AGAIN_LATER: another transaction of the same source is queued', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  assert.equal(await status(client, client.build(alice, [payment(bob)])), 'PENDING');
  assert.equal(await status(client, client.build(alice, [payment(bob, '2')])), 'TRY_AGAIN_LATER');
  const next = client.build(alice, [payment(bob)], { sequence: client.account(alice).sequence + 2n });
  assert.equal(await status(client, next), 'TRY_AGAIN_LATER');
  assert.equal(await status(client, client.bump(payer, next, 20_000)), 'TRY_AGAIN_LATER');
  const { header } = await client.close().then(() => client.net.chain.head);
  assert.equal(client.net.chain.history.transactions(header.ledgerSeq).length, 1, 'one a ledger');
  assert.equal(await status(client, next), 'PENDING', 'the next ledger takes the next one');
});

test('ERROR txBAD_SEQ: a lower sequence than the queued one', async (t) => {
  const { client, alice, bob } = await start(t);
  const sequence = client.account(alice).sequence;
  await client.send(client.build(alice, [payment(bob)]));
  const { status: refused, code } = await client.send(client.build(alice, [payment(bob)], { sequence }));
  assert.deepEqual([refused, code], ['ERROR', Tx.BAD_SEQ]);
});

test('a fee bump with at least ten times the fee rate replaces the queued transaction of its sequence', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)]);
  assert.equal(await status(client, inner), 'PENDING');
  const low = await client.send(client.bump(payer, inner, 1998));
  assert.deepEqual([low.status, low.code, low.feeCharged], ['ERROR', Tx.INSUFFICIENT_FEE, 2000n]);
  const high = await client.send(client.bump(payer, inner, 2000));
  assert.equal(high.status, 'PENDING');
  await client.close();
  assert.equal((await client.result(high.hash)).status, 'SUCCESS');
  assert.equal(client.net.chain.history.transactions(client.net.chain.head.header.ledgerSeq).length, 1);
});

test('an applied transaction is banned for nine ledgers: TRY_AGAIN_LATER, then txBAD_SEQ', async (t) => {
  const { client, alice, bob } = await start(t);
  const transaction = client.build(alice, [payment(bob)]);
  await client.include(transaction);
  for (let ledger = 0; ledger < 9; ledger++) {
    assert.equal(await status(client, transaction), 'TRY_AGAIN_LATER');
    await client.close();
  }
  assert.equal((await client.send(transaction)).code, Tx.BAD_SEQ);
});

test('the inner transaction of an applied fee bump is not banned, but its sequence is used', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const inner = client.build(alice, [payment(bob)]);
  await client.include(client.bump(payer, inner, 200));
  assert.equal((await client.send(inner)).code, Tx.BAD_SEQ);
  const again = await client.send(client.bump(payer, inner, 400));
  assert.deepEqual([again.code, again.inner], [Tx.FEE_BUMP_INNER_FAILED, Tx.BAD_SEQ]);
});

test('a payer must be able to pay for everything that it has in the queue', async (t) => {
  const { client, alice, bob } = await start(t);
  const [poor] = await client.create(['poor'], '1.0000300');
  assert.equal(await status(client, client.bump(poor, client.build(alice, [payment(bob)]), 200)), 'PENDING');
  const second = await client.send(client.bump(poor, client.build(bob, [payment(alice)]), 200));
  assert.deepEqual([second.status, second.code], ['ERROR', Tx.INSUFFICIENT_BALANCE]);
});

test('a payer that has lost its balance pays for as many as it can; the others are dropped', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const sent = [];
  for (const [source, target] of [[alice, bob], [bob, alice]])
    sent.push(await client.send(client.bump(payer, client.build(source, [payment(target)]), 200)));
  client.net.chain.state.add({ ...client.account(payer), balance: 10_000_000n + 399n });
  await client.close();
  const statuses = [];
  for (const { hash } of sent) statuses.push((await client.result(hash)).status);
  assert.deepEqual(statuses, ['SUCCESS', 'NOT_FOUND']);
});

test('a transaction that became invalid in the queue is not included', async (t) => {
  const { client, alice, bob } = await start(t);
  const soon = client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(0, client.now + 15) });
  const { hash } = await client.send(soon);
  await client.close(16);
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  assert.equal(await status(client, soon), 'TRY_AGAIN_LATER', 'and is banned');
});

test('a transaction may be in the ledger that closes at its maxTime', async (t) => {
  const { client, alice, bob } = await start(t);
  const { hash } = await client.send(
    client.build(alice, [payment(bob)], { configure: (builder) => builder.setTimebounds(0, client.now + 15) }),
  );
  await client.close(15);
  assert.equal((await client.result(hash)).status, 'SUCCESS');
});

test('a full ledger takes the best fee rates, all at the lowest of them; the others wait at most four ledgers', async (t) => {
  const client = await Client.start(t, { maxOperations: 4 });
  const keys = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) keys.push(...(await client.create([name])));
  const [sink, ...sources] = keys;
  const fees = ['300', '200', '100'];
  const sent = [];
  for (const [index, fee] of fees.entries()) {
    sent.push(await client.send(client.build(sources[index], [payment(sink), payment(sink)], { fee })));
  }
  assert.deepEqual(sent.map((answer) => answer.status), ['PENDING', 'PENDING', 'PENDING']);
  await client.close();
  const [first, second, third] = await Promise.all(sent.map(({ hash }) => client.result(hash)));
  assert.deepEqual([first.feeCharged, second.feeCharged, third.status], [400n, 400n, 'NOT_FOUND']);

  for (let ledger = 0; ledger < 3; ledger++) {
    for (const [index, fee] of ['300', '200'].entries())
      await client.send(client.build(sources[index], [payment(sink), payment(sink)], { fee }));
    await client.close();
  }
  assert.equal((await client.result(sent[2].hash)).status, 'NOT_FOUND');
  await client.close();
  assert.equal((await client.result(sent[2].hash)).status, 'NOT_FOUND', 'aged out after four ledgers');
});

test('a full queue evicts cheaper transactions, or returns the required fee', async (t) => {
  const client = await Client.start(t, { maxOperations: 2 });
  const keys = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) keys.push(...(await client.create([name])));
  const [sink, ...sources] = keys;
  const pay = (index, fee) => client.build(sources[index], [payment(sink)], { fee });
  const cheap = pay(0, '150');
  assert.equal(await status(client, cheap), 'PENDING');
  for (const index of [1, 2, 3]) assert.equal(await status(client, pay(index, '200')), 'PENDING');
  const refused = await client.send(pay(4, '150'));
  assert.deepEqual([refused.status, refused.code, refused.feeCharged], ['ERROR', Tx.INSUFFICIENT_FEE, 151n]);
  assert.equal(await status(client, pay(4, '151')), 'PENDING');
  assert.equal(await status(client, cheap), 'TRY_AGAIN_LATER', 'the evicted one is banned');
  assert.equal(client.net.chain.queue.size, 4);
});

test('a merged source does not affect the queue of others; its own next transaction gets txNO_ACCOUNT', async (t) => {
  const { client, alice, bob } = await start(t);
  await client.send(client.build(bob, [payment(alice)]));
  await client.include(client.build(alice, [Operation.accountMerge({ destination: bob.publicKey() })]));
  assert.equal((await client.send(client.build(alice, [payment(bob)], { sequence: 1n }))).code, Tx.NO_ACCOUNT);
});

test('a transaction larger than a ledger is PENDING and ages out; one larger than the queue gets TRY_AGAIN_LATER', async (t) => {
  const { client, alice, bob, payer } = await start(t, { maxOperations: 3 });
  const payments = (count) => Array.from({ length: count }, () => payment(bob));
  const larger = client.build(alice, payments(7));
  assert.equal(await status(client, larger), 'TRY_AGAIN_LATER');
  assert.equal(client.net.chain.queue.size, 0);
  assert.equal(await status(client, larger), 'TRY_AGAIN_LATER');
  const inner = client.build(alice, payments(6));
  assert.equal(await status(client, client.bump(payer, inner, 1_000)), 'TRY_AGAIN_LATER', 'a fee bump counts as one more');
  const large = client.build(alice, payments(4));
  for (let ledger = 0; ledger < 4; ledger++) {
    assert.equal(await status(client, large), ledger === 0 ? 'PENDING' : 'DUPLICATE');
    await client.close();
  }
  assert.equal(await status(client, large), 'TRY_AGAIN_LATER');
  assert.equal((await client.result(Buffer.from(large.hash()).toString('hex'))).status, 'NOT_FOUND');
});

test('a replacement keeps the age of what it replaces', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  client.net.faults.configure({ emptyLedger: 1 });
  const inner = client.build(alice, [payment(bob)]);
  await client.send(inner);
  for (let ledger = 0; ledger < 3; ledger++) await client.close();
  const bump = client.bump(payer, inner, 2000);
  assert.equal(await status(client, bump), 'PENDING');
  await client.close();
  assert.equal(await status(client, bump), 'TRY_AGAIN_LATER', 'gone four ledgers after the first one');
  assert.equal(await status(client, client.bump(payer, inner, 2002)), 'PENDING', 'another hash is not banned, and starts again');
  for (let ledger = 0; ledger < 3; ledger++) await client.close();
  assert.equal(client.net.chain.queue.size, 1);
});

test('until the next ledger, newcomers must offer more than what was evicted, even if there is room', async (t) => {
  const client = await Client.start(t, { maxOperations: 2 });
  const keys = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) keys.push(...(await client.create([name])));
  const [sink, ...sources] = keys;
  const pay = (index, fee, count = 1) => client.build(sources[index], Array(count).fill(payment(sink)), { fee });
  for (const transaction of [pay(0, '150', 2), pay(1, '200'), pay(2, '200')])
    assert.equal(await status(client, transaction), 'PENDING');
  assert.equal(await status(client, pay(3, '300')), 'PENDING', 'evicts two operations at 150, so there is room for one');
  const cheap = pay(4, '150');
  const refused = await client.send(cheap);
  assert.deepEqual([refused.status, refused.code, refused.feeCharged], ['ERROR', Tx.INSUFFICIENT_FEE, 151n]);
  assert.equal(await status(client, cheap), 'TRY_AGAIN_LATER', 'banned at once');
  await client.close();
  assert.equal(await status(client, pay(4, '100')), 'PENDING');
});

test('no room for a replacement if what it replaces is the cheapest: TRY_AGAIN_LATER', async (t) => {
  const client = await Client.start(t, { maxOperations: 1 });
  const keys = [];
  for (const name of ['a', 'b', 'c', 'd']) keys.push(...(await client.create([name])));
  const [sink, payer, first, second] = keys;
  const inner = client.build(first, [payment(sink)]);
  await client.send(inner);
  await client.send(client.build(second, [payment(sink)], { fee: '200' }));
  assert.equal(await status(client, client.bump(payer, inner, 8_000)), 'TRY_AGAIN_LATER');
  assert.equal(await status(client, inner), 'DUPLICATE', 'the queued one stays');
});

test('of several reasons to refuse the first one decides', async (t) => {
  const client = await Client.start(t, { maxOperations: 2 });
  const keys = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) keys.push(...(await client.create([name])));
  const [poor] = await client.create(['poor'], '1.0000300');
  const [sink, payer, first, second, third] = keys;
  const answer = async (transaction) => {
    const { error, status: name, code, inner, feeCharged } = await client.send(transaction);
    return [error?.message ?? name, code, inner, feeCharged].filter((part) => part !== undefined);
  };
  const pay = (source, options) => client.build(source, [payment(sink)], options);
  const applied = pay(first);
  await client.include(applied);
  assert.deepEqual(await answer(applied), ['TRY_AGAIN_LATER'], 'banned, then used');

  assert.deepEqual(await answer(client.bump(poor, pay(first), 200)), ['PENDING']);
  const unpaid = client.bump(poor, pay(second, { sequence: 1n }), 200);
  assert.deepEqual(await answer(unpaid), ['ERROR', Tx.FEE_BUMP_INNER_FAILED, Tx.BAD_SEQ, 200n], 'invalid, then unpaid');
  assert.deepEqual(await answer(client.bump(payer, pay(third), 2_000)), ['PENDING']);
  const invalid = pay(second, { sequence: 1n });
  assert.deepEqual(await answer(invalid), ['ERROR', Tx.INSUFFICIENT_FEE, 101n], 'no room, then invalid');
  for (const attempt of ['too little to replace, then no room', 'and not banned'])
    assert.deepEqual(await answer(client.bump(payer, pay(third), 19_998)), ['ERROR', Tx.INSUFFICIENT_FEE, 20_000n], attempt);
});

test('what was queued when the transactions of a ledger were chosen, and what is queued now', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const plain = client.build(alice, [payment(bob)]);
  const inner = client.build(bob, [payment(alice)]);
  const bump = client.bump(payer, inner, 400);
  const hashOf = (transaction) => Buffer.from(transaction.hash()).toString('hex');
  const waiting = [
    { hash: hashOf(plain), innerHash: hashOf(plain), fee: '100' },
    { hash: hashOf(bump), innerHash: hashOf(inner), fee: '400' },
  ];
  const events = [];
  client.net.chain.on('closed', ({ queued }) => events.push(queued));
  await client.send(plain);
  await client.send(bump);
  assert.deepEqual(client.net.chain.queued, waiting);
  client.net.faults.configure({ emptyLedger: 1 });
  await client.close();
  client.net.faults.configure({ emptyLedger: 0, delayLedgers: 100 });
  const late = client.build(payer, [payment(bob)]);
  await client.send(late);
  await client.close();
  const delayed = { hash: hashOf(late), innerHash: hashOf(late), fee: '100', delayed: true };
  assert.deepEqual([...events, client.net.chain.queued], [waiting, [...waiting, delayed], [delayed]]);
});
