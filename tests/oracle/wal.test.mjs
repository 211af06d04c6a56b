// What the oracle reads in the write-ahead log of a real server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startWorld } from '../e2e/harness.mjs';
import { watchWal } from './wal.mjs';

const run = promisify(execFile);
const psql = (...args) => run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', world.superuser, ...args]);
const leaseHash = n => crypto.createHash('sha256').update(`history ${n}`).digest('hex');
const rows = [];
let world, wal;

before(async () => {
  world = await startWorld({ accounts: 3 });
  await psql('-v', 'rows=20', '-v', 'old=1', '-v', 'stale=1', '-v', 'client=C', '-v', `digest=${'00'.repeat(32)}`,
    '-f', path.join(import.meta.dirname, '../faults/history.sql'));
  const postgres = path.join(import.meta.dirname, '../integration/support/pg.sh'), data = path.join(world.folder, 'postgres');
  await world.sql('ALTER SYSTEM SET wal_level = logical');
  await run('sh', [postgres, 'stop', data]);
  await run('sh', [postgres, 'start', data, String(process.pid)]);
  wal = await watchWal(world.superuser, { append: (...row) => rows.push(row) });
});
after(async () => {
  await wal?.stop();
  await world?.stop();
});

/** Runs a statement without triggers, and returns what the oracle records of it, without ordinals. */
async function recorded(statement) {
  rows.length = 0;
  await psql('-c', 'SET session_replication_role = replica', '-c', statement);
  await wal.caughtUp();
  return rows.filter(([table]) => table !== 'wal_transaction').map(([table, , ...values]) => [table, ...values]);
}

test('DS1 the oracle sees each change and deletion of a row of history, whatever the triggers allow', async () => {
  const hash = leaseHash(0);
  assert.deepEqual(await recorded(`UPDATE fairway.lease_results SET result = 'failed' WHERE hash = '\\x${hash}'`),
    [['history_change', 'fairway.lease_results', 'UPDATE', hash]]);
  assert.deepEqual(await recorded(`DELETE FROM fairway.leases WHERE hash = '\\x${hash}'`),
    [['history_change', 'fairway.leases', 'DELETE', null]]); // has no primary key, so the WAL does not say which
  assert.deepEqual(await recorded("DELETE FROM fairway.idempotency_keys WHERE key = 'history-1'"),
    [['history_change', 'fairway.idempotency_keys', 'DELETE', null]]);
  const [first, ...others] = await recorded('TRUNCATE fairway.fee_bumps');
  assert.deepEqual(first, ['history_change', 'fairway.fee_bumps', 'TRUNCATE', null]);
  assert.ok(others.every(row => row[1] === 'fairway.fee_bumps'), 'the partitions count as their table');
});

test('the oracle sees new rows of history in their partitions, and a dropped partition is no change', async () => {
  const of = `FROM fairway.leases WHERE hash = '\\x${leaseHash(1)}'`;
  assert.deepEqual(await recorded(`INSERT INTO fairway.lease_results (hash, granted_at, result, ledger, client, ended_ledger, place)
    SELECT sha256(hash), granted_at, 'expired', 5, client, 5, 0 ${of}`),
    [['lease_end', crypto.createHash('sha256').update(leaseHash(1), 'hex').digest('hex'), 'expired', '5']]);
  assert.deepEqual(await recorded(`INSERT INTO fairway.idempotency_keys SELECT granted_at, 'C', 'it''s: [a] key', sha256(hash), hash ${of}`),
    [['key_taken', 'C', "it's: [a] key", leaseHash(1)]]);
  assert.deepEqual(await recorded("SELECT fairway.drop_history('7 days')"), []);
});
