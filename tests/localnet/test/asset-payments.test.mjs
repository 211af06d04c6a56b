// Payments of issued assets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { raw, start as startApplying } from './applying.mjs';
import { keypair, xlm } from './harness.mjs';

const USD = new Asset('USD', keypair('issuer').publicKey());
const trust = (limit) => Operation.changeTrust({ asset: USD, limit });
const pay = (destination, amount) => Operation.payment({ destination: destination.publicKey(), asset: USD, amount });

const start = async (t) => {
  const world = await startApplying(t);
  const [issuer] = await world.client.create(['issuer']);
  return { ...world, issuer, line: (key) => world.line(key, USD) };
};

test('payment: an issuer creates what it pays and destroys what it is paid; others need a trust line', async (t) => {
  const { alice, bob, issuer, applied, line } = await start(t);
  for (const source of [alice, bob]) assert.equal(await applied(trust('100'), { source }), 0);
  assert.equal(await applied(pay(alice, '60'), { source: issuer }), 0);
  assert.equal(await applied(pay(bob, '25')), 0);
  assert.deepEqual([line(alice).balance, line(bob).balance], [xlm(35), xlm(25)]);
  assert.equal(await applied(pay(alice, '30')), 0, 'to itself, over the line');
  assert.equal(await applied(pay(issuer, '5')), 0);
  assert.equal(line(alice).balance, xlm(30));
});

test('payment: failures with trust lines', async (t) => {
  const { client, alice, bob, issuer, applied, refused } = await start(t);
  const [carol] = await client.create(['carol']);
  for (const source of [alice, bob]) assert.equal(await applied(trust('100'), { source }), 0);
  assert.equal(await applied(pay(alice, '60'), { source: issuer }), 0);
  assert.equal(await applied(pay(bob, '60.0000001')), -2, 'UNDERFUNDED');
  assert.equal(await applied(pay(bob, '1'), { source: carol }), -3, 'SRC_NO_TRUST');
  assert.equal(await applied(pay(keypair('nobody'), '1')), -5, 'NO_DESTINATION');
  assert.equal(await applied(pay(carol, '1')), -6, 'NO_TRUST');
  assert.equal(await applied(pay(bob, '100.0000001'), { source: issuer }), -8, 'LINE_FULL');
  assert.equal(await applied(pay(alice, '41')), -8, 'LINE_FULL: a payment to itself is credited first');
  assert.equal(await refused(raw(pay(bob, '1'), (body) => (body.amount = 0n))), -1, 'MALFORMED');
});

test('payment: a merged issuer can still be paid its asset', async (t) => {
  const { alice, bob, issuer, applied, line } = await start(t);
  assert.equal(await applied(trust('100')), 0);
  assert.equal(await applied(pay(alice, '60'), { source: issuer }), 0);
  assert.equal(await applied(Operation.accountMerge({ destination: bob.publicKey() }), { source: issuer }), 0);
  assert.equal(await applied(pay(issuer, '60')), 0);
  assert.equal(line(alice).balance, 0n);
});
