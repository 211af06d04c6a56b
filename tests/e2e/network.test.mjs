// Leases over a network that lags, loses, delays, reorders and refuses transactions, drops whole ledgers, includes transactions in the last
// possible ledger, and jumps its clock. The expected end of each lease is computed from the network's own ledgers alone.
// FAIRWAY_SEED replays the network's faults; FAIRWAY_SIZE=long runs for minutes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { decode } from '../localnet/xdr.mjs';
import { assertSettled, payment, sleep, startWorld, until } from './harness.mjs';

const isLong = process.env.FAIRWAY_SIZE === 'long';
const seed = process.env.FAIRWAY_SEED ?? String(Date.now());
const ACCOUNTS = 60;
const CLIENTS = 8;
const LEASE_SECONDS = 20; // at least this long, so that lost and late transactions are decided
const TX_BAD_SEQ = -5;

const ALWAYS = { seed, loseRequest: 0.05, loseAnswer: 0.05, tooManyRequests: 0.05, unavailable: 0.05, internalError: 0.03,
  tryAgainLater: 0.1, delayMs: 100, loseSubmission: 0.06, late: 0.1, delayLedgers: 2, emptyLedger: 0.2, dropLedger: 0.15,
  jump: 0.1, jumpSeconds: 3 };
/** Which node responds: one that is up to date, one that lags, or another one behind a load balancer each time. */
const NODES = [{ lagLedgers: 0, lagSpread: 8 }, { lagLedgers: 16, lagSpread: 0 }, { lagLedgers: 2, lagSpread: 14 }];

let world, services, payers;
const ledgers = []; // {sequence, closeTime, closedAt, included: Map(inner hash -> code)} as the network closed them
const answered = new Map(); // hash -> {account, sequence, maxTime, answeredAt}
const underway = [];
const badSequence = []; // refusals by a node that had reached sequenceLedger
const met = {};
const count = what => (met[what] = (met[what] ?? 0) + 1);

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 500 });
  payers = await Promise.all([world.newAccount(), world.newAccount()]);
  services = [await world.serve(), await world.serve()];
  world.localnet.chain.on('closed', ({ header, items }) => ledgers.push({ sequence: header.ledgerSeq,
    closeTime: Number(header.scpValue.closeTime), closedAt: Date.now(),
    included: new Map(items.map(({ transaction, outcome }) => [transaction.innermost.hashHex, outcome.code])) }));
});
after(() => world?.stop());

/** One RPC call of a client. Returns null when there was no usable response. */
async function call(method, params) {
  try {
    const answer = await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
    return answer.ok ? (await answer.json()).result ?? null : null;
  } catch {
    return null;
  }
}

function innermostCode(errorResultXdr) {
  const { result } = decode('TransactionResult', Buffer.from(errorResultXdr, 'base64'));
  return result.innerResultPair ? result.innerResultPair.result.result.code : result.code;
}

const wasIncluded = hash => ledgers.some(({ included }) => included.has(hash));

/** Submits like a careful client: repeats until a response says that the network has it. */
async function submit(lease, envelope) {
  for (let tries = 0; tries < 40 && Date.now() < Number(lease.maxTime) * 1000; tries++) {
    const sent = await call('sendTransaction', { transaction: envelope });
    count(sent?.status ?? 'no answer');
    if (sent?.status === 'PENDING' || sent?.status === 'DUPLICATE')
      return;
    // a node that has not reached the ledger before the lease does not know its sequence number yet
    if (sent?.status === 'ERROR' && sent.latestLedger >= lease.sequenceLedger) {
      if (innermostCode(sent.errorResultXdr) === TX_BAD_SEQ && !wasIncluded(lease.hash))
        badSequence.push({ ...lease, sent });
      return;
    }
    await sleep(200);
  }
}

async function leaseOnce(service, random) {
  const [from, to] = payers;
  const leased = await service.post('/v1/transactions',
    { transactionXdr: payment(world, from, to).toXDR(), timeoutSeconds: LEASE_SECONDS });
  if (leased.status === 503)
    return count(leased.json.code);
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const lease = leased.json;
  assert.ok(!answered.has(lease.hash), 'a transaction is signed for one request');
  answered.set(lease.hash, { ...lease, answeredAt: Date.now() });
  if (random < 0.06)
    return count('abandoned');
  const inner = TransactionBuilder.fromXDR(lease.transactionXdr, world.passphrase);
  inner.sign(from);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  if (bumped.status !== 200) // a response that arrived after the lease had ended
    return count(bumped.json.code);
  underway.push(submit(lease, bumped.json.transactionXdr));
}

async function swarm(seconds) {
  const end = Date.now() + seconds * 1000;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; Date.now() < end; i++) {
      await leaseOnce(services[i % services.length], (i * 37 + client * 11) % 100 / 100);
      await sleep(100);
    }
  }));
}

/** The end that the network's ledgers prove, {result, ledger}, or null while there is none. */
function provenEnd({ hash, maxTime }) {
  for (const { sequence, closeTime, included } of ledgers) {
    if (included.has(hash))
      return { result: included.get(hash) === 0 ? 'confirmed' : 'failed', ledger: sequence };
    if (closeTime > Number(maxTime))
      return { result: 'expired', ledger: sequence };
  }
  return null;
}

function assertEveryLeaseEnded(rows) {
  const stored = new Map(rows.map(row => [row.hash, row]));
  for (const [hash, lease] of answered) {
    const end = provenEnd(lease), row = stored.get(hash);
    assert.ok(row, `${hash} was returned to a client and has no lease`);
    assert.deepEqual({ result: row.result, ledger: row.ledger }, end, `lease ${hash}`);
    if (end.result === 'expired')
      assert.ok(!wasIncluded(hash), `${hash} was included after its lease had ended`);
  }
  for (const { included, sequence } of ledgers)
    for (const [hash, code] of included)
      if (stored.has(hash))
        assert.equal(code, 0, `${hash} in ledger ${sequence}`);
}

/** For each account: the next lease begins after the ledger that ended the previous one, with the sequence number that it left. */
function assertNoOverlap(rows) {
  const closedAt = new Map(ledgers.map(({ sequence, closedAt }) => [sequence, closedAt]));
  const last = new Map();
  let pairs = 0;
  for (const row of rows) {
    const before = last.get(row.account);
    last.set(row.account, row);
    if (!before)
      continue;
    pairs++;
    assert.ok(row.grantedAt >= before.settledAt, `${row.hash} was granted before ${before.hash} had ended`);
    assert.equal(row.sequence, before.sequence + (before.result === 'expired' ? 0n : 1n), `sequence of ${row.hash}`);
    const answer = answered.get(row.hash);
    if (answer)
      assert.ok(answer.answeredAt >= closedAt.get(before.ledger), `${row.hash} was returned before ledger ${before.ledger} closed`);
  }
  return pairs;
}

async function leaseRows() {
  const rows = await world.sql(`SELECT encode(hash, 'hex'), account, sequence, result, ledger,
    (extract(epoch FROM granted_at) * 1000000)::int8, (extract(epoch FROM settled_at) * 1000000)::int8
    FROM fairway.lease_history WHERE request_id <> 'ensure-accounts' ORDER BY granted_at`);
  return rows.map(([hash, account, sequence, result, ledger, grantedAt, settledAt]) =>
    ({ hash, account, sequence: BigInt(sequence), result, ledger: Number(ledger), grantedAt: BigInt(grantedAt), settledAt: BigInt(settledAt) }));
}

test('DR8 DR9 over a faulty network each lease ends when a ledger proves it, none overlaps, and no sequence number is stale',
  { timeout: isLong ? 1_800_000 : 900_000 }, async t => {
    t.diagnostic(`FAIRWAY_SEED=${seed}`);
    // more rounds on a slow machine
    const [rounds, leases] = isLong ? [40, 1000] : [3, 150];
    for (let round = 0; round < rounds || (answered.size < leases && round < 10 * rounds); round++) {
      world.localnet.faults.configure({ ...ALWAYS, ...NODES[round % NODES.length] });
      await swarm(isLong ? 15 : 4);
    }
    await Promise.all(underway);
    const open = async () => Number((await world.sql('SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL'))[0][0]);
    await until(async () => await open() === 0, 90_000, 'every lease ends while the network is still faulty');
    const { fired } = world.localnet.faults;
    world.localnet.faults.configure({ reset: true });
    await assertSettled(assert, world, services[0], ACCOUNTS);

    const rows = await leaseRows();
    assert.deepEqual(badSequence, [], 'txBAD_SEQ from a node that had the ledger');
    assertEveryLeaseEnded(rows);
    const pairs = assertNoOverlap(rows);
    const ends = rows.reduce((sum, { result }) => ({ ...sum, [result]: (sum[result] ?? 0) + 1 }), {});
    t.diagnostic(JSON.stringify({ leases: rows.length, pairs, ends, met }));
    t.diagnostic(JSON.stringify(fired));
    assert.ok(rows.length >= (isLong ? 1000 : 100) && pairs >= 50 && ends.confirmed > 0 && ends.expired > 0, 'there were enough leases, confirmations and expiries');
    for (const name of ['lagLedgers', 'lagSpread', 'loseRequest', 'loseAnswer', 'delayMs', 'delayLedgers', 'loseSubmission', 'late'])
      assert.ok(fired[name] > 0, `the network did ${name}`);
    assert.ok(fired.emptyLedger + fired.dropLedger + fired.jump > 0, 'ledgers were empty, dropped or ahead of the clock');
  });
