// Reads the write-ahead log of the database under test by logical decoding: every committed transaction in commit order, also across kill -9
// of the server, because the slot keeps what was not read.
import { execFile, execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { Transactions } from './decoding.mjs';

const run = promisify(execFile);
const SLOT = 'oracle';
const TABLES = ['leases', 'channel_accounts', 'ledgers', 'cursor', 'fee_bumps'].map(name => `fairway.${name}`);
/** The request id of leases that were settled before the run (tests/faults/history.sql). */
const HISTORY = 'history';
const hex = bytea => bytea === null ? null : bytea.slice(2);
const sleep = ms => new Promise(wake => setTimeout(wake, ms));

const program = path.join(execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim(), 'pg_recvlogical');

/** The changes of one transaction as rows of the history. Exported for the oracle's own tests. */
export function record(history, ordinal, { committedAt, changes }, settled = new Set()) {
  const accounts = new Map();
  history.append('wal_transaction', ordinal, committedAt);
  for (const { table, kind, row } of changes) {
    if (kind === 'DELETE') // by the janitor; the rules over the final tables check that it deleted only what was due
      continue;
    if (table === 'fairway.leases' && row.request_id === HISTORY) {
      history.append('history_change', ordinal, hex(row.hash), row.result, row.idempotency_key);
      continue;
    }
    if (table === 'fairway.leases' && kind === 'INSERT')
      history.append('grant_made', ordinal, hex(row.hash), row.account, row.sequence, row.max_time, row.max_ledger, hex(row.envelope),
        row.idempotency_key);
    if (table === 'fairway.leases' && row.settled_at !== null && !settled.has(row.hash)) {
      settled.add(row.hash);
      history.append('lease_end', ordinal, hex(row.hash), row.result, row.ledger);
    }
    if (table === 'fairway.channel_accounts')
      accounts.set(row.public_key, row);
    if (table === 'fairway.ledgers' && kind === 'INSERT')
      history.append('ledger_commit', ordinal, row.sequence, row.close_time);
    if (table === 'fairway.cursor')
      history.append('cursor_change', ordinal, row.sequence, row.term);
    if (table === 'fairway.fee_bumps' && kind === 'INSERT')
      history.append('bump_recorded', ordinal, hex(row.hash), hex(row.lease_hash));
  }
  for (const row of accounts.values())
    history.append('account_change', ordinal, row.public_key, row.state, row.sequence, hex(row.lease_hash));
}

/**
 * Needs wal_level=logical. url: the database under test, to which nothing may write until this returns. Appends the present pool and
 * cursor as the changes of transaction 0.
 */
export async function watchWal(url, history) {
  const psql = text => run('psql', ['-X', '-q', '-t', '-A', '-F', '\t', url, '-c', text], { maxBuffer: 2 ** 28 });
  await psql(`SELECT pg_create_logical_replication_slot('${SLOT}', 'test_decoding')`);
  for (const [table, text] of [
    ['account_change', "SELECT public_key, state, sequence, encode(lease_hash, 'hex') FROM fairway.channel_accounts"],
    ['ledger_commit', 'SELECT l.sequence, l.close_time FROM fairway.ledgers l JOIN fairway.cursor c ON c.sequence = l.sequence'],
    ['cursor_change', 'SELECT sequence, term FROM fairway.cursor']]) {
    const { stdout } = await psql(text);
    for (const line of stdout.split('\n').filter(text => text !== ''))
      history.append(table, 0, ...line.split('\t').map(value => value === '' ? null : value));
  }
  return new Wal(url, history);
}

class Wal {
  #stopped = false;
  #child;
  #settled = new Set();
  #marks = new Map();

  constructor(url, history) {
    this.url = url;
    this.ordinal = 0;
    this.transactions = new Transactions(TABLES, transaction => record(history, ++this.ordinal, transaction, this.#settled));
    this.done = this.#follow();
  }

  async #follow() {
    while (!this.#stopped) {
      await this.#stream();
      this.transactions.cut();
      if (!this.#stopped)
        await sleep(200);
    }
  }

  #line(line) {
    const mark = /^message: transactional: 1 prefix: oracle, sz: \d+ content:(.*)$/.exec(line)?.[1];
    if (mark)
      this.#marks.get(mark)?.();
    else
      this.transactions.line(line);
  }

  #stream() {
    return new Promise(resolve => {
      let partial = '';
      this.#child = spawn(program, ['-d', this.url, '-S', SLOT, '--start', '--no-loop', '-f', '-', '-s', '1', '-F', '0',
        '-o', 'include-timestamp=1', '-o', 'skip-empty-xacts=1'],
      { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, PGTZ: 'UTC' } });
      this.#child.stdout.setEncoding('utf8').on('data', text => {
        const lines = (partial + text).split('\n');
        partial = lines.pop();
        for (const line of lines)
          this.#line(line);
      });
      this.#child.on('close', resolve);
    });
  }

  /** Resolves when everything that was committed before this call has been read. */
  async caughtUp() {
    const mark = crypto.randomUUID();
    const seen = new Promise(resolve => this.#marks.set(mark, resolve));
    await run('psql', ['-X', '-q', this.url, '-c', `SELECT pg_logical_emit_message(true, 'oracle', '${mark}')`]);
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() =>
      reject(new Error('the write-ahead log was not read to its end within 60 s')), 60_000)));
    await Promise.race([seen, late]).finally(() => clearTimeout(timer));
  }

  async stop() {
    this.#stopped = true;
    this.#child.kill();
    await this.done;
  }
}
