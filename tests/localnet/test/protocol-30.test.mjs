// The upgrade to protocol 30: close times with milliseconds (CAP-88) and muxed contract addresses (CAP-84), which the SDK's classes do not
// know yet.

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { decode } from '../xdr.mjs';
import { Client, keypair } from './harness.mjs';

const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');
const isSigned = ({ nodeId, signature }, ...parts) =>
  verify(
    null,
    Buffer.concat(parts),
    createPublicKey({ key: Buffer.concat([SPKI_ED25519, nodeId.ed25519]), format: 'der', type: 'spki' }),
    signature,
  );
const uint = (size, value) => Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex');

const upgraded = async (t, options) => {
  const client = await Client.start(t, options);
  await client.call('localnet_upgrade', { protocol: 30 });
  const upgrade = await client.close();
  return { client, upgrade };
};

test('the ledger after the upgrade is the first with milliseconds', async (t) => {
  const { client, upgrade } = await upgraded(t);
  const { upgradesProcessing } = decode('LedgerCloseMeta', client.net.chain.history.ledger(upgrade.ledgerSeq).metadataXdr).v2;
  assert.equal(upgrade.ledgerVersion, 30);
  assert.equal(upgrade.scpValue.ext.v, 1);
  assert.deepEqual(decode('LedgerUpgrade', upgrade.scpValue.upgrades[0]), { type: 1, newLedgerVersion: 30 });
  const [{ changes }] = upgradesProcessing;
  assert.deepEqual(
    changes.map(({ type, state, updated }) => [type, Object.values((state ?? updated).data.configSetting)[1].length]),
    [[3, 86], [1, 95], [3, 86], [1, 95]],
    'with the costs of ML-DSA signatures',
  );
  const next = await client.close();
  assert.equal(next.ledgerVersion, 30);
  assert.equal(next.scpValue.ext.v, 3);
  assert.deepEqual(next.scpValue.upgrades, []);
});

test('ledgers of 600 ms share seconds, and their times rise', async (t) => {
  const { client } = await upgraded(t);
  const values = [];
  for (let i = 0; i < 10; i++) values.push((await client.close(0.6)).scpValue);
  values.push((await client.close(0)).scpValue);
  values.forEach(({ closeTime, ext }, i) => {
    const { closeTimeMs } = ext.signedMsValue;
    assert.equal(closeTime, closeTimeMs / 1000n);
    if (i > 0) assert.equal(closeTimeMs - values[i - 1].ext.signedMsValue.closeTimeMs, i < 10 ? 600n : 1n);
  });
  assert.ok(new Set(values.map(({ closeTime }) => closeTime)).size <= 8);
});

test('the signature covers the milliseconds, also of a ledger that drops its set', async (t) => {
  const { client } = await upgraded(t, { faults: { dropLedger: 1 } });
  const { id } = client.net.network;
  const destination = keypair('alice').publicKey();
  await client.send(client.build(client.root, [Operation.createAccount({ destination, startingBalance: '10' })]));
  const dropped = await client.close(0.6);
  await client.call('localnet_faults', { dropLedger: 0 });
  const payment = Operation.payment({ destination: client.root.publicKey(), asset: Asset.native(), amount: '1' });
  await client.send(client.build(client.root, [payment]));
  const signed = await client.close(0.6);
  const { proposedMsValue } = dropped.scpValue.ext, { signedMsValue } = signed.scpValue.ext;
  assert.ok(dropped.scpValue.txSetHash.every((byte) => byte === 0));
  assert.deepEqual(proposedMsValue.previousLedgerHash, dropped.previousLedgerHash);
  assert.equal(proposedMsValue.previousLedgerVersion, 30);
  for (const [hash, { closeTime }, { closeTimeMs, lcValueSignature }] of [
    [proposedMsValue.txSetHash, dropped.scpValue, proposedMsValue],
    [signed.scpValue.txSetHash, signed.scpValue, signedMsValue],
  ])
    assert.ok(isSigned(lcValueSignature, id, uint(4, 4), hash, uint(8, closeTime), uint(8, closeTimeMs)));
});

test('the RPC names the version of its node, and serves the headers', async (t) => {
  const client = await Client.start(t);
  const named = async () => (await client.call('getVersionInfo')).result;
  assert.match((await named()).captiveCoreVersion, /^stellar-core 28\./);
  await client.call('localnet_upgrade', { supportedProtocol: 31 });
  assert.match((await named()).captiveCoreVersion, /^stellar-core 31\./);
  assert.equal((await named()).protocolVersion, 28);
  assert.equal((await client.call('getNetwork')).result.protocolVersion, 28);
  await client.call('localnet_upgrade', { protocol: 30 });
  for (let i = 0; i < 3; i++) await client.close(0.6);
  const { result } = await client.call('getLedgers', { startLedger: 2, pagination: { limit: 100 } });
  const kinds = result.ledgers.map(({ headerXdr }) =>
    decode('LedgerHeaderHistoryEntry', Buffer.from(headerXdr, 'base64')).header.scpValue.ext.v);
  assert.deepEqual(kinds.slice(-3), [1, 3, 3]);
});
