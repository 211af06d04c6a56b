// An RPC that lies, method by method: while it lies, a live lease stays open, its account stays leased and no account is quarantined; when
// it stops lying, ledgers are followed again. What each lie costs is said beside it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { payment, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const LIE_MS = 2000;
const ACCOUNTS = 4;
let world, service, users, node;
let lie = {}; // method -> function of the call and the true answer, which returns what is said instead

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  node = await proxyRpc(world.localnet.url, async (call, forward) => {
    const answer = await forward();
    return lie[call.method] === undefined ? answer : lie[call.method](answer, call);
  });
  Object.assign(world.env, { INGEST_POLL_MS: '50', START_TIMEOUT: '20', RPC_URL: node.url });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(async () => {
  lie = {};
  await world?.stop();
  node?.close();
});

const cursor = async () => Number((await world.sql('SELECT sequence FROM fairway.cursor'))[0][0]);
const pool = () => world.sql('SELECT state, lease_hash IS NOT NULL AS leased, count(*) FROM fairway.channel_accounts GROUP BY 1, 2 ORDER BY 1, 2');

/** Changes each ledger of an answer of getLedgers. */
const eachLedger = change => answer => {
  answer.result?.ledgers?.forEach(change);
  return answer;
};
const flip = offsetFromEnd => eachLedger(ledger => {
  const meta = Buffer.from(ledger.metadataXdr, 'base64');
  meta[meta.length - offsetFromEnd] ^= 1;
  ledger.metadataXdr = meta.toString('base64');
});
const setResult = values => answer => Object.assign(answer, { result: { ...answer.result, ...values } });
const refuse = (code, message) => answer => ({ jsonrpc: '2.0', id: answer.id, error: { code, message } });

const lies = [
  // name, what it costs, the lie
  ['getLedgers: a ledger under another hash', 'ingestion stops', { getLedgers: eachLedger(ledger => (ledger.hash = 'ab'.repeat(32))) }],
  ['getLedgers: a ledger under another number', 'ingestion stops', { getLedgers: eachLedger(ledger => ledger.sequence++) }],
  ['getLedgers: a byte of the metadata', 'ingestion stops', { getLedgers: flip(400) }],
  ['getLedgers: no metadata', 'ingestion stops', { getLedgers: eachLedger(ledger => (ledger.metadataXdr = '')) }],
  ['getLedgers: no ledger, and a latest one far ahead', 'ingestion stops', { getLedgers: setResult({ ledgers: [], latestLedger: 4000000000 }) }],
  ['getLedgers: a reset network', 'ingestion stops', { getLedgers: refuse(-32600, 'start ledger must be between the oldest ledger: 1 and the latest ledger: 2 for this rpc instance.') }],
  ['getLedgers: a gap', 'grants stop', { getLedgers: refuse(-32600, 'start ledger must be between the oldest ledger: 900000 and the latest ledger: 900010 for this rpc instance.') }],
  ['getLedgerEntries: no account exists', 'nothing', { getLedgerEntries: setResult({ entries: [] }) }],
  ['getLedgerEntries: as of an old ledger', 'nothing', { getLedgerEntries: setResult({ latestLedger: 1 }) }],
  ['getNetwork: another network', 'nothing', { getNetwork: setResult({ passphrase: 'another network' }) }],
  ['getHealth: healthy at ledger 1', 'nothing', { getHealth: setResult({ status: 'healthy', latestLedger: 1, oldestLedger: 1 }) }],
  ['getTransaction: everything failed', 'nothing', { getTransaction: setResult({ status: 'FAILED' }) }],
  ['sendTransaction: everything is pending', 'nothing', { sendTransaction: setResult({ status: 'PENDING' }) }],
  ['every method: 24 MB of empty arrays', 'ingestion stops', Object.fromEntries(
    ['getLedgers', 'getLedgerEntries', 'getNetwork', 'getHealth'].map(method => [method, () => JSON.parse(`[${'[],'.repeat(50_000)}[]]`)]))],
];

test('R2 no lie of an RPC ends a live lease, releases its account or quarantines one', { timeout: 600_000 }, async t => {
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 300 });
  assert.ok(status === 200 || status === 201, JSON.stringify(json));
  const before = await pool();
  assert.equal(before.length, 2, JSON.stringify(before)); // idle ones, and a leased one
  for (const [name, cost, said] of lies) {
    const start = await cursor();
    lie = said;
    await new Promise(resolve => setTimeout(resolve, LIE_MS));
    const during = await cursor();
    assert.deepEqual(await pool(), before, name);
    lie = {};
    await until(async () => await cursor() > during + 2, 120_000, `ledgers are followed after "${name}"`);
    assert.deepEqual(await pool(), before, name);
    if (cost !== 'nothing')
      assert.ok(during <= start + 2, `${name}: ${during - start} ledgers were committed`);
    t.diagnostic(`${name}: ${cost}`);
  }
});
