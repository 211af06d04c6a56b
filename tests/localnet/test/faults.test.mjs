// Every fault setting: each fault happens when it is set, and none happens otherwise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { Faults } from '../faults.mjs';
import { Past } from '../past.mjs';
import { decode } from '../xdr.mjs';
import { Client, payment, rpcCall } from './harness.mjs';

const faulty = async (t, faults) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  client.net.faults.configure({ seed: 7, ...faults });
  return { client, alice, bob };
};

const pay = (client, from, to, options) => client.build(from, [payment(to)], options);
const ledgerKey = (key) =>
  xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: xdr.PublicKey.publicKeyTypeEd25519(key.rawPublicKey()) }));
const sequenceSeen = async (client, key) => {
  const account = await client.server.getAccountEntry(key.publicKey());
  return account.seqNum;
};

test('no fault happens unless it is set', async (t) => {
  const { client, alice, bob } = await faulty(t, {});
  for (let i = 0; i < 20; i++) assert.equal((await client.include(pay(client, alice, bob))).status, 'SUCCESS');
  const { result } = await client.call('localnet_faults');
  assert.deepEqual(new Set(Object.values(result.fired)), new Set([0]));
});

test('a control method changes and resets settings, and refuses a request with a wrong one completely', async (t) => {
  const { client } = await faulty(t, {});
  const { result } = await client.call('localnet_faults', { seed: 'abc', late: 0.5, delayMs: 10 });
  assert.equal(result.settings.seed, 'abc');
  assert.equal(result.settings.late, 0.5);
  for (const wrong of [{ late: 1.5 }, { late: -1 }, { late: '1' }, { delayMs: 0.5 }, { lagLedgers: 41 }, { no: 1 }])
    assert.equal((await client.call('localnet_faults', { delayMs: 20, ...wrong })).error.code, -32602);
  assert.equal((await client.call('localnet_faults', { reset: true, late: 1 })).result.settings.delayMs, 0);
});

test('the same seed makes the same decisions, and another seed others', () => {
  const decisions = (seed) => {
    const faults = new Faults({ seed, loseAnswer: 0.5, lagSpread: 9, late: 0.5 });
    return Array.from({ length: 100 }, (_, i) => [
      faults.happens('loseAnswer'),
      faults.lag(),
      faults.happensTo('late', { hashHex: String(i) }),
    ]);
  };
  assert.deepEqual(decisions(1), decisions(1));
  assert.notDeepEqual(decisions(1), decisions(2));
});

test('what happens to a transaction does not depend on the order of arrival', () => {
  const fates = (order) => {
    const faults = new Faults({ seed: 3, late: 0.5, delayLedgers: 5 });
    return new Map(order.map((hashHex) => [hashHex, [faults.happensTo('late', { hashHex }), faults.delayOf({ hashHex })]]));
  };
  const there = fates(['a', 'b', 'c', 'd']), back = fates(['d', 'c', 'b', 'a']);
  for (const [hash, fate] of there) assert.deepEqual(back.get(hash), fate);
});

test('the state before a ledger does not change while other ledgers close', () => {
  const past = new Past(), state = new Map([['entry', 1]]);
  const close = (sequence, value) => {
    past.add(sequence, new Map([['entry', state.get('entry')]]));
    state.set('entry', value);
  };
  const early = past.stateAt(4, { peek: (key) => state.get(key) });
  close(5, 2);
  assert.equal(early.peek('entry'), 1);
  close(6, 3);
  assert.equal(early.peek('entry'), 1);
});

test('a node that lags serves ledgers, entries and transactions as of the same earlier ledger', async (t) => {
  const { client, alice, bob } = await faulty(t, {});
  const before = await sequenceSeen(client, alice);
  const { hash } = await client.send(pay(client, alice, bob));
  await client.close();
  const latest = client.net.chain.history.latest;
  client.net.faults.configure({ lagLedgers: 1 });
  assert.equal(await sequenceSeen(client, alice), before);
  const { latestLedger } = await client.server.getLedgerEntries(ledgerKey(alice));
  assert.equal(latestLedger, latest - 1);
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  const { result: ledgers } = await client.call('getLedgers', { startLedger: latest - 1 });
  assert.deepEqual([ledgers.latestLedger, ledgers.ledgers.length], [latest - 1, 1]);
  assert.match((await client.call('getLedgers', { startLedger: latest })).error.message, /must be between/);
  assert.equal((await client.call('getLatestLedger')).result.sequence, latest - 1);
  assert.equal((await client.call('getHealth')).result.latestLedger, latest - 1);
  await client.close();
  assert.equal(await sequenceSeen(client, alice), before + 1n);
  assert.equal((await client.result(hash)).status, 'SUCCESS');
});

test('a node that lags refuses sequence numbers beyond the next one it knows', async (t) => {
  const { client, alice, bob } = await faulty(t, {});
  await client.include(pay(client, alice, bob));
  client.net.faults.configure({ lagLedgers: 1 });
  const next = pay(client, alice, bob);
  assert.deepEqual(await client.send(next).then(({ status, code }) => [status, code]), ['ERROR', -5]);
  client.net.faults.configure({ lagLedgers: 0 });
  assert.equal((await client.send(next)).status, 'PENDING');
});

test('with a load balancer each request has another lag', async (t) => {
  const { client } = await faulty(t, {});
  for (let i = 0; i < 10; i++) await client.close();
  client.net.faults.configure({ lagSpread: 5 });
  const seen = new Set();
  for (let i = 0; i < 60; i++) seen.add((await client.call('getHealth')).result.latestLedger);
  assert.equal(seen.size, 6);
});

test('a lost request is not executed; a lost answer is, without a response', async (t) => {
  const { client, alice, bob } = await faulty(t, { loseRequest: 1 });
  const transaction = pay(client, alice, bob);
  await assert.rejects(client.send(transaction));
  assert.equal(client.net.chain.queue.size, 0);
  client.net.faults.configure({ loseRequest: 0, loseAnswer: 1 });
  await assert.rejects(client.send(transaction));
  assert.equal(client.net.chain.queue.size, 1);
  client.net.faults.configure({ loseAnswer: 0 });
  assert.equal((await client.send(transaction)).status, 'DUPLICATE');
});

test('control methods have no faults', async (t) => {
  const { client } = await faulty(t, { loseRequest: 1, loseAnswer: 1, internalError: 1, unavailable: 1 });
  assert.ok((await client.call('localnet_status')).result.latestLedger > 0);
});

test('responses are 429, 503, an internal error, or late', async (t) => {
  const { client } = await faulty(t, { tooManyRequests: 1 });
  const ask = () =>
    fetch(client.net.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"getHealth"}',
    });
  assert.equal((await ask()).status, 429);
  client.net.faults.configure({ reset: true, unavailable: 1 });
  assert.equal((await ask()).status, 503);
  client.net.faults.configure({ reset: true, internalError: 1 });
  assert.equal((await rpcCall(client.net.url, { jsonrpc: '2.0', id: 1, method: 'getHealth' })).error.code, -32603);
  client.net.faults.configure({ reset: true, delayMs: 200 });
  const begun = performance.now();
  for (let i = 0; i < 5; i++) assert.equal((await ask()).status, 200);
  assert.ok(performance.now() - begun > 100);
});

test('a snapshot that core has not published yet: getLedgerEntries fails, and the same call succeeds later', async (t) => {
  const { client, alice } = await faulty(t, { snapshotMissing: 0.5 });
  const answers = { failed: 0, found: 0 };
  for (let i = 0; i < 40; i++) {
    const { result, error } = await client.call('getLedgerEntries', { keys: [ledgerKey(alice).toXdr('base64')] });
    if (error)
      assert.deepEqual(error, {
        code: -32603,
        message: 'could not query captive core: http request failed with non-200 status code (404)',
      });
    answers[error ? 'failed' : 'found'] += error ? 1 : result.entries.length;
  }
  assert.ok(answers.failed > 5 && answers.found > 5 && answers.failed + answers.found === 40, JSON.stringify(answers));
  assert.equal((await client.call('getHealth')).error, undefined, 'no other method fails');
});

test('TRY_AGAIN_LATER queues nothing', async (t) => {
  const { client, alice, bob } = await faulty(t, { tryAgainLater: 1 });
  assert.equal((await client.send(pay(client, alice, bob))).status, 'TRY_AGAIN_LATER');
  assert.equal(client.net.chain.queue.size, 0);
});

test('a lost submission is PENDING, is never included, and may be sent again', async (t) => {
  const { client, alice, bob } = await faulty(t, { loseSubmission: 1 });
  const transaction = pay(client, alice, bob);
  const { status, hash } = await client.send(transaction);
  assert.equal(status, 'PENDING');
  for (let i = 0; i < 5; i++) await client.close();
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  client.net.faults.configure({ loseSubmission: 0 });
  assert.equal((await client.include(transaction)).status, 'SUCCESS');
});

test('submissions that take their time arrive in another order, each once', async (t) => {
  const { client, bob } = await faulty(t, {});
  const names = Array.from({ length: 12 }, (_, i) => `sender ${i}`);
  const senders = await client.create(names);
  client.net.faults.configure({ delayLedgers: 5 });
  const sent = [];
  for (const sender of senders) sent.push((await client.send(pay(client, sender, bob))).hash);
  assert.equal((await client.send(pay(client, senders[0], bob))).status, 'DUPLICATE');
  for (let i = 0; i < 7; i++) await client.close();
  const ledgers = [];
  for (const hash of sent) ledgers.push((await client.result(hash)).ledger);
  assert.ok(ledgers.every((ledger) => ledger > 0), `${ledgers}`);
  assert.ok(new Set(ledgers).size > 2);
  assert.notDeepEqual(ledgers, [...ledgers].sort((a, b) => a - b));
});

test('a late transaction is in the last ledger that its max time allows', async (t) => {
  const { client, alice, bob } = await faulty(t, { late: 1 });
  const maxTime = client.now + 23; // ledgers close every 5 seconds
  const { hash } = await client.send(pay(client, alice, bob, { timeout: null, configure: (builder) => builder.setTimebounds(0, maxTime) }));
  for (let i = 0; i < 6; i++) await client.close();
  const { ledger, status } = await client.result(hash);
  assert.equal(status, 'SUCCESS');
  const closeTime = (sequence) => Number(client.net.chain.history.summary(sequence).closeTime);
  assert.ok(closeTime(ledger) <= maxTime && closeTime(ledger + 1) > maxTime);
});

test('a late transaction is in the last ledger that its ledger bound allows', async (t) => {
  const { client, alice, bob } = await faulty(t, { late: 1 });
  const maxLedger = client.net.chain.history.latest + 5;
  const { hash } = await client.send(pay(client, alice, bob, { configure: (builder) => builder.setLedgerbounds(0, maxLedger) }));
  for (let i = 0; i < 6; i++) await client.close();
  assert.equal((await client.result(hash)).ledger, maxLedger - 1); // exclusive (CAP-21)
});

test('after an empty ledger the next one has the waiting transactions', async (t) => {
  const { client, alice, bob } = await faulty(t, { emptyLedger: 1 });
  const { hash } = await client.send(pay(client, alice, bob));
  await client.close();
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  client.net.faults.configure({ emptyLedger: 0 });
  await client.close();
  assert.equal((await client.result(hash)).status, 'SUCCESS');
});

test('a dropped ledger names its set, has no transaction, and keeps them for the next one (CAP-83)', async (t) => {
  const { client, alice, bob } = await faulty(t, { dropLedger: 1 });
  const { hash } = await client.send(pay(client, alice, bob));
  await client.close();
  const latest = client.net.chain.history.latest;
  const { result } = await client.call('getLedgers', { startLedger: latest });
  const { header } = decode('LedgerHeaderHistoryEntry', Buffer.from(result.ledgers[0].headerXdr, 'base64'));
  assert.equal(header.scpValue.ext.v, 2);
  assert.ok(Buffer.from(header.scpValue.txSetHash).equals(Buffer.alloc(32)));
  assert.ok(!Buffer.from(header.scpValue.ext.proposedValue.txSetHash).equals(Buffer.alloc(32)));
  const meta = decode('LedgerCloseMeta', Buffer.from(result.ledgers[0].metadataXdr, 'base64'));
  assert.equal(meta.v2.txProcessing.length, 0);
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  client.net.faults.configure({ dropLedger: 0 });
  await client.close();
  assert.equal((await client.result(hash)).status, 'SUCCESS');
});

test('a dropped ledger also keeps transactions that were delayed until it', async (t) => {
  const { client, alice, bob } = await faulty(t, { delayLedgers: 3, dropLedger: 1 });
  const { hash } = await client.send(pay(client, alice, bob));
  for (let i = 0; i < 4; i++) await client.close();
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  client.net.faults.configure({ dropLedger: 0 });
  for (let i = 0; i < 4; i++) await client.close();
  assert.equal((await client.result(hash)).status, 'SUCCESS');
});

test('a close time that jumps is ahead of the clock, and never goes back', async (t) => {
  const { client } = await faulty(t, { jump: 1, jumpSeconds: 60 });
  const times = [];
  for (let i = 0; i < 20; i++) times.push(Number((await client.close(1)).scpValue.closeTime));
  assert.ok(times.some((time, i) => time > client.now - 20 + i + 1));
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  client.net.faults.configure({ jump: 0 });
  client.pass(100);
  assert.equal(Number((await client.close(0)).scpValue.closeTime), client.now);
});

test('ledgers that scatter close up to so much later than is due', async (t) => {
  const { net } = await Client.start(t, { ledgerMs: 100, clock: Date.now, faults: { scatterMs: 80 } });
  const begun = Date.now(), times = [];
  await new Promise((over) => net.chain.on('closed', () => times.push(Date.now()) === 10 && over()));
  const late = times.map((time, i) => time - begun - (i + 1) * 100);
  assert.ok(Math.max(...late) - Math.min(...late) > 20 && Math.min(...late) > -20, String(late));
});

test('an unknown fault setting is refused at start', async (t) => {
  await assert.rejects(Client.start(t, { faults: { lte: 1 } }), RangeError);
});
