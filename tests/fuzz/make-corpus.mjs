// Writes the corpora of the fuzz harnesses again, from the SDK and from the texts below. Files that are not written here (inputs that once
// broke a rule) stay. Needs build/release/vectors.txt.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { closure, unwrap } from '../xdr/closure.mjs';
import { randomFrom, Values } from '../xdr/random-values.mjs';

const here = import.meta.dirname;

function write(harness, name, bytes) {
  const folder = path.join(here, 'corpus', harness);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, name), bytes);
}

// one envelope of each form and operation
const seen = new Set();
for (const line of readFileSync(path.join(here, '../../build/release/vectors.txt'), 'utf8').split('\n')) {
  const [kind, title, , form, envelope] = line.split('\t');
  const key = kind === 'lease' && title.includes('operation') ? `${form}-${title.replace(/.*operation (\d+).*/, '$1')}` : null;
  if (!key || seen.has(key) || !envelope) continue;
  seen.add(key);
  if (form === 'V1' || seen.size % 4 === 0) write('envelope', `${key.toLowerCase()}`, Buffer.from(envelope, 'base64'));
}

const meta = unwrap(new Map(closure()).get('LedgerCloseMeta'));
const values = new Values(randomFrom(7), 60);
for (const chosen of meta.cases)
  for (let i = 0; i < 3; i++) {
    const bytes = meta.encode(values.make(meta, chosen), { maxDepth: 10000 });
    if (bytes.length < 3000) write('ledger', `${chosen.name}-${i}`, bytes);
  }

const A = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const texts = {
  json: {
    full: '{"transactionXdr":"AAAAAg==","timeoutSeconds":60,"maxFee":"100"}',
    escapes: '{"transactionXdr":"\\u0041\\ud83d\\ude00\\"\\\\","maxFee":null}',
    nested: '{"a":[[[{"b":[1,-1,1e3,0.5,true,false,null]}]]]}',
    twice: '{"a":1,"a":1}',
    large: '{"timeoutSeconds":9223372036854775808,"maxFee":"18446744073709551616"}',
  },
  base64: { empty: '', one: 'QQ==', two: 'QUI=', three: 'QUJD', loose: 'QR==', space: 'QUJD\n', bytes: '\u0000\u0001\u007f' },
  strkey: {
    account: A,
    lower: A.toLowerCase(),
    muxed: 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ',
    seed: 'SBCVMMCBEDB64TVJZFYJOJAERZC4YVVUOE6SYR2Y76CBTENGUSGWRRVO',
    contract: 'CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE',
    payload: 'PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAQACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB6IBZGM',
  },
  target: {
    plain: '/livez',
    query: '/v1/channel-accounts?limit=10&after=' + A + '&state=idle+x%2B',
    hash: '/v1/transactions/' + 'ab'.repeat(32) + '?wait=30',
    bump: '/v1/transactions/%41/fee-bump',
    twice: '/?a=1&%61=2',
    many: '/?' + Array.from({ length: 20 }, (_, i) => `p${i}=${i}`).join('&'),
    absolute: 'http://host/livez',
    broken: '/%zz?%=%0',
  },
  rpc: {
    ledgers: '\x00{"ledgers":[{"sequence":100,"hash":"' + '00'.repeat(32) + '","headerXdr":"","metadataXdr":"AAAAAA==","ledgerCloseTime":"1"}],"latestLedger":120,"oldestLedger":1,"cursor":"100"}',
    accounts: '\x01{"entries":[],"latestLedger":7}',
    health: '\x02{"status":"healthy","latestLedger":10,"oldestLedger":"1","ledgerRetentionWindow":9}',
    network: '\x03{"passphrase":"Standalone","protocolVersion":"23","friendbotUrl":"http://x"}',
    frozen: '\x04{"entries":[],"latestLedger":7}',
    sent: '\x05{"status":"ERROR","errorResultXdr":"AAAAAAAAAGT////7AAAAAA==","hash":"","latestLedger":1,"latestLedgerCloseTime":"1"}',
    transaction: '\x06{"status":"SUCCESS","ledger":9,"latestLedger":10,"oldestLedger":1,"latestLedgerCloseTime":"5","resultXdr":"AAAAAAAAAGQAAAAAAAAAAAAAAAA="}',
    error: '\x08{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"start ledger must be between the oldest ledger: 5 and the latest ledger: 9 for this rpc instance."}}',
    malformed: '\x09{"jsonrpc":"2.0","id":2,"result":{}}',
    brackets: '\x08' + '[],'.repeat(200),
  },
};
const claims = '"sub":"$G","iat":1000000,"exp":1000010,"methodAndPath":"POST /v1/transactions?a=b%20c","bodyHash":"$H"';
texts.jwt = {
  right: `1{${claims}}`,
  audience: `1{${claims},"aud":["x","fuzz"],"nbf":1000000}`,
  'other-audience': `1{${claims},"aud":"test"}`,
  'idempotency-key': `1{${claims},"idempotencyKey":"k"}`,
  twice: `1{${claims},"iat":1}`,
  expired: `1{${claims.replaceAll('10000', '9999')}}`,
  'far-apart': `1{${claims.replace('1000000', '-9223372036854775807').replace('1000010', '9223372036854775807')}}`,
  nested: `1{${claims},"x":[[[{}]]]}`,
  unsigned: '0eyJhbGciOiJub25lIn0.e30.',
  parts: '0eyJhbGciOiJFZERTQSJ9.e30.' + 'A'.repeat(86),
};
for (const [harness, files] of Object.entries(texts))
  for (const [name, text] of Object.entries(files)) write(harness, name, Buffer.from(text, 'latin1'));

// the conversations of keyd.c: step, then its numbers
const lease = [0, 100, 0, 0, 0, 0, 60, 0];
const bump = [1, 0, 0, 2, 0, 0];
const merge = [2, 100, 1, ...Array(8).fill(0), 0, 0, 200, 0, 60, 1, 0];
const conversations = {
  lease,
  'lease-and-bump': [...lease, ...bump],
  'lease-too-long': [0, 100, 0, 0, 0, 4, 0, 0],
  'broken-seed': [0, 100, 1, 0, 0, 0, 60, 0],
  'bump-of-nothing': bump,
  'edited-bump': [...lease, 1, 0, 0, 2, 0, 1, 0, 60, 9],
  'edited-lease': [0, 100, 0, 0, 0, 0, 60, 2, 0, 40, 1, 0, 100, 5, ...bump],
  merge,
  'load-and-lease': [3, 0, 0, 4, ...Array(4).fill(0), ...lease],
  generate: [3, 1, 0, 4, 0, 0, 0, 3],
  'raw-leases': [3, 2, 0, 12, ...Array(11).fill(0), 1],
};
for (const [name, bytes] of Object.entries(conversations)) write('keyd', name, Buffer.from(bytes));

const zeros = (count) => Array(count).fill(0);
const answers = {
  load: [0, 0, ...zeros(8), ...Buffer.from('0123456789abcdef'), ...zeros(64)],
  generate: [1, 0, ...zeros(32), ...Buffer.from('0123456789abcdef'), ...zeros(160)],
  leases: [2, 0, ...zeros(200)],
  bumps: [3, 0, ...zeros(88)],
  provisioning: [4, 0, ...zeros(48)],
  ready: [5, 0, ...zeros(12)],
  frames: [2, 1, 0, 0, 0, 200, 0, 0, 0, 4, ...zeros(200)],
  'wrong-type': [2, 1, 0, 0, 0, 0, 0, 0, 0, 3],
  'too-long': [1, 1, 255, 255, 255, 255, 0, 0, 0, 3],
};
for (const [name, bytes] of Object.entries(answers)) write('keyd_client', name, Buffer.from(bytes));
