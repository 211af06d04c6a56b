// Sponsored reserves (CAP-33): who pays for what, and what must not be left open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { Op, Tx } from '../results.mjs';
import { Client, keypair, payment } from './harness.mjs';

const begin = (sponsored, source) =>
  Operation.beginSponsoringFutureReserves({ sponsoredId: sponsored.publicKey(), source: source?.publicKey() });
const end = (sponsored) => Operation.endSponsoringFutureReserves({ source: sponsored.publicKey() });
const create = (key, startingBalance = '0') =>
  Operation.createAccount({ destination: key.publicKey(), startingBalance });
const sponsoredCreation = (keys) => keys.flatMap((key) => [begin(key), create(key), end(key)]);

const start = async (t, balance) => {
  const client = await Client.start(t);
  const [sponsor, other] = await client.create(['sponsor', 'other'], balance);
  const apply = async (operations, signers = [], source = sponsor) => {
    const result = await client.include(client.build(source, operations, { signers }));
    return { ...result, codes: result.operations.map(({ any, own }) => any ?? own) };
  };
  return { client, sponsor, other, apply };
};

test('nineteen accounts without a balance in one transaction of twenty signatures', async (t) => {
  const { client, sponsor, apply } = await start(t);
  const keys = Array.from({ length: 19 }, (_, index) => keypair(`channel ${index}`));
  const { status, meta } = await apply(sponsoredCreation(keys), keys);
  assert.equal(status, 'SUCCESS');
  const id = client.account(sponsor).id;
  for (const key of keys) {
    const account = client.account(key);
    assert.deepEqual([account.balance, account.sponsored, account.sponsoring, account.sponsor, account.extension], [0n, 2, 0, id, 2]);
  }
  assert.equal(client.account(sponsor).sponsoring, 38);
  assert.deepEqual(meta.operations.map(({ changes }) => changes.length), keys.flatMap(() => [0, 3, 0]));
});

test('without a sponsor an account needs its reserve', async (t) => {
  const { apply } = await start(t);
  assert.deepEqual((await apply([create(keypair('channel'))])).codes, [-3]);
});

test('the sponsor must have the reserve to spare', async (t) => {
  const { client, apply } = await start(t, '2.5');
  const [one, two] = [keypair('one'), keypair('two')];
  assert.equal((await apply(sponsoredCreation([one]), [one])).status, 'SUCCESS');
  assert.deepEqual((await apply(sponsoredCreation([two]), [two])).codes, [0, -3, -2], 'LOW_RESERVE; the end then has no source account');
  assert.equal(client.account(two), null);
});

test('a sponsor cannot spend the reserve of what it sponsors', async (t) => {
  const { client, other, apply } = await start(t, '3');
  const channel = keypair('channel');
  await apply(sponsoredCreation([channel]), [channel]);
  assert.deepEqual((await apply([payment(other, '1.5')])).codes, [-2]);
  assert.deepEqual((await apply([payment(other, '0.9')])).codes, [0]);
  assert.ok(client.account(channel));
});

test('the sponsored account must agree: its end needs its signature', async (t) => {
  const { client, sponsor } = await start(t);
  const channel = keypair('channel');
  const { code, operations } = await client.send(client.build(sponsor, sponsoredCreation([channel])));
  assert.equal(code, Tx.FAILED);
  assert.deepEqual(operations.at(-1), { any: Op.BAD_AUTH });
});

test('txBAD_SPONSORSHIP: begun and not ended; the sequence is consumed', async (t) => {
  const { client, sponsor, other, apply } = await start(t);
  const { sequence } = client.account(sponsor);
  const result = await apply([begin(other)]);
  assert.deepEqual([result.status, result.code, result.meta.operations], ['FAILED', Tx.BAD_SPONSORSHIP, []]);
  assert.equal(client.account(sponsor).sequence, sequence + 1n);
});

test('begin: itself, twice, and in chains are refused; end without begin too', async (t) => {
  const { client, sponsor, other, apply } = await start(t);
  const [third] = await client.create(['third']);
  const { code, operations } = await client.send(client.build(sponsor, [begin(sponsor)]));
  assert.deepEqual([code, operations], [Tx.FAILED, [{ own: -1 }]], 'MALFORMED');
  assert.deepEqual((await apply([begin(other), begin(other), end(other)], [other])).codes, [0, -2, 0], 'ALREADY_SPONSORED');
  assert.deepEqual((await apply([begin(other), begin(third, other), end(other)], [other])).codes, [0, -3, 0], 'RECURSIVE');
  assert.deepEqual((await apply([begin(other), begin(sponsor, third), end(other)], [other, third])).codes, [0, -3, 0], 'RECURSIVE');
  assert.deepEqual((await apply([Operation.endSponsoringFutureReserves({})])).codes, [-1], 'NOT_SPONSORED');
});

test('signers and trust lines can be sponsored, and return the reserve', async (t) => {
  const { client, sponsor, other, apply } = await start(t);
  const signer = { ed25519PublicKey: keypair('signer').publicKey() };
  const source = other.publicKey();
  const asset = new Asset('USD', sponsor.publicKey());
  const operations = [
    begin(other),
    Operation.setOptions({ source, signer: { ...signer, weight: 1 } }),
    Operation.changeTrust({ source, asset }),
    end(other),
  ];
  assert.equal((await apply(operations, [other])).status, 'SUCCESS');
  assert.equal(client.account(sponsor).sponsoring, 2);
  const account = client.account(other);
  assert.deepEqual([account.sponsored, account.subEntries, account.signers[0].sponsor], [2, 2, client.account(sponsor).id]);

  const removal = [Operation.setOptions({ signer: { ...signer, weight: 0 } }), Operation.changeTrust({ asset, limit: '0' })];
  assert.equal((await apply(removal, [], other)).status, 'SUCCESS');
  assert.equal(client.account(sponsor).sponsoring, 0);
  assert.deepEqual([client.account(other).sponsored, client.account(other).subEntries], [0, 0]);
});

test('a sponsored account merges into its sponsor, which gets the reserve back', async (t) => {
  const { client, sponsor, other, apply } = await start(t);
  const channel = keypair('channel');
  const signer = { ed25519PublicKey: keypair('signer').publicKey(), weight: 1 };
  await apply([begin(channel), create(channel), Operation.setOptions({ source: channel.publicKey(), signer }), end(channel)], [channel]);
  assert.equal(client.account(sponsor).sponsoring, 3);
  const merge = Operation.accountMerge({ source: channel.publicKey(), destination: sponsor.publicKey() });
  const { status } = await client.include(client.build(other, [merge], { signers: [channel] }));
  assert.equal(status, 'SUCCESS');
  assert.equal(client.account(channel), null);
  assert.equal(client.account(sponsor).sponsoring, 0);
});

test('an account that sponsors anything, or is about to, cannot be merged', async (t) => {
  const { client, sponsor, other, apply } = await start(t);
  const channel = keypair('channel');
  await apply(sponsoredCreation([channel]), [channel]);
  const merge = Operation.accountMerge({ destination: other.publicKey() });
  assert.deepEqual((await apply([merge])).codes, [-7], 'IS_SPONSOR');
  const [third] = await client.create(['third']);
  const open = [begin(other, third), Operation.accountMerge({ source: third.publicKey(), destination: sponsor.publicKey() }), end(other)];
  assert.deepEqual((await apply(open, [third, other])).codes, [0, -7, 0], 'IS_SPONSOR');
});

test('opTOO_MANY_SPONSORING: counters do not overflow', async (t) => {
  const { client, sponsor, apply } = await start(t, '1000000000');
  client.net.chain.state.add({ ...client.account(sponsor), sponsoring: 0xffffffff, sponsored: 0xffffffff, extension: 2 });
  const channel = keypair('channel');
  assert.deepEqual((await apply(sponsoredCreation([channel]), [channel])).codes[1], Op.TOO_MANY_SPONSORING);
});
