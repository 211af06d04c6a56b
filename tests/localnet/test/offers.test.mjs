// Offers in the order book: what they reserve, what crosses and how it is rounded.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation } from '@stellar/stellar-sdk';
import { xlm } from './harness.mjs';
import { EUR, NATIVE, USD, buy, claims, resultOf, sell, sellPassively, start } from './market.mjs';

test('an offer is created, changed and deleted, with an id, a reserve and liabilities', async (t) => {
  const { client, maker, taker, offer, line, traded } = await start(t);
  const subEntries = client.account(maker).subEntries;
  const { offer: created } = await traded(sell(USD, NATIVE, '100', '2'), maker);
  assert.deepEqual([created.effect, created.offer.offerId, created.offer.amount], [0, 1n, xlm(100)]);
  assert.equal(client.account(maker).subEntries, subEntries + 1);
  assert.equal(line(maker, USD).selling, xlm(100));
  assert.equal(client.account(maker).buying, xlm(200));
  const { offer: updated } = await traded(sell(USD, EUR, '50', '3', 1), maker);
  assert.deepEqual([updated.effect, updated.offer.offerId], [1, 1n]);
  assert.deepEqual([line(maker, USD).selling, line(maker, EUR).buying], [xlm(50), xlm(150)]);
  assert.equal(client.account(maker).buying, 0n);
  assert.deepEqual((await traded(sell(NATIVE, USD, '1', '0.5'), taker)).offersClaimed, [], 'it is in another book now');
  await traded(sell(NATIVE, USD, '0', '0.5', 2), taker);
  const { offer: deleted } = await traded(sell(USD, EUR, '0', '3', 1), maker);
  assert.equal(deleted.effect, 2);
  assert.equal(offer(maker, 1n), null);
  assert.deepEqual([client.account(maker).subEntries, line(maker, USD).selling], [subEntries, 0n]);
  assert.deepEqual((await traded(sell(EUR, USD, '1', '0.1'), taker)).offersClaimed, [], 'it is gone from the book');
  assert.equal((await traded(sell(USD, NATIVE, '1', '2'), maker)).offer.offer.offerId, 4n, 'ids are not used again');
});

test('an offer is taken in part and then completely; what the taker wants beyond that stays in the book', async (t) => {
  const { client, maker, taker, offer, line, traded } = await start(t);
  await traded(sell(USD, NATIVE, '100', '2'), maker);
  const before = client.balance(maker);
  const part = await traded(sell(NATIVE, USD, '80', '0.5'), taker);
  assert.deepEqual(claims(part.offersClaimed), [[xlm(40), xlm(80)]]);
  assert.equal(part.offer.effect, 2, 'nothing of it is left to stand');
  assert.deepEqual([offer(maker, 1n).amount, client.balance(maker) - before], [xlm(60), xlm(80)]);
  assert.equal(line(taker, USD).balance, xlm(1040));
  const whole = await traded(sell(NATIVE, USD, '200', '0.5'), taker);
  assert.deepEqual(claims(whole.offersClaimed), [[xlm(60), xlm(120)]]);
  assert.equal(offer(maker, 1n), null);
  assert.deepEqual([whole.offer.effect, whole.offer.offer.amount], [0, xlm(80)]);
  assert.deepEqual([client.account(maker).buying, client.account(taker).selling], [0n, xlm(80)]);
});

test('offers are taken by price, then by age, within the price limit', async (t) => {
  const { maker, taker, traded } = await start(t);
  for (const price of ['3', '2', '2', '4']) await traded(sell(USD, NATIVE, '10', price), maker);
  const { offersClaimed, offer } = await traded(sell(NATIVE, USD, '1000', { n: 1, d: 3 }), taker);
  assert.deepEqual(
    offersClaimed.map(({ orderBook }) => orderBook.offerId),
    [2n, 3n, 1n],
  );
  assert.equal(offer.offer.amount, xlm(1000 - 20 - 20 - 30));
});

test('manageBuyOffer: buys an exact amount, and stays in the book at the inverse price', async (t) => {
  const { maker, taker, offer, traded } = await start(t);
  await traded(sell(USD, NATIVE, '10', '2'), maker);
  const bought = await traded(buy(NATIVE, USD, '4', '2'), taker);
  assert.deepEqual(claims(bought.offersClaimed), [[xlm(4), xlm(8)]]);
  assert.equal(bought.offer.effect, 2);
  const rest = await traded(buy(NATIVE, USD, '9', '2'), taker);
  assert.deepEqual(claims(rest.offersClaimed), [[xlm(6), xlm(12)]]);
  const { amount, price } = offer(taker, rest.offer.offer.offerId);
  assert.deepEqual([amount, price], [xlm(6), { n: 1, d: 2 }], '3 USD at 2 are 6 lumens for half a dollar each');
  const { effect } = (await traded(buy(NATIVE, USD, '0', '2', 2), taker)).offer;
  assert.equal(effect, 2);
});

test('createPassiveSellOffer: does not take its own price, but a better one; its result is that of a sell offer', async (t) => {
  const { client, maker, taker, offer, traded } = await start(t);
  await traded(sell(USD, NATIVE, '10', '2'), maker);
  const passive = await traded(sellPassively(NATIVE, USD, '20', '0.5'), taker);
  assert.deepEqual(passive.offersClaimed, []);
  assert.equal(offer(taker, 2n).flags, 1);
  const better = await traded(sellPassively(NATIVE, USD, '20', '0.4'), taker);
  assert.equal(better.offersClaimed.length, 1);
  const { hash } = await client.send(client.build(taker, [sellPassively(USD, NATIVE, '5000', '1')]));
  await client.close();
  const { type, manageSellOfferResult } = await resultOf(client, hash);
  assert.deepEqual([type, manageSellOfferResult.code], [3, -7], 'UNDERFUNDED');
});

test('rounding favours the offer that stays, and offers worth less than a unit are removed', async (t) => {
  const { maker, taker, offer, traded } = await start(t);
  // Price 3/2: seven units of wheat cost eleven units of sheep, rounded up, while the book's offer stays.
  await traded(sell(USD, NATIVE, '0.0000100', { n: 3, d: 2 }), maker);
  const { offersClaimed } = await traded(buy(NATIVE, USD, '0.0000007', { n: 3, d: 2 }), taker);
  assert.deepEqual(claims(offersClaimed), [[0n, 0n]], 'eleven for seven is more than 1 % off: nothing changes hands');
  await traded(sell(USD, EUR, '0.0001000', { n: 3, d: 2 }), maker);
  const near = await traded(buy(EUR, USD, '0.0000067', { n: 3, d: 2 }), taker);
  assert.deepEqual(claims(near.offersClaimed), [[67n, 101n]], '100.5 rounded up');
  assert.equal(offer(maker, 2n).amount, 933n);
});

test('the reserve of an offer and what it sells cannot be spent', async (t) => {
  const { maker, taker, applied, traded } = await start(t);
  await traded(sell(USD, NATIVE, '900', '2'), maker);
  const pay = (amount) => Operation.payment({ destination: taker.publicKey(), asset: USD, amount });
  assert.equal(await applied(pay('101'), { source: maker }), -2, 'UNDERFUNDED');
  assert.equal(await applied(pay('100'), { source: maker }), 0);
  await traded(sell(NATIVE, EUR, '9900', '1000'), taker);
  assert.equal(await applied(Operation.payment({ destination: maker.publicKey(), asset: NATIVE, amount: '99' }), { source: taker }), -2);
});

test('the reserve of an offer can be sponsored, and is returned when the offer is taken', async (t) => {
  const { client, maker, taker, alice, traded } = await start(t);
  const operations = [
    Operation.beginSponsoringFutureReserves({ sponsoredId: maker.publicKey() }),
    Operation.manageSellOffer({ selling: USD, buying: NATIVE, amount: '10', price: '2', source: maker.publicKey() }),
    Operation.endSponsoringFutureReserves({ source: maker.publicKey() }),
  ];
  assert.equal((await client.include(client.build(alice, operations, { signers: [maker] }))).status, 'SUCCESS');
  assert.deepEqual([client.account(alice).sponsoring, client.account(maker).sponsored], [1, 1]);
  await traded(sell(USD, NATIVE, '5', '2', 1), maker);
  assert.equal(client.account(alice).sponsoring, 1, 'a change leaves the sponsor');
  await traded(sell(NATIVE, USD, '10', '0.5'), taker);
  assert.deepEqual([client.account(alice).sponsoring, client.account(maker).sponsored], [0, 0]);
});

test('revoking the authorization of a trust line removes its offers from the book', async (t) => {
  const { client, maker, issuer, offer, line, applied, traded } = await start(t);
  await traded(sell(USD, NATIVE, '10', '2'), maker);
  await traded(sell(NATIVE, USD, '10', '2'), maker);
  await traded(sell(EUR, NATIVE, '10', '2'), maker);
  const { subEntries } = client.account(maker);
  await applied(Operation.setOptions({ setFlags: 2 }), { source: issuer });
  const flags = (changes) => Operation.setTrustLineFlags({ trustor: maker.publicKey(), asset: USD, flags: changes });
  const keep = { authorized: false, authorizedToMaintainLiabilities: true };
  assert.equal(await applied(flags(keep), { source: issuer }), 0);
  assert.ok(offer(maker, 1n), 'liabilities may be maintained');
  assert.equal(await applied(flags({ authorizedToMaintainLiabilities: false }), { source: issuer }), 0);
  assert.deepEqual([offer(maker, 1n), offer(maker, 2n)], [null, null]);
  assert.ok(offer(maker, 3n));
  assert.equal(client.account(maker).subEntries, subEntries - 2);
  assert.deepEqual([line(maker, USD).selling, line(maker, USD).buying, client.account(maker).selling], [0n, 0n, 0n]);
});

