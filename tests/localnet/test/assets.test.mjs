// Which assets are valid. The SDK cannot build invalid ones, so these are built by hand, and validated without a network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isValidAsset } from '../assets.mjs';
import { Operation } from '../operations/operation.mjs';
import { keypair } from './harness.mjs';

const SOURCE = keypair('source').rawPublicKey();
const destination = { type: 0, ed25519: SOURCE };
const issuer = { type: 0, ed25519: keypair('issuer').rawPublicKey() };

const asset = (code) => {
  const assetCode = Buffer.from(code);
  return assetCode.length === 4 ? { type: 1, alphaNum4: { assetCode, issuer } } : { type: 2, alphaNum12: { assetCode, issuer } };
};
const NATIVE = { type: 0 };
const GOOD = asset('USD\0');
const BAD = asset('U$D\0');

test('asset codes: letters and digits, padded with zeros to the width of the type', () => {
  for (const code of ['USD\0', 'a\0\0\0', 'Z9zA', 'LONGE\0\0\0\0\0\0\0', 'ABCDEFGHIJKL'])
    assert.equal(isValidAsset(asset(code)), true, code);
  for (const code of ['\0\0\0\0', 'U$D\0', 'US D', 'U\0SD', '\0USD', 'U@D\0', 'U[D\0', 'U`D\0', 'U{D\0', 'U/D\0', 'U:D\0'])
    assert.equal(isValidAsset(asset(code)), false, code);
  for (const code of ['LONG\0\0\0\0\0\0\0\0', 'LONG\0R\0\0\0\0\0\0', 'ABCDEFGHIJK '])
    assert.equal(isValidAsset(asset(code)), false, code);
  assert.equal(isValidAsset(NATIVE), true);
});

test('every operation with an invalid asset is MALFORMED', () => {
  const path = (type, arm, values) => ({ type, [arm]: { sendAsset: GOOD, destAsset: NATIVE, destination, path: [], ...values } });
  const receive = (values) => path(2, 'pathPaymentStrictReceiveOp', { sendMax: 1n, destAmount: 1n, ...values });
  const send = (values) => path(13, 'pathPaymentStrictSendOp', { sendAmount: 1n, destMin: 1n, ...values });
  const offer = (values) => ({ selling: GOOD, buying: NATIVE, amount: 1n, price: { n: 1, d: 1 }, offerId: 0n, ...values });
  const sell = (values) => ({ type: 3, manageSellOfferOp: offer(values) });
  const passive = (values) => ({ type: 4, createPassiveSellOfferOp: offer(values) });
  const buy = (values) => ({ type: 12, manageBuyOfferOp: { ...offer(values), buyAmount: 1n } });
  const trust = (values) => ({ type: 6, changeTrustOp: { line: GOOD, limit: 1n, ...values } });
  const pay = (values) => ({ type: 1, paymentOp: { destination, asset: GOOD, amount: 1n, ...values } });
  const cases = [
    ...[receive, send].flatMap((make) => [make({}), make({ sendAsset: BAD }), make({ destAsset: BAD }), make({ path: [BAD] })]),
    ...[sell, passive, buy].flatMap((make) => [make({}), make({ selling: BAD }), make({ buying: BAD })]),
    ...[trust({}), trust({ line: BAD }), pay({}), pay({ asset: BAD })],
  ];
  for (const body of cases) {
    const isGood = !JSON.stringify(body, (_, value) => (value === BAD ? 'BAD' : typeof value === 'bigint' ? 1 : value)).includes('BAD');
    const operation = new Operation({ sourceAccount: destination, body }, 'unused');
    const result = operation.validate();
    const [, arm] = Object.values(result?.tr ?? { type: 0, arm: { code: 0 } });
    assert.equal(arm.code, isGood ? 0 : -1, `${operation.name} ${Object.keys(body)}`);
  }
});
