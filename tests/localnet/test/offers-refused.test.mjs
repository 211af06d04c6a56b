// Offers that are refused: at submission, or in a ledger.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { Op } from '../results.mjs';
import { raw } from './applying.mjs';
import { xlm } from './harness.mjs';
import { EUR, NATIVE, USD, buy, sell, start } from './market.mjs';

test('offers: no trust line, no funds, no room, not found, not authorized', async (t) => {
  const { maker, issuer, applied } = await start(t);
  const trust = (asset, limit) => Operation.changeTrust({ asset, limit });
  assert.equal(await applied(sell(USD, NATIVE, '1', '1')), -2, 'SELL_NO_TRUST');
  assert.equal(await applied(sell(NATIVE, USD, '1', '1')), -3, 'BUY_NO_TRUST');
  assert.equal(await applied(trust(USD, '10')), 0);
  assert.equal(await applied(sell(USD, NATIVE, '1', '1')), -7, 'UNDERFUNDED: it holds none');
  assert.equal(await applied(sell(USD, EUR, '1', '1')), -7, 'UNDERFUNDED comes before BUY_NO_TRUST');
  assert.equal(await applied(sell(NATIVE, USD, '11', '1')), -6, 'LINE_FULL: there is room for 10');
  assert.equal(await applied(sell(NATIVE, USD, '100000', '0.0001')), -7, 'UNDERFUNDED');
  assert.equal(await applied(sell(NATIVE, USD, '1', '1', 77)), -11, 'NOT_FOUND');
  assert.equal(await applied(sell(USD, NATIVE, '1', '1', 77), { source: maker }), -11, 'NOT_FOUND');
  assert.equal(await applied(Operation.setOptions({ setFlags: 3 }), { source: issuer }), 0);
  const revoke = (trustor, asset) =>
    Operation.setTrustLineFlags({ trustor: trustor.publicKey(), asset, flags: { authorized: false } });
  assert.equal(await applied(revoke(maker, USD), { source: issuer }), 0);
  assert.equal(await applied(sell(USD, NATIVE, '1', '1'), { source: maker }), -4, 'SELL_NOT_AUTHORIZED');
  assert.equal(await applied(sell(NATIVE, USD, '1', '1'), { source: maker }), -5, 'BUY_NOT_AUTHORIZED');
});

test('offers: LOW_RESERVE, CROSS_SELF, and what an account may have of them', async (t) => {
  const { client, maker, issuer, applied, traded } = await start(t);
  const [poor] = await client.create(['poor'], '2');
  assert.equal(await applied(Operation.changeTrust({ asset: USD }), { source: poor }), 0);
  assert.equal(await applied(sell(NATIVE, USD, '0.1', '1'), { source: poor }), -12, 'LOW_RESERVE');
  await traded(sell(USD, NATIVE, '10', '2'), maker);
  assert.equal(await applied(sell(NATIVE, USD, '10', '0.5'), { source: maker }), -8, 'CROSS_SELF');
  client.net.chain.state.add({ ...client.account(maker), subEntries: 1000 });
  assert.deepEqual(await applied(sell(USD, NATIVE, '1', '3'), { source: maker }), { any: Op.TOO_MANY_SUBENTRIES });
  const own = await traded(sell(new Asset('GBP', issuer.publicKey()), NATIVE, '5000', '1'), issuer);
  assert.equal(own.offer.offer.amount, xlm(5000), 'an issuer sells its own asset without a line');
});

test('offers: MALFORMED', async (t) => {
  const { refused } = await start(t);
  assert.equal(await refused(sell(USD, USD, '1', '1')), -1, 'for itself');
  assert.equal(await refused(sell(USD, NATIVE, '0', '1')), -1, 'none to delete');
  assert.equal(await refused(buy(USD, NATIVE, '0', '1')), -1, 'none to delete');
  const change = (operation, values) => raw(operation, (body) => Object.assign(body, values));
  assert.equal(await refused(change(sell(USD, NATIVE, '1', '1'), { amount: -1n })), -1);
  assert.equal(await refused(change(buy(USD, NATIVE, '1', '1'), { buyAmount: -1n })), -1);
  assert.equal(await refused(change(sell(USD, NATIVE, '1', '1'), { offerId: -1n })), -1);
  assert.equal(await refused(raw(sell(USD, NATIVE, '1', '1'), (body) => (body.price.d = 0))), -1);
  assert.equal(await refused(raw(sell(USD, NATIVE, '1', '1'), (body) => (body.price.n = 0))), -1);
});

test('an operation that would cross more than a thousand offers fails', async (t) => {
  const { client, maker, taker, traded, applied } = await start(t);
  await traded(sell(USD, NATIVE, '0.0001', '2'), maker);
  const { state } = client.net.chain;
  const [first] = state.offers();
  // So many entries are inserted directly, with their reserves and liabilities.
  for (let id = 2n; id <= 1001n; id++) state.add({ ...first, offerId: id });
  const account = client.account(maker);
  state.add({ ...account, subEntries: account.subEntries + 1000, buying: account.buying * 1001n, balance: xlm(10_000) });
  const [key] = [...state.values()].filter(({ kind, id, selling }) => kind === 'trustLine' && id === account.id && selling > 0n);
  state.add({ ...key, selling: key.selling * 1001n });
  const all = sell(NATIVE, USD, '1', '0.5');
  assert.deepEqual(await applied(all, { source: taker }), { any: Op.EXCEEDED_WORK_LIMIT });
  const thousand = await traded(buy(NATIVE, USD, '0.1', '2'), taker);
  assert.equal(thousand.offersClaimed.length, 1000);
});
