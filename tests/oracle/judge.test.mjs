// Tests of the oracle itself: each rule reports a history that breaks it, and no other rule reports that history.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Transactions } from './decoding.mjs';
import { startHistory } from './history.mjs';
import { FINAL_RULES, RULES, describe, judge } from './judge.mjs';
import { TABLES as TABLES_OF_WAL, record } from './wal.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-oracle-'));
let history;
before(async () => {
  fs.chmodSync(folder, 0o755);
  history = await startHistory(folder);
});
after(async () => {
  await history?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

const TABLES = ['wal_transaction', 'grant_made', 'lease_end', 'account_change', 'ledger_commit', 'cursor_change', 'bump_recorded',
  'submission_change', 'key_taken', 'history_change', 'signature', 'keyed_answer', 'contest_request', 'asked', 'submission', 'ledger', 'queued',
  'consumption', 'removal', 'inclusion', 'final_pool', 'final_history', 'final_lease', 'final_key', 'final_submission', 'final_account', 'final_cursor', 'final_network'];
const at = second => `2026-01-01 00:00:${String(second).padStart(2, '0')}+00`;

// Account A is at sequence 10. Lease h1 (sequence 11) is granted after ledger 100 and included in 101. Then h2 (12) is granted and never
// submitted: ledger 103 closes after its max time, 1020. Ordinals: 1 ledger 100, 2 h1, 3 ledger 101, 4 h2, 5 and 6 the other ledgers.
const good = () => ({
  wal_transaction: [1, 2, 3, 4, 5, 6].map(n => [n, at(n)]),
  grant_made: [[2, 'h1', 'A', 11, 1020, null, 'e1'], [4, 'h2', 'A', 12, 1020, null, 'e2']],
  lease_end: [[3, 'h1', 'confirmed', 101], [6, 'h2', 'expired', 103]],
  account_change: [[1, 'A', 'active', 10, null], [2, 'A', 'active', 10, 'h1'], [3, 'A', 'active', 11, null], [4, 'A', 'active', 11, 'h2'],
    [6, 'A', 'active', 11, null]],
  ledger_commit: [[1, 100, 1000], [3, 101, 1005], [5, 102, 1020], [6, 103, 1021]],
  cursor_change: [[1, 100, 1], [3, 101, 1], [5, 102, 2], [6, 103, 2]],
  bump_recorded: [[2, 'b1', 'h1', 200]],
  submission_change: [[2, 'INSERT', 'h1'], [3, 'DELETE', 'h1']],
  asked: [['h1', 20_000], ['h1', 200_000]],
  signature: [[at(2), 'lease', 'h1', null, 'A', 11, 1020, 'e1', 'k1'], [at(5), 'fee bump', 'b1', 'h1', 'A', 11, 1020, '', null],
    [at(5), 'lease', 'h2', null, 'A', 12, 1020, 'e2', null]],
  key_taken: [[2, 'C', 'k1', 'h1'], [4, 'C', 'token:t2', 'h2']],
  keyed_answer: [['k1', 'd1'], ['k1', 'd1']],
  contest_request: [1, 2].flatMap(replica => [201, 201, 503].map(status => [1, replica, 10, status, null])),
  submission: [['h1', 'PENDING', null, 100, 100]],
  ledger: [[100, 1000, at(0)], [101, 1005, at(2)], [102, 1020, at(4)], [103, 1021, at(5)]],
  queued: [[101, 'b1', 'h1', 200], [101, 'other', 'other', 9999]],
  consumption: [[100, 'A', 10], [101, 'A', 11]],
  removal: [[101, 'Z']],
  inclusion: [[101, 'h1', true, 200, 100]],
  final_pool: [[1]],
  final_history: [[5, 5, 2, 2, 0, 0]],
  final_lease: [['h1', 'A', 'confirmed', 101], ['h2', 'A', 'expired', 103]],
  final_key: [['C', 'k1', 'h1'], ['C', 'token:t2', 'h2']],
  final_account: [['A', 'active', 11, null]],
  final_cursor: [[103, 2]],
  final_network: [['A', 11]],
});

async function verdict(change = () => {}) {
  const observed = good();
  change(observed);
  // the tables refuse deletion, but each test starts with an empty history
  await history.query(`SET session_replication_role = replica; TRUNCATE ${TABLES.join(', ')}; SET session_replication_role = DEFAULT`);
  for (const [table, rows] of Object.entries(observed))
    for (const row of rows)
      history.append(table, ...row);
  return judge(history);
}
const broken = async change => Object.keys(await verdict(change)).sort();
const end = (observed, hash) => observed.lease_end.find(row => row[1] === hash);
const fired = new Set();
const fires = (name, rules, change) => test(name, async () => {
  assert.deepEqual(await broken(change), [...rules].sort());
  rules.forEach(rule => fired.add(rule));
});

test('DS1 a correct history breaks no rule', async () => {
  assert.equal(describe(await verdict()), '');
});

test('the history refuses changes and deletions', async () => {
  await verdict();
  await assert.rejects(history.query("UPDATE lease_end SET result = 'expired'"), /append-only/);
  await assert.rejects(history.query('DELETE FROM grant_made'), /append-only/);
  await assert.rejects(history.query('TRUNCATE ledger'), /append-only/);
});

// h2 ends by a clock in transaction 5, and h3 takes the account in 6; ledger 102, committed in 7, could include either
fires('DL1 H1 an account that is leased again before a ledger says so is a double lease and a double signature', ['double lease',
  'double signature', 'early release'], observed => {
  observed.wal_transaction.push([7, at(7)], [8, at(8)]);
  observed.ledger_commit = [[1, 100, 1000], [3, 101, 1005], [7, 102, 1020], [8, 103, 1021]];
  observed.cursor_change = [[1, 100, 1], [3, 101, 1], [7, 102, 2], [8, 103, 2]];
  observed.grant_made.push([6, 'h3', 'A', 12, 1020, null, 'e3']);
  observed.lease_end = [[3, 'h1', 'confirmed', 101], [5, 'h2', 'expired', 101], [8, 'h3', 'expired', 103]];
  observed.account_change = observed.account_change.slice(0, 4).concat([[5, 'A', 'active', 11, null], [6, 'A', 'active', 11, 'h3'],
    [8, 'A', 'active', 11, null]]);
  observed.final_lease = [['h1', 'A', 'confirmed', 101], ['h2', 'A', 'expired', 101], ['h3', 'A', 'expired', 103]];
});
fires('DR1 a lease that ends outside the transaction of its ledger is an early release', ['early release', 'account without lease'], observed => {
  observed.wal_transaction.push([7, at(7)]);
  end(observed, 'h2')[0] = 5;
});
fires('DR1 a lease that ends after the transaction of its ledger is a lost release', ['early release', 'lost release'], observed => {
  observed.wal_transaction.push([7, at(7)]);
  end(observed, 'h2')[0] = 7;
  observed.account_change.at(-1)[0] = 7;
});
fires('DR1 a lease whose ledger is committed and that stays open is a lost release and a leak', ['lost release', 'leaked account',
  'open lease'], observed => {
  observed.lease_end.pop();
  observed.account_change.pop();
  observed.final_lease[1] = ['h2', 'A', null, null];
  observed.final_account[0] = ['A', 'active', 11, 'h2'];
});
fires('DR3 a lease that was included but is recorded as expired has a wrong result', ['wrong result'], observed => {
  end(observed, 'h1')[2] = 'expired';
  observed.final_lease[0][2] = 'expired';
});
fires('DR3 a sequence that another transaction consumed supersedes the lease', ['wrong result'], observed => {
  observed.inclusion = [[101, 'other', true, 100, 100]];
});
fires('DL1 H2 an account that changes to another lease without a ledger', ['account without lease', 'lease without account'], observed => {
  observed.account_change[1][4] = 'h9';
});
fires('DS1 a signature without a row', ['unrecorded signature'], observed => {
  observed.signature.push([at(6), 'lease', 'h9', null, 'A', 13, 1020, 'e9', null]);
});
fires('DS1 a signature returned before its row was committed', ['unrecorded signature'], observed => {
  observed.signature[0][0] = at(1);
});
fires('DS1 a fee bump without a row', ['unrecorded signature', 'sent before it was recorded'], observed => {
  observed.bump_recorded = [];
});
fires('DS1 an envelope that differs from the recorded one', ['unrecorded signature'], observed => {
  observed.signature[0][7] = 'another';
});
fires('DS1 two rows for one signature', ['two rows for one signature'], observed => {
  observed.grant_made.push([4, 'h2', 'A', 12, 1020, null, 'e2']);
});
fires('a lease that ends twice', ['two ends of one lease'], observed => {
  observed.lease_end.push([6, 'h2', 'expired', 103]);
});
fires('DL9 a key that took two leases', ['second lease for a key', 'response to another key', 'key rows'], observed => {
  observed.key_taken[1][2] = 'k1';
});
test('DL9 two clients may use one key', async () => {
  assert.equal(describe(await verdict(observed => {
    observed.key_taken[1] = [4, 'D', 'k1', 'h2'];
    observed.final_key[1] = ['D', 'k1', 'h2'];
    observed.signature[2][8] = 'k1';
  })), '');
});
fires('DL9 a key of a lease settled before the run that takes a second lease', ['second lease for a key'], observed => {
  observed.key_taken[0][2] = observed.signature[0][8] = observed.final_key[0][1] = 'history-3';
});
fires('DL9 a key recorded after its lease was granted', ['key without lease'], observed => {
  observed.key_taken[0][0] = 3;
});
fires('DL9 a key of a lease that does not exist', ['key without lease'], observed => {
  observed.key_taken.push([4, 'C', 'k9', 'h9']);
  observed.final_key.push(['C', 'k9', 'h9']);
});
fires('DL9 a key that is not recorded', ['response to another key', 'key rows'], observed => {
  observed.key_taken.shift();
});
fires('DL9 a lease that two keys have', ['response to another key'], observed => {
  observed.key_taken.push([2, 'C', 'k2', 'h1']);
  observed.final_key.push(['C', 'k2', 'h1']);
});
fires('DL9 a repeated key that gets another response', ['different responses to a key'], observed => {
  observed.keyed_answer[1][1] = 'd2';
});
fires('DL9 a lease returned to another key than the one that took it', ['response to another key'], observed => {
  observed.signature[0][8] = 'k2';
});
fires('DL9 a lease taken without a key and returned to a key', ['response to another key'], observed => {
  observed.signature[2][8] = 'k2';
});
fires('DP3 H7 an account that is merged while a transaction of it can still be included', ['merged while leased'], observed => {
  observed.removal.push([102, 'A']);
});
fires('DP3 a lease on an account that was merged before it', ['merged while leased'], observed => {
  observed.removal.push([100, 'A']);
});
fires('a settled lease of before the run that is settled again', ['early release'], observed => {
  observed.lease_end.push([6, 'h0', 'expired', 103]);
});
fires('a row of history that is changed', ['history changed'], observed => {
  observed.history_change = [[6, 'fairway.lease_results', 'UPDATE', 'h1']];
});
fires('key rows that do not follow from the log', ['key rows'], observed => {
  observed.final_key.pop();
});
fires('DL7 a replica whose clients are served less often', ['unfair contest'], observed => {
  observed.contest_request.push([1, 2, 10, 503, 'CHANNEL_ACCOUNT_UNAVAILABLE'], [1, 2, 10, null, null]);
});
fires('DL7 a contest in which one replica took part', ['unfair contest'], observed => {
  observed.contest_request = [[1, 1, 10, 201, null]];
});
fires('DR8 H5 a sequence number that does not follow from the committed ledgers', ['stale sequence', 'unrecorded signature'], observed => {
  observed.grant_made[1][3] = 14;
});
fires('DR8 txBAD_SEQ from a node that has the ledger of the grant is our fault', ['bad sequence caused by us'], observed => {
  observed.submission.push(['h2', 'ERROR', -5, 101, 101]);
});
fires('DL16 a transaction that two ledgers have', ['included twice'], observed => {
  observed.inclusion.push([102, 'h1', true, 200, 100]);
});
fires('DL16 a fee above the bid', ['charged above the bid'], observed => {
  observed.inclusion[0][4] = 201;
});
fires('DL16 a bid above the highest cap that its client gave', ['bid above the cap'], observed => {
  observed.bump_recorded[0][3] = 200_001;
});
fires('DL16 a bid in the node above the cap', ['bid above the cap'], observed => {
  observed.queued[0][3] = 200_001;
});
fires('DL16 a bid that reaches the node before it is committed', ['sent before it was recorded'], observed => {
  observed.bump_recorded[0][0] = 4; // after ledger 101 closed
  observed.signature.splice(1, 1);
});
fires('DL16 a submission whose row outlives its lease', ['submission without its lease', 'open submission'], observed => {
  observed.submission_change.pop();
  observed.submission_change.push([4, 'INSERT', 'h1']);
  observed.final_submission = [['h1']];
});
fires('DL16 a submission whose row goes before its lease ends', ['submission without its lease'], observed => {
  observed.submission_change[1][0] = 2;
});
fires('DL16 a row of submissions that does not follow from the log', ['open submission'], observed => {
  observed.final_submission = [['h1']];
});

/** Lease h2 is sent by fairway, and lives long enough for 16 ledgers, of which the node has a bid in those of `live`. */
const sentIn = (live, cap = null) => observed => {
  observed.grant_made[1][4] = observed.signature[2][6] = 9999;
  observed.bump_recorded.push([4, 'b2', 'h2', 200]);
  observed.submission_change.push([4, 'INSERT', 'h2'], [30, 'DELETE', 'h2']);
  observed.asked.push(['h2', cap]);
  for (let n = 0; n < 16; n++) {
    observed.wal_transaction.push([7 + n, at(7 + n)]);
    observed.ledger_commit.push([7 + n, 104 + n, 1022 + n]);
    observed.cursor_change.push([7 + n, 104 + n, 2]);
    observed.ledger.push([104 + n, 1022 + n, at(7 + n)]);
    observed.queued.push(...live.includes(n) ? [[104 + n, 'b2', 'h2', 200]] : []);
  }
  observed.wal_transaction.push([30, at(30)]);
  observed.ledger_commit.push([30, 120, 10_000]);
  observed.cursor_change.push([30, 120, 2]);
  observed.ledger.push([120, 10_000, at(30)]);
  end(observed, 'h2')[0] = 30;
  end(observed, 'h2')[3] = observed.final_lease[1][3] = 120;
  observed.account_change.at(-1)[0] = 30;
  observed.final_cursor = [[120, 2]];
};
fires('DL16 what fairway sends and no node has for too many ledgers', ['left unsent'], sentIn([0]));
test('DL16 what a node has dropped may be missing for some ledgers, and longer when a low cap allows no raise', async () => {
  assert.equal(describe(await verdict(sentIn([0, 1, 2, 3, 8, 9]))), '');
  assert.equal(describe(await verdict(sentIn([0, 1, 2, 3], 20_000))), '');
});
test('DL16 ledgers that fairway does not follow do not count', async () => {
  for (const then of [29, 7]) // RPC was away, or the leader stopped; the database was down
    assert.equal(describe(await verdict(observed => {
      sentIn([0])(observed);
      observed.wal_transaction.slice(7, -1).forEach(row => (row[1] = at(then)));
    })), '');
});
fires('DR4 a ledger that is skipped', ['ledgers', 'cursor'], observed => {
  observed.ledger_commit = observed.ledger_commit.filter(row => row[1] !== 102);
});
fires('DR4 a ledger that is not the network\'s', ['ledgers'], observed => {
  observed.ledger_commit[2][2] = 1019;
});
fires('DR7 a term that goes backwards', ['cursor', 'cursor row'], observed => {
  observed.cursor_change[3][2] = 1;
});
fires('DR1 a ledger without its cursor', ['ledger without cursor'], observed => {
  observed.cursor_change.splice(2, 1);
});
fires('lease rows that do not follow from the log', ['lease rows'], observed => {
  observed.final_lease.pop();
});
fires('DP1 a pool of another size than requested', ['pool size'], observed => {
  observed.final_pool = [[2]];
});
fires('DP1 an account on the network that is not in the pool', ['orphaned account'], observed => {
  observed.final_network.push(['B', 7]);
});
fires('DP1 an account that is retired in the pool and was not merged', ['orphaned account'], observed => {
  observed.account_change.push([6, 'B', 'retired', 7, null]);
  observed.final_account.push(['B', 'retired', 7, null]);
  observed.final_network.push(['B', 7]);
});
fires('an account that stays quarantined is leaked', ['leaked account', 'pool size', 'orphaned account', 'account rows'], observed => {
  observed.final_account[0][1] = 'quarantined';
});
fires('settled leases that are dropped too early', ['history lost'], observed => {
  observed.final_history[0][1] = 4;
});
fires('DL9 keys that are forgotten too early', ['history lost'], observed => {
  observed.final_history[0][3] = 1;
});
fires('settled leases that are never dropped', ['not dropped by housekeeping'], observed => {
  observed.final_history[0][4] = 1;
});
fires('DL9 keys that are never forgotten', ['not dropped by housekeeping'], observed => {
  observed.final_history[0][5] = 1;
});
fires('an account row that does not follow from the log', ['account rows', 'sequence of the network'], observed => {
  observed.final_account[0][2] = 12;
});

test('DR9 only the ledger that was being committed at the grant may miss a bound', async () => {
  const late = ends => observed => {
    // h2 is granted when the network has already closed 103: it is due with the commit of 102, which may miss it, or of 103
    observed.ledger[2] = [102, 1021, at(4)];
    observed.ledger_commit[2] = [5, 102, 1021];
    end(observed, 'h2')[0] = ends;
    end(observed, 'h2')[3] = ends === 5 ? 102 : 103;
    observed.account_change.at(-1)[0] = ends;
    observed.final_lease[1][3] = ends === 5 ? 102 : 103;
  };
  assert.equal(describe(await verdict(late(5))), '');
  assert.equal(describe(await verdict(late(6))), '');
});

test('a lease with a ledger bound ends with the last ledger below the bound', async () => {
  assert.equal(describe(await verdict(observed => {
    observed.grant_made[1][5] = 103;
    end(observed, 'h2')[0] = 5;
    end(observed, 'h2')[3] = 102;
    observed.account_change.at(-1)[0] = 5;
    observed.final_lease[1][3] = 102;
  })), '');
});

// Lines as test_decoding writes them.
const HASH = "'\\x0a1b'", GRANTED = "'2026-11-22 05:00:00+00'";
const LINES = {
  grant: [`table fairway.leases_20261122: INSERT: hash[bytea]:${HASH} account[text]:'A' sequence[bigint]:12 sequence_ledger[bigint]:1 ` +
    `client[text]:'C' envelope[bytea]:'\\x0c' max_time[bigint]:1020 max_ledger[bigint]:null request_id[text]:'r' ` +
    `granted_at[timestamp with time zone]:${GRANTED}`,
  `table fairway.idempotency_keys_20261122: INSERT: client[text]:'C' key[text]:'it''s: [a] key' digest[bytea]:${HASH} ` +
    `lease_hash[bytea]:${HASH} granted_at[timestamp with time zone]:${GRANTED}`,
  `table fairway.channel_accounts: UPDATE: public_key[fairway.address]:'A' state[text]:'active' sequence[bigint]:11 lease_hash[bytea]:${HASH}`],
  settle: [`table fairway.lease_results_20261122: INSERT: hash[bytea]:${HASH} granted_at[timestamp with time zone]:${GRANTED} ` +
    `settled_at[timestamp with time zone]:${GRANTED} result[text]:'confirmed' result_code[text]:'txSUCCESS' ledger[bigint]:101`,
  "table fairway.channel_accounts: UPDATE: public_key[fairway.address]:'A' state[text]:'active' sequence[bigint]:12 lease_hash[bytea]:null",
  "table fairway.ledgers: INSERT: sequence[bigint]:101 close_time[bigint]:1005",
  "table fairway.cursor: UPDATE: sequence[bigint]:101 term[bigint]:1"],
  bump: [`table fairway.fee_bumps_20261122: INSERT: hash[bytea]:'\\xff' lease_hash[bytea]:${HASH} fee[bigint]:200`],
  submit: [`table fairway.submissions: INSERT: lease_hash[bytea]:${HASH} account[text]:'A'`, 'table fairway.submissions: UPDATE: bid[bigint]:1',
    `table fairway.submissions: DELETE: lease_hash[bytea]:${HASH}`],
  housekeeping: ['table fairway.ledgers: DELETE: sequence[bigint]:1', "table fairway.housekeeping: UPDATE: one[boolean]:true"],
  change: [`table fairway.lease_results_20261122: UPDATE: hash[bytea]:${HASH} result[text]:'expired' ledger[bigint]:101`,
    `table fairway.leases_20261122: DELETE: hash[bytea]:${HASH}`,
    "table fairway.idempotency_keys_20261122: DELETE: client[text]:'C' key[text]:'k'",
    'table fairway.fee_bumps_20261122, fairway.leases: TRUNCATE: (no-flags)',
    `table fairway.leases_before_0010: INSERT: hash[bytea]:${HASH} account[text]:'A'`],
};

/** What the oracle records of these lines, as one transaction. */
function recorded(...lines) {
  const rows = [], observer = { append: (...row) => rows.push(row) };
  const transactions = new Transactions(TABLES_OF_WAL, transaction => record(observer, 7, transaction));
  ['BEGIN 800', ...lines, 'COMMIT 800 (at 2026-11-22 05:00:01+00)'].forEach(line => transactions.line(line));
  return rows.slice(1);
}

test('the oracle reads rows of partitions in the write-ahead log', () => {
  assert.deepEqual(recorded(...LINES.grant), [['grant_made', 7, '0a1b', 'A', '12', '1020', null, '0c'],
    ['key_taken', 7, 'C', "it's: [a] key", '0a1b'], ['account_change', 7, 'A', 'active', '11', '0a1b']]);
  assert.deepEqual(recorded(...LINES.settle), [['lease_end', 7, '0a1b', 'confirmed', '101'], ['ledger_commit', 7, '101', '1005'],
    ['cursor_change', 7, '101', '1'], ['account_change', 7, 'A', 'active', '12', null]]);
  assert.deepEqual(recorded(...LINES.bump), [['bump_recorded', 7, 'ff', '0a1b', '200']]);
  assert.deepEqual(recorded(...LINES.submit), [['submission_change', 7, 'INSERT', '0a1b'], ['submission_change', 7, 'DELETE', '0a1b']]);
  assert.deepEqual(recorded(...LINES.housekeeping), []);
});

test('the oracle reads each change and deletion of history in the write-ahead log', () => {
  assert.deepEqual(recorded(...LINES.change), [['history_change', 7, 'fairway.lease_results', 'UPDATE', '0a1b'],
    ['history_change', 7, 'fairway.leases', 'DELETE', '0a1b'], ['history_change', 7, 'fairway.idempotency_keys', 'DELETE', null],
    ['history_change', 7, 'fairway.fee_bumps', 'TRUNCATE', null], ['history_change', 7, 'fairway.leases', 'TRUNCATE', null],
    ['history_change', 7, 'fairway.leases_before_0010', 'INSERT', '0a1b']]);
});

test('every rule has fired', () => {
  assert.deepEqual(Object.keys({ ...RULES, ...FINAL_RULES }).filter(rule => !fired.has(rule)), []);
});
