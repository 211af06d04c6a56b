// Trust lines: their limits, reserves, sponsors and flags.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation, xdr } from '@stellar/stellar-sdk';
import { Op } from '../results.mjs';
import { MAX_SUBENTRIES } from '../sponsorship.mjs';
import { raw, start as startApplying } from './applying.mjs';
import { keypair, xlm } from './harness.mjs';

const USD = new Asset('USD', keypair('issuer').publicKey());
const MAX = 2n ** 63n - 1n;
const trust = (limit, source, asset = USD) => Operation.changeTrust({ asset, limit, source: source?.publicKey() });
const pay = (destination, amount) => Operation.payment({ destination: destination.publicKey(), asset: USD, amount });
const flags = (trustor, changes) =>
  Operation.setTrustLineFlags({ trustor: trustor.publicKey(), asset: USD, flags: changes });


const start = async (t) => {
  const world = await startApplying(t);
  const [issuer] = await world.client.create(['issuer']);
  return { ...world, issuer, line: (key) => world.line(key, USD) };
};

test('changeTrust: created, changed and removed, with a subentry and its reserve', async (t) => {
  const { client, alice, applied, line } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  const { balance, limit, flags: first } = line(alice);
  assert.deepEqual([balance, limit, first], [0n, xlm(100), 1]);
  assert.equal(client.account(alice).subEntries, 1);
  assert.equal(await applied(trust(undefined)), 0);
  assert.equal(line(alice).limit, MAX);
  assert.equal(await applied(trust('0')), 0);
  assert.equal(line(alice), null);
  assert.equal(client.account(alice).subEntries, 0);
});

test('changeTrust: failures', async (t) => {
  const { client, alice, issuer, applied, refused } = await start(t);
  const foreign = new Asset('USD', keypair('nobody').publicKey());
  assert.equal(await applied(trust('1', undefined, foreign)), -2, 'NO_ISSUER');
  assert.equal(await applied(trust('0')), -3, 'INVALID_LIMIT: there is none to remove');
  assert.equal(await applied(trust('100')), 0);
  assert.equal(await applied(pay(alice, '10'), { source: issuer }), 0);
  assert.equal(await applied(trust('9.9999999')), -3, 'INVALID_LIMIT: below the balance');
  assert.equal(await applied(trust('0')), -3, 'INVALID_LIMIT: not empty');
  const [poor] = await client.create(['poor'], '1.4');
  assert.equal(await applied(trust('1'), { source: poor }), -4, 'LOW_RESERVE');
  assert.equal(await refused(trust('1'), { source: issuer }), -1, 'MALFORMED: of its own asset');
  assert.equal(await refused(raw(trust('1'), (body) => (body.limit = -1n))), -1, 'MALFORMED');
  assert.equal(await refused(raw(trust('1'), (body) => (body.line = xdr.ChangeTrustAsset.assetTypeNative()))), -1, 'MALFORMED');
  client.net.chain.state.add({ ...client.account(alice), subEntries: MAX_SUBENTRIES });
  const other = new Asset('OTHER', issuer.publicKey());
  assert.deepEqual(await applied(trust('1', undefined, other)), { any: Op.TOO_MANY_SUBENTRIES });
});

test('changeTrust: the limit of a merged issuer\'s asset can only be lowered', async (t) => {
  const { bob, issuer, applied } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  assert.equal(await applied(Operation.accountMerge({ destination: bob.publicKey() }), { source: issuer }), 0);
  assert.equal(await applied(trust('200')), -2, 'NO_ISSUER');
  assert.equal(await applied(trust('0')), 0);
});

test('changeTrust: a sponsor pays the reserve of the line and gets it back', async (t) => {
  const { client, alice, bob, line } = await start(t);
  const [poor] = await client.create(['poor'], '1');
  const operations = [
    Operation.beginSponsoringFutureReserves({ sponsoredId: poor.publicKey() }),
    trust('5', poor),
    Operation.endSponsoringFutureReserves({ source: poor.publicKey() }),
  ];
  assert.equal((await client.include(client.build(alice, operations, { signers: [poor] }))).status, 'SUCCESS');
  assert.equal(line(poor).sponsor, client.account(alice).id);
  assert.deepEqual([client.account(alice).sponsoring, client.account(poor).sponsored], [1, 1]);
  const removal = await client.include(client.build(bob, [trust('0', poor)], { signers: [poor] }));
  assert.equal(removal.status, 'SUCCESS');
  assert.deepEqual([client.account(alice).sponsoring, client.account(poor).sponsored], [0, 0]);
});

test('authorization: lines start unauthorized if the issuer requires it, which can grant and revoke it', async (t) => {
  const { alice, bob, issuer, applied, line } = await start(t);
  assert.equal(await applied(Operation.setOptions({ setFlags: 3 }), { source: issuer }), 0);
  for (const source of [alice, bob]) assert.equal(await applied(trust('100'), { source }), 0);
  assert.equal(line(alice).flags, 0);
  assert.equal(await applied(pay(alice, '10'), { source: issuer }), -7, 'NOT_AUTHORIZED');
  assert.equal(await applied(flags(alice, { authorized: true }), { source: issuer }), 0);
  assert.equal(await applied(pay(alice, '10'), { source: issuer }), 0);
  assert.equal(await applied(pay(bob, '1')), -7, 'NOT_AUTHORIZED: the destination');
  assert.equal(await applied(flags(alice, { authorized: false }), { source: issuer }), 0);
  assert.equal(await applied(flags(bob, { authorized: true }), { source: issuer }), 0);
  assert.equal(await applied(pay(bob, '1')), -4, 'SRC_NOT_AUTHORIZED');
});

test('setTrustLineFlags: failures', async (t) => {
  const { alice, bob, issuer, applied, refused } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  const source = issuer;
  assert.equal(await applied(flags(bob, { authorized: true }), { source }), -2, 'NO_TRUST_LINE');
  assert.equal(await applied(flags(alice, { authorized: false }), { source }), -3, 'CANT_REVOKE');
  assert.equal(await applied(flags(alice, { authorizedToMaintainLiabilities: true }), { source }), -4, 'INVALID_STATE');
  assert.equal(await refused(flags(bob, { authorized: true })), -1, 'MALFORMED: not its asset');
  assert.equal(await refused(flags(issuer, { authorized: true }), { source }), -1, 'MALFORMED: itself');
  const change = (values) => raw(flags(alice, { authorized: true }), (body) => Object.assign(body, values));
  assert.equal(await refused(change({ setFlags: 3 }), { source }), -1, 'MALFORMED: both at once');
  assert.equal(await refused(change({ setFlags: 4 }), { source }), -1, 'MALFORMED: clawback is not given');
  assert.equal(await refused(change({ setFlags: 1, clearFlags: 1 }), { source }), -1, 'MALFORMED: set and cleared');
  assert.equal(await refused(change({ clearFlags: 8 }), { source }), -1, 'MALFORMED: unknown');
});

test('clawback: lines of an issuer that enables it are marked', async (t) => {
  const { alice, issuer, applied, line } = await start(t);
  assert.equal(await applied(Operation.setOptions({ setFlags: 10 }), { source: issuer }), 0);
  assert.equal(await applied(trust('100')), 0);
  assert.equal(line(alice).flags, 5);
});

test('getLedgerEntries returns a trust line that the SDK can read', async (t) => {
  const { client, alice, issuer, applied } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  assert.equal(await applied(pay(alice, '10'), { source: issuer }), 0);
  const trustLine = await client.server.getTrustline(alice.publicKey(), USD);
  assert.deepEqual([trustLine.balance, trustLine.limit, trustLine.flags], [xlm(10), xlm(100), 1]);
});

test('accountMerge: an account with a trust line cannot be merged', async (t) => {
  const { bob, applied } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  assert.equal(await applied(Operation.accountMerge({ destination: bob.publicKey() })), -4, 'HAS_SUB_ENTRIES');
});
