// tests/inspect, on transactions built and hashed by the official SDK.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import * as sdk from '@stellar/stellar-sdk';
import { inspector } from './judge.mjs';

const network = sdk.Networks.TESTNET;
const client = sdk.Keypair.fromRawEd25519Seed(Buffer.alloc(32, 1));
const other = sdk.Keypair.fromRawEd25519Seed(Buffer.alloc(32, 2));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

function inspect(...args) {
  const { status, stdout, stderr, error } = spawnSync(inspector, ['transaction', ...args]);
  if (error) throw error;
  return { status, json: stdout.length > 0 ? JSON.parse(stdout) : undefined, stderr: stderr.toString() };
}

function payments(options = {}) {
  const account = new sdk.Account(client.publicKey(), '9007199254740993');
  const payment = { destination: other.publicKey(), asset: sdk.Asset.native(), amount: '1' };
  const builder = new sdk.TransactionBuilder(account, { fee: '250', networkPassphrase: network, timebounds: { minTime: 5, maxTime: 1900000000 }, ...options });
  return builder.addOperation(sdk.Operation.payment({ ...payment, source: other.publicKey() })).addOperation(sdk.Operation.payment(payment));
}

test('a V1 transaction shows its fields, its sources and its signatures', () => {
  const tx = payments({ ledgerbounds: { minLedger: 7, maxLedger: 8 }, minAccountSequence: '3', minAccountSequenceAge: 4n, minAccountSequenceLedgerGap: 5 })
    .addMemo(sdk.Memo.text('hello'))
    .build();
  tx.sign(client, other);
  const { status, json, stderr } = inspect('--network-passphrase', network, tx.toXDR());
  assert.equal(stderr, '');
  assert.equal(status, 0);
  assert.deepEqual(json, {
    form: 'v1',
    hash: hex(tx.hash()),
    source: client.publicKey(),
    sourceMuxed: false,
    sequence: '9007199254740994',
    fee: '500',
    preconditions: {
      minTime: '5',
      maxTime: '1900000000',
      minLedger: 7,
      maxLedger: 8,
      minSequence: '3',
      minSequenceAge: '4',
      minSequenceLedgerGap: 5,
      extraSigners: 0,
    },
    memo: true,
    operationCount: 2,
    operationSources: [other.publicKey(), null],
    soroban: false,
    resourceFee: '0',
    signatures: [client, other].map((key) => ({ hint: hex(key.rawPublicKey().slice(-4)), signature: Buffer.from(key.sign(tx.hash())).toString('base64') })),
  });
});

test('a fee bump shows its own hash, payer and signatures, and the transaction inside', () => {
  const inner = payments().build();
  inner.sign(client);
  const bump = sdk.TransactionBuilder.buildFeeBumpTransaction(other, '1000', inner, network);
  bump.sign(other);
  const { json } = inspect('--network-passphrase', network, bump.toXDR());
  assert.equal(json.form, 'feeBump');
  assert.equal(json.hash, hex(bump.hash()));
  assert.equal(json.feeSource, other.publicKey());
  assert.equal(json.fee, bump.fee);
  assert.deepEqual(json.signatures.map(({ hint }) => hint), [hex(other.rawPublicKey().slice(-4))]);
  assert.equal(json.inner.hash, hex(inner.hash()));
  assert.equal(json.inner.source, client.publicKey());
  assert.deepEqual(json.inner.signatures.map(({ hint }) => hint), [hex(client.rawPublicKey().slice(-4))]);
});

test('the declared resource fee of a Soroban transaction is shown', () => {
  const data = new sdk.SorobanDataBuilder().setResourceFee('1234567').build();
  const account = new sdk.Account(client.publicKey(), '1');
  const tx = new sdk.TransactionBuilder(account, { fee: '100', networkPassphrase: network, timebounds: { minTime: 0, maxTime: 0 } })
    .addOperation(sdk.Operation.extendFootprintTtl({ extendTo: 100 }))
    .setSorobanData(data)
    .build();
  const { json } = inspect(tx.toXDR());
  assert.equal(json.soroban, true);
  assert.equal(json.resourceFee, '1234567');
  assert.equal(json.hash, null);
  assert.equal(json.memo, false);
});

test('muxed sources are shown as their account', () => {
  const muxed = (key) => new sdk.MuxedAccount(new sdk.Account(key.publicKey(), '1'), '77');
  const tx = new sdk.TransactionBuilder(muxed(client), { fee: '100', networkPassphrase: network, timebounds: { minTime: 0, maxTime: 0 } })
    .addOperation(sdk.Operation.bumpSequence({ bumpTo: '5', source: muxed(other).accountId() }))
    .build();
  const { json } = inspect('--network-passphrase', network, tx.toXDR());
  assert.equal(json.source, client.publicKey());
  assert.equal(json.sourceMuxed, true);
  assert.deepEqual(json.operationSources, [other.publicKey()]);
  assert.equal(json.hash, hex(tx.hash()));
});

const valid = payments().build().toXDR();
for (const [name, text, message] of [
  ['what is not base64', `${valid}!`, /not base64/],
  ['a transaction that is cut', valid.slice(0, 40), /at byte \d+ of 30/],
  ['an envelope that is no transaction', 'AAAAAQ==', /byte 0/],
])
  test(`${name} is refused`, () => {
    const { status, json, stderr } = inspect(text);
    assert.equal(status, 65);
    assert.equal(json, undefined);
    assert.match(stderr, message);
  });
