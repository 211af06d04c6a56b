// Path payments over the order book, in both directions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation } from '@stellar/stellar-sdk';
import { raw } from './applying.mjs';
import { keypair, xlm } from './harness.mjs';
import { EUR, NATIVE, USD, claims, sell, start as startMarket } from './market.mjs';

const receive = (destination, sendAsset, sendMax, destAsset, destAmount, path = []) =>
  Operation.pathPaymentStrictReceive({ destination: destination.publicKey(), sendAsset, sendMax, destAsset, destAmount, path });
const send = (destination, sendAsset, sendAmount, destAsset, destMin, path = []) =>
  Operation.pathPaymentStrictSend({ destination: destination.publicKey(), sendAsset, sendAmount, destAsset, destMin, path });

/** The maker sells dollars at 2 lumens and euros at 3 dollars. */
const start = async (t) => {
  const world = await startMarket(t);
  await world.traded(sell(USD, NATIVE, '100', '2'), world.maker);
  await world.traded(sell(EUR, USD, '30', '3'), world.maker);
  return world;
};

test('strict receive: exactly the amount arrives, over one hop and over two', async (t) => {
  const { client, maker, taker, issuer, line, traded } = await start(t);
  const before = client.balance(taker);
  const one = await traded(receive(maker, NATIVE, '30', USD, '10'), taker);
  assert.deepEqual(claims(one.offers), [[xlm(10), xlm(20)]]);
  assert.deepEqual([one.last.amount, before - client.balance(taker)], [xlm(10), xlm(20) + 100n]);
  const two = await traded(receive(issuer, NATIVE, '1000', EUR, '5', [USD]), taker);
  const inPathOrder = [
    [xlm(15), xlm(30)],
    [xlm(5), xlm(15)],
  ];
  assert.deepEqual(claims(two.offers), inPathOrder);
  assert.equal(line(maker, EUR).selling, xlm(25));
});

test('strict send: exactly the amount is sent, over two hops', async (t) => {
  const { client, taker, traded, bob, applied, line } = await start(t);
  assert.equal(await applied(Operation.changeTrust({ asset: EUR }), { source: bob }), 0);
  const before = client.balance(taker);
  const { offers, last } = await traded(send(bob, NATIVE, '60', EUR, '9', [USD]), taker);
  assert.deepEqual(claims(offers), [
    [xlm(30), xlm(60)],
    [xlm(10), xlm(30)],
  ]);
  assert.deepEqual([last.amount, line(bob, EUR).balance], [xlm(10), xlm(10)]);
  assert.equal(before - client.balance(taker), xlm(60) + 100n);
});

test('rounding is in the sender\'s disfavour', async (t) => {
  const { bob, taker, applied, traded } = await start(t);
  assert.equal(await applied(Operation.changeTrust({ asset: EUR }), { source: bob }), 0);
  const sent = await traded(send(bob, USD, '0.0000010', EUR, '0.0000001'), taker);
  assert.deepEqual(claims(sent.offers), [[3n, 10n]], 'ten units at 3 buy three, and one unit of rounding');
  const received = await traded(receive(bob, NATIVE, '1', EUR, '0.0000001', [USD]), taker);
  assert.deepEqual(claims(received.offers), [
    [3n, 6n],
    [1n, 3n],
  ]);
});

test('the same asset at both ends is a payment; equal neighbours in the path are not a hop', async (t) => {
  const { maker, taker, line, traded } = await start(t);
  const { offers, last } = await traded(receive(maker, USD, '10', USD, '10', [USD, USD]), taker);
  assert.deepEqual([offers, last.amount], [[], xlm(10)]);
  assert.equal(line(taker, USD).balance, xlm(990));
  assert.deepEqual((await traded(send(taker, NATIVE, '5', NATIVE, '5'), maker)).offers, []);
});

test('strict receive: failures', async (t) => {
  const { client, alice, maker, taker, issuer, applied, refused } = await start(t);
  const source = taker;
  const [full] = await client.create(['full']);
  assert.equal(await applied(Operation.changeTrust({ asset: EUR, limit: '1' }), { source: full }), 0);
  assert.equal(await applied(receive(maker, NATIVE, '19', USD, '10'), { source }), -12, 'OVER_SENDMAX');
  assert.equal(await applied(receive(issuer, NATIVE, '1000', USD, '101'), { source }), -10, 'TOO_FEW_OFFERS');
  assert.equal(await applied(receive(issuer, EUR, '1000', USD, '1'), { source }), -10, 'TOO_FEW_OFFERS: none at all');
  assert.equal(await applied(receive(taker, NATIVE, '30', USD, '1'), { source: maker }), -11, 'OFFER_CROSS_SELF');
  assert.equal(await applied(receive(maker, USD, '10', NATIVE, '1'), { source: alice }), -10, 'the book before the source');
  assert.equal(await applied(receive(maker, USD, '10', USD, '1'), { source: alice }), -3, 'SRC_NO_TRUST');
  assert.equal(await applied(receive(keypair('nobody'), NATIVE, '30', USD, '1'), { source }), -5, 'NO_DESTINATION');
  assert.equal(await applied(receive(alice, NATIVE, '30', USD, '1'), { source }), -6, 'NO_TRUST');
  assert.equal(await applied(receive(full, USD, '30', EUR, '2'), { source }), -8, 'LINE_FULL');
  assert.equal(await applied(receive(maker, USD, '2000', USD, '2000'), { source }), -2, 'UNDERFUNDED');
  assert.equal(await refused(raw(receive(maker, NATIVE, '1', USD, '1'), (body) => (body.destAmount = 0n))), -1);
  assert.equal(await refused(raw(receive(maker, NATIVE, '1', USD, '1'), (body) => (body.sendMax = 0n))), -1);
});

test('strict send: failures', async (t) => {
  const { client, alice, maker, taker, issuer, applied, refused } = await start(t);
  const source = taker;
  const [full] = await client.create(['full']);
  assert.equal(await applied(Operation.changeTrust({ asset: EUR, limit: '1' }), { source: full }), 0);
  assert.equal(await applied(send(maker, NATIVE, '20', USD, '10.1'), { source }), -12, 'UNDER_DESTMIN');
  assert.equal(await applied(send(issuer, NATIVE, '201', USD, '1'), { source }), -10, 'TOO_FEW_OFFERS');
  assert.equal(await applied(send(taker, NATIVE, '20', USD, '1'), { source: maker }), -11, 'OFFER_CROSS_SELF');
  assert.equal(await applied(send(maker, USD, '1', NATIVE, '1'), { source: alice }), -3, 'SRC_NO_TRUST');
  assert.equal(await applied(send(keypair('nobody'), NATIVE, '20', USD, '1'), { source }), -5, 'NO_DESTINATION');
  assert.equal(await applied(send(alice, NATIVE, '20', USD, '1'), { source }), -6, 'NO_TRUST');
  assert.equal(await applied(send(full, USD, '6', EUR, '1'), { source }), -8, 'LINE_FULL');
  assert.equal(await applied(send(maker, USD, '2000', USD, '1'), { source }), -2, 'UNDERFUNDED');
  assert.equal(await refused(raw(send(maker, NATIVE, '1', USD, '1'), (body) => (body.sendAmount = 0n))), -1);
  assert.equal(await refused(raw(send(maker, NATIVE, '1', USD, '1'), (body) => (body.destMin = 0n))), -1);
});

test('both ends must be authorized, and a failure does not change the book', async (t) => {
  const { maker, taker, issuer, offer, applied } = await start(t);
  assert.equal(await applied(Operation.setOptions({ setFlags: 2 }), { source: issuer }), 0);
  const maintain = { authorized: false, authorizedToMaintainLiabilities: true };
  const flags = (trustor, asset, changes) => Operation.setTrustLineFlags({ trustor: trustor.publicKey(), asset, flags: changes });
  assert.equal(await applied(flags(taker, USD, maintain), { source: issuer }), 0);
  assert.equal(await applied(receive(taker, NATIVE, '30', USD, '10'), { source: taker }), -7, 'NOT_AUTHORIZED');
  assert.equal(await applied(send(maker, USD, '3', EUR, '1'), { source: taker }), -4, 'SRC_NOT_AUTHORIZED');
  assert.equal(await applied(receive(issuer, NATIVE, '1', EUR, '10', [USD]), { source: taker }), -12, 'OVER_SENDMAX');
  assert.deepEqual([offer(maker, 1n).amount, offer(maker, 2n).amount], [xlm(100), xlm(30)]);
});
