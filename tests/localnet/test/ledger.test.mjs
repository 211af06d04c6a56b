// The metadata of closed ledgers, decoded by the SDK: hash links, byte-exact encoding, orders, and what readers of account changes
// rely on.

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { Asset, Operation, TransactionBuilder, nativeToScVal, xdr } from '@stellar/stellar-sdk';
import { rustJudge } from '../../xdr/judge.mjs';
import { Client, START_MS, keypair, payment } from './harness.mjs';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** All ledgers so far, as the SDK sees them. */
const ledgers = async (client) => {
  const { result } = await client.call('getLedgers', { startLedger: 2, pagination: { limit: 200 } });
  return result.ledgers.map((ledger) => {
    const bytes = Buffer.from(ledger.metadataXdr, 'base64');
    return { ...ledger, bytes, meta: xdr.LedgerCloseMeta.fromXdr(bytes), wire: xdr.LedgerCloseMeta.schema.decode(bytes).v2 };
  });
};

const start = async (t, options) => {
  const client = await Client.start(t, options);
  const [alice, bob, payer] = await client.create(['alice', 'bob', 'payer']);
  return { client, alice, bob, payer };
};

const callContract = async (client, source, operation) => {
  const account = await client.server.getAccount(source.publicKey());
  const builder = new TransactionBuilder(account, { fee: '100', networkPassphrase: client.passphrase });
  const transaction = await client.server.prepareTransaction(builder.addOperation(operation).setTimeout(0).build());
  transaction.sign(source);
  assert.equal((await client.include(transaction)).status, 'SUCCESS');
};

/** A few ledgers with most kinds of changes. */
const busy = async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const channel = keypair('channel');
  const sponsored = [
    Operation.beginSponsoringFutureReserves({ sponsoredId: channel.publicKey() }),
    Operation.createAccount({ destination: channel.publicKey(), startingBalance: '0' }),
    Operation.endSponsoringFutureReserves({ source: channel.publicKey() }),
  ];
  await client.include(client.build(payer, sponsored, { signers: [channel] }));
  await client.close();
  await client.send(client.bump(payer, client.build(channel, [payment(bob, '1', alice)], { signers: [alice] }), 200));
  await client.send(client.build(bob, [payment(alice, '100000')]));
  const asset = new Asset('USD', bob.publicKey());
  await client.send(client.build(alice, [Operation.changeTrust({ asset })]));
  await client.close();
  await client.include(client.build(alice, [Operation.changeTrust({ asset, limit: '0' })]));
  await client.include(client.bump(payer, client.build(channel, [Operation.accountMerge({ destination: payer.publicKey() })]), 200));
  await client.include(client.build(alice, [Operation.changeTrust({ asset })]));
  await client.include(client.build(bob, [Operation.payment({ asset, amount: '4', destination: alice.publicKey() })]));
  await callContract(client, alice, Operation.createStellarAssetContract({ asset: Asset.native() }));
  const [from, to] = [alice, bob].map((key) => nativeToScVal(key.publicKey(), { type: 'address' }));
  const args = [from, to, nativeToScVal(7n, { type: 'i128' })];
  const contract = Asset.native().contractId(client.passphrase);
  await callContract(client, alice, Operation.invokeContractFunction({ contract, function: 'transfer', args }));
  await client.close(0);
  return { client, alice, bob, payer, channel };
};

test('every ledger: encoding, hash, link, result hash, set hash, signature of the value', async (t) => {
  const { client } = await busy(t);
  const all = await ledgers(client);
  assert.ok(all.length >= 8);
  const networkId = sha256(client.passphrase);
  all.forEach(({ hash, sequence, ledgerCloseTime, headerXdr, bytes, meta, wire }, index) => {
    assert.deepEqual(Buffer.from(meta.toXdr('raw')), bytes, 're-encoded by the SDK');
    const { header, hash: claimed } = wire.ledgerHeader;
    assert.equal(hex(sha256(xdr.LedgerHeader.schema.encode(header))), hash);
    assert.equal(hex(claimed), hash);
    assert.equal(header.ledgerSeq, sequence);
    assert.equal(String(header.scpValue.closeTime), ledgerCloseTime);
    assert.equal(header.ledgerVersion, 28);
    assert.equal(headerXdr, Buffer.from(xdr.LedgerHeaderHistoryEntry.schema.encode(wire.ledgerHeader)).toString('base64'));
    const results = xdr.TransactionResultSet.schema.encode({ results: wire.txProcessing.map(({ result }) => result) });
    assert.equal(hex(sha256(results)), hex(header.txSetResultHash));
    assert.equal(hex(sha256(xdr.GeneralizedTransactionSet.schema.encode(wire.txSet))), hex(header.scpValue.txSetHash));
    assert.deepEqual(wire.txSet.v1TxSet.previousLedgerHash, header.previousLedgerHash);
    if (index > 0) assert.equal(hex(header.previousLedgerHash), all[index - 1].hash);

    const { nodeId, signature } = header.scpValue.ext.lcValueSignature;
    const value = Buffer.alloc(8);
    value.writeBigUInt64BE(header.scpValue.closeTime);
    const signed = Buffer.concat([networkId, Buffer.from([0, 0, 0, 4]), header.scpValue.txSetHash, value]);
    const key = createPublicKey({
      key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), nodeId.ed25519]),
      format: 'der',
      type: 'spki',
    });
    assert.ok(verify(null, signed, key, signature));
  });
});

test('a second decoder (the crate stellar-xdr) accepts the same bytes', async (t) => {
  const { client } = await busy(t);
  const values = (await ledgers(client)).map(({ bytes }) => ({ name: 'LedgerCloseMeta', bytes }));
  assert.deepEqual(rustJudge(values), values.map(({ bytes }) => hex(bytes)));
});

test('the set is in hash order; processing has the same transactions in another order', async (t) => {
  const { client, alice } = await start(t);
  const keys = await client.create(Array.from({ length: 30 }, (_, index) => `many ${index}`));
  const submitted = [];
  for (const [index, key] of keys.entries())
    submitted.push((await client.send(client.build(key, [payment(alice)], { fee: String(100 + index) }))).hash);
  await client.close();
  const { wire } = (await ledgers(client)).at(-1);
  const { txs } = wire.txSet.v1TxSet.phases[0].v0Components[0].txsMaybeDiscountedFee;
  const setOrder = txs.map((envelope) => hex(sha256(xdr.TransactionEnvelope.schema.encode(envelope))));
  assert.deepEqual(setOrder, [...setOrder].sort());
  const inSet = txs.map((envelope) =>
    hex(
      TransactionBuilder.fromXdr(Buffer.from(xdr.TransactionEnvelope.schema.encode(envelope)).toString('base64'), client.passphrase).hash(),
    ),
  );
  const processed = wire.txProcessing.map(({ result }) => hex(result.transactionHash));
  assert.deepEqual([...processed].sort(), [...submitted].sort());
  assert.notDeepEqual(processed, inSet);
  const { txSetHash } = wire.ledgerHeader.header.scpValue;
  const rank = (index) => Buffer.from(setOrder[index], 'hex').map((byte, position) => byte ^ txSetHash[position]);
  const expected = inSet
    .map((hash, index) => ({ hash, rank: rank(index) }))
    .sort((a, b) => Buffer.compare(a.rank, b.rank));
  assert.deepEqual(processed, expected.map(({ hash }) => hash), 'by full hash XOR set hash');
  assert.notDeepEqual(processed, submitted);
});

const accountsIn = (changes, id) =>
  changes.flatMap((change) => {
    const entry = change.state ?? change.updated ?? change.created;
    return entry?.data.account && hex(entry.data.account.accountId.ed25519) === id
      ? [
          {
            kind: Object.keys(change).find((name) => name !== 'type'),
            modified: entry.lastModifiedLedgerSeq,
            ...entry.data.account,
            ext: entry.data.account.ext,
          },
        ]
      : [];
  });

test('feeProcessing changes the payer; txChangesBefore consumes the sequence of the source and records its time', async (t) => {
  const { client, alice, bob, payer } = await start(t);
  const sequence = client.account(alice).sequence;
  await client.include(client.bump(payer, client.build(alice, [payment(bob)]), 200));
  const { wire, sequence: ledger, ledgerCloseTime } = (await ledgers(client)).at(-1);
  const [{ feeProcessing, txApplyProcessing, postTxApplyFeeProcessing }] = wire.txProcessing;
  const [before, after] = accountsIn(feeProcessing, client.account(payer).id);
  assert.deepEqual([before.kind, after.kind, before.balance - after.balance, after.modified], ['state', 'updated', 200n, ledger]);
  assert.deepEqual(postTxApplyFeeProcessing, []);
  const [unused, used] = accountsIn(txApplyProcessing.v4.txChangesBefore, client.account(alice).id);
  assert.deepEqual([unused.kind, unused.seqNum, used.kind, used.seqNum], ['state', sequence, 'updated', sequence + 1n]);
  const { seqLedger, seqTime } = used.ext.v1.ext.v2.ext.v3;
  assert.deepEqual([seqLedger, String(seqTime)], [ledger, ledgerCloseTime]);
});

test('the RPC returns entries in their last state of the metadata', async (t) => {
  const { client, alice, bob, payer } = await busy(t);
  for (const key of [alice, bob, payer, client.root]) {
    const ledgerKey = xdr.LedgerKey.schema.encode({ type: 0, account: { accountId: { type: 0, ed25519: key.rawPublicKey() } } });
    const { result } = await client.call('getLedgerEntries', { keys: [Buffer.from(ledgerKey).toString('base64')] });
    const [{ xdr: data, lastModifiedLedgerSeq, extXdr }] = result.entries;
    const processing = (await ledgers(client)).flatMap(({ wire }) => [
      ...wire.txProcessing.flatMap(({ feeProcessing }) => feeProcessing),
      ...wire.txProcessing.flatMap(({ txApplyProcessing: { v4 } }) => [
        ...v4.txChangesBefore,
        ...v4.operations.flatMap(({ changes }) => changes),
      ]),
      ...wire.txProcessing.flatMap(({ postTxApplyFeeProcessing }) => postTxApplyFeeProcessing),
    ]);
    const last = processing
      .map((change) => change.updated ?? change.created)
      .filter((entry) => entry?.data.account && hex(entry.data.account.accountId.ed25519) === hex(key.rawPublicKey()))
      .at(-1);
    assert.equal(data, Buffer.from(xdr.LedgerEntryData.schema.encode(last.data)).toString('base64'));
    assert.equal(extXdr, Buffer.from(xdr.LedgerEntryExt.schema.encode(last.ext)).toString('base64'));
    assert.equal(lastModifiedLedgerSeq, last.lastModifiedLedgerSeq);
  }
});

test('no coin is lost: balances and fee pool sum to the total', async (t) => {
  const { client } = await busy(t);
  const { totalCoins, feePool } = client.net.chain.head.header;
  let sum = feePool;
  for (const { kind, balance } of client.net.chain.state.values()) if (kind === 'account') sum += balance;
  assert.equal(sum, totalCoins);
  assert.ok(feePool > 0n);
});

test('close times follow the clock in whole seconds, may repeat, and never go back', async (t) => {
  const client = await Client.start(t);
  await client.close(0.4);
  await client.close(0.4);
  await client.close(0.4);
  await client.close(-100);
  await client.close(105);
  const seconds = (await ledgers(client)).map(({ ledgerCloseTime }) => Number(ledgerCloseTime) - START_MS / 1000);
  assert.deepEqual(seconds, [0, 0, 0, 1, 1, 6]);
});

test('an empty ledger has an empty set and consumes nothing', async (t) => {
  const client = await Client.start(t);
  await client.close();
  const { wire } = (await ledgers(client)).at(-1);
  assert.deepEqual(wire.txProcessing, []);
  assert.deepEqual(wire.txSet.v1TxSet.phases, [
    { v: 0, v0Components: [] },
    { v: 1, parallelTxsComponent: { baseFee: null, executionStages: [] } },
  ]);
});
