// Our decoder and the official SDK accept the same envelopes and give them the same hashes: the corpus of the fuzz harness and mutations of
// it by the schema. tests/xdr compares all types with bits flipped. FAIRWAY_SEED repeats a run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FeeBumpTransaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { sha256 } from '../oracle/envelope.mjs';
import { closure, unwrap } from '../xdr/closure.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const program = path.resolve(root, process.env.FAIRWAY_MUTANTS ?? 'build/release/tests/fuzz/mutants');
const count = process.env.FAIRWAY_SIZE === 'long' ? 200_000 : 6000;
const seed = Number(process.env.FAIRWAY_SEED ?? Date.now() % 2 ** 30);

const folder = path.join(import.meta.dirname, 'corpus/envelope');
const files = fs.readdirSync(folder).map(name => path.join(folder, name));
const lines = execFileSync(program, [String(count), String(seed), ...files], { maxBuffer: 2 ** 30, encoding: 'utf8' })
  .trimEnd().split('\n').map(line => line.split(' '));
const options = { maxDepth: 10000 };
const schema = unwrap(new Map(closure()).get('TransactionEnvelope'));

test('DX2 our decoder accepts exactly the envelopes that the SDK accepts', t => {
  let accepted = 0;
  for (const [text, verdict] of lines) {
    const valid = schema.validateXdr(Buffer.from(text, 'base64'), options);
    assert.equal(verdict === 'OK', valid, `seed ${seed}: ours ${verdict}, SDK ${valid}: ${text}`);
    accepted += valid;
  }
  assert.ok(accepted > 0.3 * lines.length && accepted < lines.length, `${accepted} accepted`);
  t.diagnostic(`seed ${seed}: ${accepted} of ${lines.length} envelopes accepted`);
});

/** The hash of the transaction (of a fee bump, of the inner one), as the SDK's schemas encode it: for envelopes of which it makes no object. */
function hashOf(text) {
  const envelope = schema.decode(Buffer.from(text, 'base64'), options), inner = envelope.feeBump?.tx.innerTx ?? envelope;
  const key = inner.v0 ? [Buffer.alloc(4)] : []; // the type of the source account, which V0 leaves out
  const { schema: of } = inner.v0 ? xdr.TransactionV0 : xdr.Transaction;
  const payload = [sha256('fuzz'), Buffer.from([0, 0, 0, 2]), ...key, of.encode((inner.v0 ?? inner.v1).tx, options)];
  return sha256(...payload).toString('hex');
}

test('DX2 the hash of an envelope is the one that the SDK computes', t => {
  let compared = 0, built = 0;
  for (const [text, verdict, hash] of lines) {
    if (verdict !== 'OK') {
      assert.equal(hash, '-');
      continue;
    }
    assert.equal(hashOf(text), hash, `seed ${seed}: ${text}`);
    compared++;
    let transaction;
    try {
      transaction = TransactionBuilder.fromXDR(text, 'fuzz');
    } catch {
      continue; // the SDK decodes it, but does not make an object of every operation
    }
    const inner = transaction instanceof FeeBumpTransaction ? transaction.innerTransaction : transaction;
    assert.equal(Buffer.from(inner.hash()).toString('hex'), hash, `seed ${seed}: ${text}`);
    built++;
  }
  assert.ok(built > 0.3 * compared, `${built} of ${compared}`);
  t.diagnostic(`${compared} hashes compared, ${built} of them also with the SDK's transactions`);
});
