// Stellar RPC as clients see it: fields, which numbers are strings, ranges, limits, error codes and texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation, SorobanDataBuilder, xdr } from '@stellar/stellar-sdk';
import { Client, START_MS, keypair, payment } from './harness.mjs';

const CLOSE_TIME = START_MS / 1000;
const hashOf = (transaction) => Buffer.from(transaction.hash()).toString('hex');

test('getHealth: fields, and the error once the last ledger is too old', async (t) => {
  const client = await Client.start(t, { retention: 7 });
  const { result } = await client.call('getHealth');
  assert.deepEqual(result, {
    status: 'healthy',
    latestLedger: 2,
    latestLedgerCloseTime: String(CLOSE_TIME),
    oldestLedger: 2,
    oldestLedgerCloseTime: String(CLOSE_TIME),
    ledgerRetentionWindow: 7,
  });
  const late = { 31: '31s', 130: '2m10s', 3605: '1h0m5s' };
  let passed = 0;
  for (const [seconds, duration] of Object.entries(late)) {
    client.pass(seconds - passed);
    passed = Number(seconds);
    assert.deepEqual((await client.call('getHealth')).error, {
      code: -32603,
      message: `[-32603] latency (${duration}) since last known ledger closed is too high (>30s)`,
    });
  }
});

test('getNetwork and getLatestLedger, read by the SDK too', async (t) => {
  const client = await Client.start(t, { passphrase: 'some other network' });
  const network = { friendbotUrl: `${client.net.url}/friendbot`, passphrase: 'some other network', protocolVersion: 28 };
  assert.deepEqual((await client.call('getNetwork')).result, network);
  assert.deepEqual({ ...(await client.server.getNetwork()) }, network);

  const { result } = await client.call('getLatestLedger');
  const { header, hash } = client.net.chain.head;
  assert.deepEqual(
    [result.id, result.protocolVersion, result.sequence, result.closeTime],
    [hash.toString('hex'), 28, 2, String(CLOSE_TIME)],
  );
  assert.equal(result.headerXdr, Buffer.from(xdr.LedgerHeader.schema.encode(header)).toString('base64'));
  assert.equal((await client.server.getLatestLedger()).sequence, 2);
});

test('getNetwork without a friendbot, as on most nodes; friendbot still works', async (t) => {
  const client = await Client.start(t, { hideFriendbot: true });
  const { passphrase } = client.net.network;
  assert.deepEqual((await client.call('getNetwork')).result, { passphrase, protocolVersion: 28 });
  const funded = fetch(`${client.net.url}/friendbot?addr=${keypair('someone').publicKey()}`);
  while (client.net.friendbot.waiting === 0) await new Promise((wake) => setTimeout(wake, 5));
  await client.close();
  assert.equal((await funded).status, 200);
});

test('getVersionInfo, read by the SDK too', async (t) => {
  const client = await Client.start(t);
  const { result } = await client.call('getVersionInfo');
  assert.deepEqual(Object.keys(result).sort(), ['buildTimestamp', 'captiveCoreVersion', 'commitHash', 'protocolVersion', 'version']);
  assert.equal((await client.server.getVersionInfo()).protocolVersion, 28);
});

test('a network may begin at any ledger, which is the oldest one served', async (t) => {
  const client = await Client.start(t, { firstLedger: 61_000_000 });
  await client.create(['alice']);
  const { result } = await client.call('getHealth');
  assert.deepEqual([result.oldestLedger, result.latestLedger], [61_000_000, 61_000_001]);
  assert.equal(client.account(keypair('alice')).sequence, 61_000_001n << 32n);
  assert.match((await client.call('getLedgers', { startLedger: 2 })).error.message, /oldest ledger: 61000000 and/);
});

test('getLedgers: pages, cursor, default limit, and which times are strings', async (t) => {
  const client = await Client.start(t);
  for (let ledger = 0; ledger < 60; ledger++) await client.close();
  const { result: first } = await client.call('getLedgers', { startLedger: 3, pagination: { limit: 2 } });
  assert.deepEqual(first.ledgers.map(({ sequence }) => sequence), [3, 4]);
  assert.deepEqual(Object.keys(first.ledgers[0]).sort(), ['hash', 'headerXdr', 'ledgerCloseTime', 'metadataXdr', 'sequence']);
  assert.equal(first.ledgers[0].ledgerCloseTime, String(CLOSE_TIME + 5));
  assert.deepEqual(
    [first.latestLedger, first.latestLedgerCloseTime, first.oldestLedger, first.oldestLedgerCloseTime, first.cursor],
    [62, CLOSE_TIME + 300, 2, CLOSE_TIME, '4'],
  );
  const { result: next } = await client.call('getLedgers', { pagination: { cursor: '4', limit: 2 } });
  assert.deepEqual(next.ledgers.map(({ sequence }) => sequence), [5, 6]);
  const { result: usual } = await client.call('getLedgers', { startLedger: 2, pagination: { limit: 0 } });
  assert.equal(usual.ledgers.length, 50);
  const { result: tip } = await client.call('getLedgers', { startLedger: 61, pagination: { limit: 200 } });
  assert.deepEqual([tip.ledgers.length, tip.cursor], [2, '62']);
  const bySdk = await client.server.getLedgers({ startLedger: 3, pagination: { limit: 1 } });
  assert.equal(bySdk.ledgers[0].sequence, 3);
});

test('getLedgers: out of range on both sides, with both forms of the error; limits', async (t) => {
  const client = await Client.start(t, { retention: 3 });
  for (let ledger = 0; ledger < 8; ledger++) await client.close();
  const error = async (params) => (await client.call('getLedgers', params)).error;
  const range = 'must be between the oldest ledger: 8 and the latest ledger: 10 for this rpc instance';
  assert.deepEqual(await error({ startLedger: 7 }), { code: -32600, message: `start ledger (7) ${range}` });
  assert.deepEqual(await error({ startLedger: 11 }), { code: -32600, message: `start ledger (11) ${range}` });
  assert.deepEqual(await error({}), { code: -32600, message: `start ledger (0) ${range}` });
  assert.deepEqual(await error({ pagination: { cursor: '6' } }), { code: -32602, message: `cursor ('6') ${range}` });
  assert.deepEqual(await error({ pagination: { cursor: '10' } }), { code: -32602, message: `cursor ('10') ${range}` });
  assert.deepEqual(await error({ startLedger: 8, pagination: { limit: 201 } }), { code: -32600, message: 'limit must not exceed 200' });
  assert.equal((await error({ startLedger: 8, pagination: { cursor: '8' } })).code, -32600);
  assert.equal((await error({ pagination: { cursor: 'x' } })).code, -32602);
  const { result } = await client.call('getLedgers', { pagination: { cursor: '7' } });
  assert.deepEqual(result.ledgers.map(({ sequence }) => sequence), [8, 9, 10]);
});

const accountKey = (key) =>
  xdr.LedgerKey.schema.encode({ type: 0, account: { accountId: { type: 0, ed25519: key.rawPublicKey() } } });
const base64 = (bytes) => Buffer.from(bytes).toString('base64');

test('getLedgerEntries: in the order of the request, nothing for missing entries, at most 200 keys', async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  await client.include(client.build(alice, [Operation.changeTrust({ asset: new Asset('USD', bob.publicKey()) })]));
  const [mine, hers] = [alice, bob].map((key) => ({ accountId: { type: 0, ed25519: key.rawPublicKey() } }));
  const line = { ...mine, asset: { type: 1, alphaNum4: { assetCode: Buffer.from('USD\0'), issuer: hers.accountId } } };
  const others = [
    { type: 1, trustLine: line },
    { type: 3, data: { ...mine, dataName: new xdr.XdrString('there are no data entries') } },
  ].map((key) => xdr.LedgerKey.schema.encode(key));
  const keys = [bob, keypair('nobody'), alice].map(accountKey).concat(others).map(base64);
  const { result } = await client.call('getLedgerEntries', { keys });
  assert.deepEqual(result.entries.map(({ key }) => key), [keys[0], keys[2], keys[3]]);
  assert.equal(result.latestLedger, 4);
  assert.deepEqual(Object.keys(result.entries[0]).sort(), ['extXdr', 'key', 'lastModifiedLedgerSeq', 'xdr']);
  const { trustLine } = xdr.LedgerEntryData.schema.decode(Buffer.from(result.entries[2].xdr, 'base64'));
  assert.deepEqual([trustLine.balance, trustLine.flags], [0n, 1]);
  assert.equal((await client.server.getAccount(alice.publicKey())).sequenceNumber(), String(client.account(alice).sequence));

  const error = async (list) => (await client.call('getLedgerEntries', { keys: list })).error;
  assert.deepEqual(await error(Array(201).fill(keys[0])), { code: -32602, message: 'key count (201) exceeds maximum supported (200)' });
  const many = Array.from({ length: 198 }, (_, index) => base64(accountKey(keypair(`nobody ${index}`))));
  assert.equal((await client.call('getLedgerEntries', { keys: [keys[0], keys[2], ...many] })).result.entries.length, 2);
  assert.deepEqual(await error([keys[0], keys[2], keys[0]]), {
    code: -32603,
    message: 'could not query captive core: http request failed with non-200 status code (404)',
  });
  assert.deepEqual(await error([]), { code: -32603, message: 'could not query captive core: no keys specified in request' });
  assert.equal((await error(['AAAA'])).code, -32602);
  assert.equal((await error([1])).code, -32602);
  assert.equal((await error([base64(xdr.LedgerKey.schema.encode({ type: 9, ttl: { keyHash: Buffer.alloc(32) } }))])).code, -32602);
  const trustline = { type: 1, trustLine: { accountId: { type: 0, ed25519: alice.rawPublicKey() }, asset: { type: 0 } } };
  assert.deepEqual((await client.call('getLedgerEntries', { keys: [base64(xdr.LedgerKey.schema.encode(trustline))] })).result.entries, []);
});

test('sendTransaction: fields with and without an error', async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const good = client.build(alice, [payment(bob)]);
  const bad = client.build(bob, [payment(alice)], { unsigned: true });
  const { result: pending } = await client.call('sendTransaction', { transaction: good.toXdr() });
  const known = { latestLedger: 3, latestLedgerCloseTime: String(CLOSE_TIME + 5) };
  assert.deepEqual(pending, { status: 'PENDING', hash: hashOf(good), ...known });
  const { result: error } = await client.call('sendTransaction', { transaction: bad.toXdr() });
  assert.deepEqual(error, { status: 'ERROR', hash: hashOf(bad), errorResultXdr: 'AAAAAAAAAGT////6AAAAAA==', ...known });
});

test('getTransaction: found, failed, not found, and bad hashes', async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const good = client.build(alice, [payment(bob)]);
  const failing = client.build(bob, [payment(keypair('nobody'))]);
  await client.send(good);
  await client.send(failing);
  const nothing = (await client.call('getTransaction', { hash: hashOf(good) })).result;
  const window = {
    latestLedger: 3,
    latestLedgerCloseTime: String(CLOSE_TIME + 5),
    oldestLedger: 2,
    oldestLedgerCloseTime: String(CLOSE_TIME),
  };
  assert.deepEqual(nothing, {
    ...window,
    status: 'NOT_FOUND',
    txHash: hashOf(good),
    applicationOrder: 0,
    feeBump: false,
    events: {},
    ledger: 0,
    createdAt: '0',
  });

  await client.close();
  const { result } = await client.call('getTransaction', { hash: hashOf(good).toUpperCase() });
  const { ledger, createdAt, status, feeBump, envelopeXdr, txHash } = result;
  assert.deepEqual(
    { ledger, createdAt, status, feeBump, envelopeXdr, txHash },
    {
      ledger: 4,
      createdAt: String(CLOSE_TIME + 10),
      status: 'SUCCESS',
      feeBump: false,
      envelopeXdr: good.toXdr(),
      txHash: hashOf(good).toUpperCase(),
    },
  );
  assert.equal((await client.server.getTransaction(hashOf(good))).status, 'SUCCESS');
  assert.equal((await client.call('getTransaction', { hash: hashOf(failing) })).result.status, 'FAILED');
  assert.equal((await client.call('getTransaction', { hash: 'ab' })).error.code, -32602);
  assert.equal((await client.call('getTransaction', { hash: 'x'.repeat(64) })).error.code, -32602);
});

test('simulateTransaction: the error is inside the result', async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const simulate = async (transaction) => (await client.call('simulateTransaction', { transaction })).result;
  const host = xdr.HostFunction.hostFunctionTypeUploadContractWasm(Buffer.from([0]));
  const configure = (builder) => builder.setSorobanData(new SorobanDataBuilder().build());
  const soroban = client.build(alice, [Operation.invokeHostFunction({ func: host, auth: [] })], { configure });
  const error = 'not implemented by this local network: uploading contract code';
  assert.deepEqual(await simulate(soroban.toXdr()), { error, latestLedger: 3 });
  assert.match((await simulate(client.build(alice, [payment(bob)]).toXdr())).error, /unsupported operation type/);
  assert.match((await simulate(client.build(alice, [payment(bob), payment(bob)]).toXdr())).error, /more than one operation/);
  assert.match((await simulate('AAAA')).error, /unmarshal/);
});

test('retention: older ledgers and transactions are neither served nor found', async (t) => {
  const client = await Client.start(t, { retention: 3 });
  const [alice, bob] = await client.create(['alice', 'bob']);
  const { hash } = await client.send(client.build(alice, [payment(bob)]));
  await client.close();
  for (let ledger = 0; ledger < 2; ledger++) await client.close();
  assert.equal((await client.result(hash)).status, 'SUCCESS');
  await client.close();
  assert.equal((await client.result(hash)).status, 'NOT_FOUND');
  assert.equal((await client.call('getHealth')).result.oldestLedger, 5);
});

test('control: status, close, pause and resume', async (t) => {
  const client = await Client.start(t, { ledgerMs: 50, clock: Date.now });
  const latest = async (method, params) => (await client.call(method, params)).result;
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const reaches = async (sequence) => {
    while ((await latest('localnet_status')).latestLedger < sequence) await wait(10);
  };
  await reaches(4);
  const paused = await latest('localnet_pause');
  assert.ok(paused.latestLedger > 3);
  assert.equal(paused.running, false);
  await client.net.chain.settled();
  const before = await latest('localnet_status');
  await wait(150);
  assert.equal((await latest('localnet_status')).latestLedger, before.latestLedger);
  assert.equal((await latest('localnet_closeLedger')).latestLedger, before.latestLedger + 1);
  assert.equal((await latest('localnet_closeLedger', { count: 5 })).latestLedger, before.latestLedger + 6);
  assert.equal((await latest('localnet_resume')).running, true);
  await reaches(before.latestLedger + 7);
  const byHand = await Client.start(t);
  assert.equal((await byHand.call('localnet_resume')).error.code, -32602);
});
