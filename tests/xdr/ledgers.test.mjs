// tests/inspect on real ledgers, compared with what the official SDK reads from them (see README.md of that folder). The ledgers
// are not part of the project: FAIRWAY_LEDGERS, or ../shared/ledgers beside the checkout.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import * as xdr from '@stellar/stellar-sdk/xdr';
import { base64, inspector, root } from './judge.mjs';

const ledgers = process.env.FAIRWAY_LEDGERS ?? join(root, '../shared/ledgers');
const skip = existsSync(ledgers) ? false : `no ledgers at ${ledgers}: put some there or set FAIRWAY_LEDGERS`;

const passphrases = { core: '(V) (;,,;) (V)', pubnet: 'Public Global Stellar Network ; September 2015' };
const checked = (folder) => ['--network-passphrase', passphrases[folder]];

const work = mkdtempSync(join(tmpdir(), 'fairway-ledgers-'));
after(() => rmSync(work, { recursive: true }));

function inspect(args, input) {
  const { status, stdout, stderr, error } = spawnSync(inspector, ['ledgers', ...args], { input, maxBuffer: 2 ** 30 });
  if (error) throw error;
  return { status, lines: stdout.toString().split('\n').slice(0, -1), stderr: stderr.toString() };
}

const unpack = (folder, name) => gunzipSync(readFileSync(join(ledgers, folder, name)));

/** The folder's ledgers, unpacked, and the expected output for each, by file in the order of the frames. */
function prepare(folder) {
  const names = readdirSync(join(ledgers, folder)).filter((name) => name.endsWith('.xdr.gz'));
  const paths = names.map((name) => join(work, basename(name, '.gz')));
  names.forEach((name, i) => writeFileSync(paths[i], unpack(folder, name)));
  const expected = unpack(folder, 'expected.jsonl.gz').toString().split('\n').slice(0, -1);
  return { paths, expected };
}

/** Compares line by line as text, because the forms of numbers and strings and the order of keys are part of the format. */
function compare({ paths, expected }, options) {
  const { status, lines, stderr } = inspect([...options, ...paths]);
  assert.equal(stderr, '');
  assert.equal(status, 0);
  const key = (line) => {
    const { file, index } = JSON.parse(line);
    return `${file} ${index}`;
  };
  const ours = new Map(lines.map((line) => [key(line), line]));
  assert.equal(ours.size, lines.length);
  for (const line of expected) assert.equal(ours.get(key(line)), line);
  assert.equal(lines.length, expected.length);
  return lines.length;
}

test("the test suites' ledgers of stellar-core give the expected values", { skip }, (t) => {
  t.diagnostic(`${compare(prepare('core'), ['--framed', ...checked('core')])} ledgers`);
});

test('the ledgers of the public network give the expected values', { skip }, (t) => {
  t.diagnostic(`${compare(prepare('pubnet'), checked('pubnet'))} ledgers`);
});

/** "paymentUnderfunded" as it is in the .x files. */
const constant = (name) => name.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase().replace(/^OP_/, 'op');
const nameOf = (type, code) => constant(xdr[type].schema.nameByValue.get(code));

function operationName({ code, tr }) {
  if (code !== 0) return nameOf('OperationResultCode', code);
  const [[key, inner]] = Object.entries(tr).filter(([name]) => name !== 'type');
  const type = `${key[0].toUpperCase()}${key.slice(1)}Code`;
  return nameOf(type.replace('CreatePassive', 'Manage'), inner.code);
}

/** What the SDK reads from one element of txProcessing, in the form of inspect --results. */
function resultsOf({ result: { transactionHash, result }, txApplyProcessing }) {
  const operations = (result.result.innerResultPair?.result ?? result).result.results ?? [];
  const value = Object.values(txApplyProcessing).find((meta) => meta?.sorobanMeta)?.sorobanMeta.returnValue;
  const isCall = operations[0]?.tr?.invokeHostFunctionResult?.success !== undefined;
  return {
    hash: Buffer.from(transactionHash).toString('hex'),
    feeCharged: String(result.feeCharged),
    operations: operations.map(operationName),
    returnValue: isCall ? base64(xdr.ScVal.schema.encode(value)) : null,
  };
}

test('the fees, the codes of operations and the return values of the public network are those that the SDK reads; each value proves itself', { skip }, (t) => {
  const { paths } = prepare('pubnet');
  const { status, lines } = inspect(['--results', ...paths]);
  assert.equal(status, 0);
  const expected = paths.flatMap((path) => {
    const meta = Object.values(xdr.LedgerCloseMeta.schema.decode(readFileSync(path))).find(({ txProcessing }) => txProcessing);
    return meta.txProcessing.map(resultsOf);
  });
  const got = lines.map((line) => JSON.parse(line)), failed = ({ operations }) => operations.includes('INVOKE_HOST_FUNCTION_TRAPPED');
  assert.deepEqual(got.map((result) => (failed(result) ? { ...result, returnValue: null } : result)), expected);
  const failures = got.filter((result) => failed(result) && result.returnValue); // its events, from the first error on
  assert.ok(failures.length > 0 && failures.every(({ returnValue }) => Buffer.from(returnValue, 'base64').includes('error')));
  const values = expected.filter(({ returnValue }) => returnValue !== null).length;
  assert.ok(values > 0);
  t.diagnostic(`${expected.length} results, ${new Set(expected.flatMap(({ operations }) => operations)).size} codes, ${values} return values`);
});

test('the return value of each call in the ledgers of stellar-core proves itself', { skip }, (t) => {
  const { lines } = inspect(['--framed', '--results', ...prepare('core').paths]);
  const calls = lines.map((line) => JSON.parse(line)).filter(({ operations }) => operations.includes('INVOKE_HOST_FUNCTION_SUCCESS'));
  assert.ok(calls.length > 500);
  assert.deepEqual(calls.filter(({ returnValue }) => returnValue === null), []);
  t.diagnostic(`${calls.length} calls`);
});

function someLedger() {
  const name = readdirSync(join(ledgers, 'pubnet')).find((file) => file.endsWith('.xdr.gz'));
  const expected = unpack('pubnet', 'expected.jsonl.gz').toString().split('\n').find((line) => line.includes(basename(name, '.gz')));
  return { bytes: unpack('pubnet', name), expected: JSON.parse(expected) };
}

const flipped = (bytes, at) => {
  const copy = Buffer.from(bytes);
  copy[at] ^= 1;
  return copy;
};

test('a bit flipped in the header fails the proof of its hash', { skip }, () => {
  const { bytes, expected } = someLedger();
  const at = bytes.indexOf(Buffer.from(expected.previousHash, 'hex'));
  const { status, lines, stderr } = inspect(['-'], flipped(bytes, at));
  assert.equal(status, 65);
  assert.match(stderr, /^inspect: -: ledger 0, .*not the SHA-256 of its header\n$/);
  assert.notEqual(JSON.parse(lines[0]).previousHash, expected.previousHash);
});

test('a bit flipped in a transaction, or a passphrase of another network, fails the proof of the transaction set', { skip }, () => {
  const { bytes, expected } = someLedger();
  const set = bytes.lastIndexOf(Buffer.from(expected.previousHash, 'hex')); // the header and the set have it
  for (const [input, options] of [
    [flipped(bytes, set), checked('pubnet')],
    [bytes, checked('core')],
  ]) {
    const { status, lines, stderr } = inspect([...options, '-'], input);
    assert.equal(status, 65);
    assert.equal(lines.length, 1);
    assert.match(stderr, /txSetHash/);
  }
});
