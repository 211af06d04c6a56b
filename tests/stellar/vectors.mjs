// Golden vectors for src/stellar, made by the official SDK, one per line on standard output: for each input and its parameters, the expected
// result, byte for byte. Columns are separated by tabs; see the two `row` calls below.

import { createHash } from 'node:crypto';
import {
  Account, FeeBumpTransaction, Keypair, Operation, Transaction, TransactionBuilder,
} from '@stellar/stellar-sdk';
import * as xdr from '@stellar/stellar-sdk/xdr';
import { Values, randomFrom } from '../xdr/random-values.mjs';

const random = randomFrom(20);
const values = new Values(random, 120);
const encode = (type, wire) => Buffer.from(xdr[type].schema.encode(wire));
const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
const bytes = (n) => Buffer.from(Array.from({ length: n }, () => random.below(256)));
const row = (...columns) =>
  console.log(columns.map((c) => (c instanceof Uint8Array ? Buffer.from(c).toString('base64') : String(c))).join('\t'));

const NETWORKS = [
  'Public Global Stellar Network ; September 2015', 'Test SDF Network ; September 2015', '(V) (;,,;) (V)', 'Standalone',
];

const keypair = (name) => Keypair.fromRawEd25519Seed(sha256(Buffer.from(name)));
const plain = (pair) => ({ type: 0, ed25519: pair.rawPublicKey() });
const muxed = (pair, id) => ({ type: 256, med25519: { id, ed25519: pair.rawPublicKey() } });
const decorate = (pair, hash) => ({ hint: pair.signatureHint(), signature: pair.sign(hash) });

const payload = (passphrase, type, name, tx) =>
  encode('TransactionSignaturePayload', {
    networkId: sha256(Buffer.from(passphrase)),
    taggedTransaction: { type, [name]: tx },
  });
const hashOf = (passphrase, tx) => sha256(payload(passphrase, 2, 'tx', tx));

// --- inputs

const operation = (kind, source) => ({
  sourceAccount: source,
  body: values.make(xdr.OperationBody.schema, xdr.OperationBody.schema.cases.find((c) => c.discriminant === kind)),
});
const timeBounds = { minTime: 1700000000n, maxTime: 1900000000n };
const extraSigners = [
  { type: 0, ed25519: bytes(32) },
  { type: 3, ed25519SignedPayload: { ed25519: bytes(32), payload: bytes(29) } },
];
const v2 = (fields) => ({
  type: 2,
  v2: {
    timeBounds: null, ledgerBounds: null, minSeqNum: null, minSeqAge: 0n, minSeqLedgerGap: 0, extraSigners: [], ...fields,
  },
});
const PRECONDITIONS = {
  none: { type: 0 },
  time: { type: 1, timeBounds },
  'time-zero': { type: 1, timeBounds: { minTime: 0n, maxTime: 0n } },
  'v2-empty': v2({}),
  'v2-time': v2({ timeBounds }),
  'v2-ledgers': v2({ ledgerBounds: { minLedger: 7, maxLedger: 4000000000 } }),
  'v2-ledgers-zero': v2({ timeBounds, ledgerBounds: { minLedger: 0, maxLedger: 0 } }),
  'v2-min-ledger': v2({ ledgerBounds: { minLedger: 7, maxLedger: 0 } }),
  'v2-signers': v2({ timeBounds, extraSigners }),
  'v2-signer': v2({ extraSigners: [{ type: 2, hashX: bytes(32) }] }),
  'v2-all': v2({ timeBounds, ledgerBounds: { minLedger: 1, maxLedger: 2 }, extraSigners: extraSigners.slice().reverse() }),
};
const MEMOS = {
  none: { type: 0 },
  'text-empty': { type: 1, text: Buffer.alloc(0) },
  text: { type: 1, text: Buffer.from('ünïcode, 27 bytes long..') },
  id: { type: 2, id: 2n ** 64n - 1n },
  hash: { type: 3, hash: bytes(32) },
  return: { type: 4, retHash: bytes(32) },
};
const SOURCES = { G: plain(keypair('client')), M: muxed(keypair('client'), 2n ** 63n) };

const transaction = (fields) => ({
  sourceAccount: SOURCES.G, fee: 100, seqNum: 17n, cond: PRECONDITIONS.none, memo: MEMOS.none,
  operations: [operation(1, SOURCES.G)], ext: { v: 0 }, ...fields,
});

/** The envelope in one of the forms around a V1 transaction; null where V0 cannot represent it. */
function envelope(form, tx, passphrase) {
  const signatures = [decorate(keypair('client'), hashOf(passphrase, tx))];
  const inner = { type: 2, v1: { tx, signatures } };
  switch (form) {
    case 'V1':
      return inner;
    case 'FEE_BUMP':
      return {
        type: 5,
        feeBump: { tx: { feeSource: SOURCES.M, fee: 5000n, innerTx: inner, ext: { v: 0 } }, signatures: [decorate(keypair('x'), bytes(32))] },
      };
    case 'V0': {
      const { sourceAccount, cond, ...same } = tx;
      if (sourceAccount.type !== 0 || cond.type > 1 || tx.ext.v !== 0) return null;
      return { type: 0, v0: { tx: { ...same, sourceAccountEd25519: sourceAccount.ed25519, timeBounds: cond.timeBounds ?? null }, signatures } };
    }
  }
}

// --- what must come out

/** The remaining preconditions of the client, in the simplest form that holds them. */
function leased(cond, maxTime) {
  const given = cond.type === 2 ? cond.v2 : { timeBounds: cond.timeBounds, ledgerBounds: null, extraSigners: [] };
  const times = { minTime: given.timeBounds?.minTime ?? 0n, maxTime };
  const ledgers = given.ledgerBounds;
  const ledgerBounds = ledgers && (ledgers.minLedger || ledgers.maxLedger) ? ledgers : null;
  if (!ledgerBounds && !given.extraSigners.length) return { type: 1, timeBounds: times };
  return v2({ timeBounds: times, ledgerBounds, extraSigners: given.extraSigners });
}

let judged = 0;

/** Where the SDK's high-level classes can read an envelope, their hash must be the same. */
function judge(Class, wire, passphrase, hash) {
  let parsed;
  try {
    parsed = new Class(encode('TransactionEnvelope', wire).toString('base64'), passphrase);
  } catch {
    return; // a random operation that the SDK cannot build, for example with an unprintable asset code
  }
  if (!hash.equals(parsed.hash())) throw new Error('the SDK disagrees with itself');
  judged++;
}

let count = 0;
function vector(name, form, tx) {
  const passphrase = NETWORKS[count++ % NETWORKS.length];
  const input = envelope(form, tx, passphrase);
  if (!input) return;
  const channel = keypair(`channel ${name}`);
  const distribution = keypair('distribution');
  const head = {
    fee: 100 + random.below(2 ** 31), seqNum: BigInt(count) << 32n, maxTime: 1800000000n + BigInt(count),
  };
  const output = {
    ...tx, sourceAccount: plain(channel), fee: head.fee, seqNum: head.seqNum, cond: leased(tx.cond, head.maxTime),
  };
  const hash = hashOf(passphrase, output);
  const signed = { tx: output, signatures: [decorate(channel, hash)] };
  judge(Transaction, { type: 2, v1: signed }, passphrase, hash);

  const bump = {
    feeSource: plain(distribution), fee: 2n ** 62n + BigInt(count), innerTx: { type: 2, v1: signed }, ext: { v: 0 },
  };
  const bumpHash = sha256(payload(passphrase, 5, 'feeBump', bump));
  const bumpEnvelope = { type: 5, feeBump: { tx: bump, signatures: [decorate(distribution, bumpHash)] } };
  judge(FeeBumpTransaction, bumpEnvelope, passphrase, bumpHash);

  row(
    'lease', `${form} ${name}`, passphrase, form, encode('TransactionEnvelope', input), hashOf(passphrase, tx),
    tx.sourceAccount.type, tx.operations.length, tx.memo.type, tx.ext.v, tx.ext.sorobanData?.resourceFee ?? 0n,
    channel.publicKey(), head.fee, head.seqNum, head.maxTime, encode('Transaction', output), hash, channel.sign(hash),
    encode('TransactionEnvelope', { type: 2, v1: signed }),
    distribution.publicKey(), bump.fee, encode('FeeBumpTransaction', bump), bumpHash, distribution.sign(bumpHash),
    encode('TransactionEnvelope', bumpEnvelope),
  );
}

function everyForm(name, tx) {
  for (const form of ['V0', 'V1', 'FEE_BUMP']) vector(name, form, tx);
}

for (const kind of xdr.OperationType.schema.nameByValue.keys())
  for (const [form, source] of Object.entries({ ...SOURCES, none: null })) {
    const soroban = kind >= 24;
    const data = { ...values.make(xdr.SorobanTransactionData.schema), resourceFee: BigInt(random.below(2 ** 31)) };
    everyForm(
      `operation ${kind} source ${form}`,
      transaction({ operations: [operation(kind, source)], ext: soroban ? { v: 1, sorobanData: data } : { v: 0 } }),
    );
  }
for (const [memo, wire] of Object.entries(MEMOS)) everyForm(`memo ${memo}`, transaction({ memo: wire }));
for (const [name, cond] of Object.entries(PRECONDITIONS))
  for (const [form, sourceAccount] of Object.entries(SOURCES))
    everyForm(`preconditions ${name} source ${form}`, transaction({ cond, sourceAccount, memo: MEMOS.id }));
for (const n of [0, 2, 100])
  everyForm(`${n} operations`, transaction({ operations: Array.from({ length: n }, () => operation(random.below(24), SOURCES.M)) }));

// --- provisioning, built with the SDK as an operator of channel accounts would

function provisioning(kind, n) {
  const passphrase = NETWORKS[n % NETWORKS.length];
  const distribution = keypair('distribution');
  const accounts = Array.from({ length: n }, (_, i) => keypair(`account ${i}`));
  const fee = kind === 'creation' ? 3 * n * 250 : n * 250;
  const sequence = 2n ** 40n + BigInt(n);
  const maxTime = 1800000000 + n;
  const source = distribution.publicKey();
  const builder = new TransactionBuilder(new Account(source, String(sequence - 1n)), {
    fee: '250', networkPassphrase: passphrase, timebounds: { minTime: 0, maxTime },
  });
  for (const destination of accounts.map((a) => a.publicKey())) {
    if (kind === 'creation') {
      builder.addOperation(Operation.beginSponsoringFutureReserves({ sponsoredId: destination, source }));
      builder.addOperation(Operation.createAccount({ destination, startingBalance: '0', source }));
      builder.addOperation(Operation.endSponsoringFutureReserves({ source: destination }));
    } else builder.addOperation(Operation.accountMerge({ destination: source, source: destination }));
  }
  const built = builder.build();
  if (built.fee !== String(fee)) throw new Error(`fee ${built.fee}, not ${fee}`);
  const signers = [distribution, ...accounts];
  built.sign(...signers);
  row(
    'provisioning', kind, passphrase, source, sequence, fee, maxTime, accounts.map((a) => a.publicKey()).join(','),
    built.hash(), signers.map((s) => Buffer.from(s.sign(built.hash())).toString('base64')).join(','), Buffer.from(built.toXDR(), 'base64'),
  );
}
for (const kind of ['creation', 'merge']) for (const n of [1, 2, 18]) provisioning(kind, n);

if (judged < count / 2) throw new Error(`the SDK's classes read only ${judged} envelopes`);
