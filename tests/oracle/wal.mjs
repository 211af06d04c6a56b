// Reads the write-ahead log of the database under test by logical decoding: every committed transaction in commit order, also across kill -9
// of the server, because the slot keeps what was not read.
import { execFile, execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { slower } from '../slowness.mjs';
import { Transactions } from './decoding.mjs';

const run = promisify(execFile);
const SLOT = 'oracle';
/** Their rows are inserted and never changed; a day of them goes as a whole, which is no change of rows. */
const HISTORY = ['leases', 'lease_results', 'fee_bumps', 'idempotency_keys', 'leases_before_0010', 'fee_bumps_before_0010']
  .map(name => `fairway.${name}`);
export const TABLES = [...HISTORY, ...['channel_accounts', 'ledgers', 'cursor', 'submissions'].map(name => `fairway.${name}`)];
const hex = bytea => bytea === null ? null : bytea.slice(2);
const sleep = ms => new Promise(wake => setTimeout(wake, ms));

const program = path.join(execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim(), 'pg_recvlogical');

/** The changes of one transaction as rows of the history. Exported for the oracle's own tests. */
export function record(history, ordinal, { committedAt, changes }) {
  const accounts = new Map();
  history.append('wal_transaction', ordinal, committedAt);
  for (const { table, kind, row } of changes) {
    if (HISTORY.includes(table) && (kind !== 'INSERT' || table.endsWith('_before_0010')))
      history.append('history_change', ordinal, table, kind, hex(row.hash ?? row.lease_hash ?? null));
    else if (table === 'fairway.leases')
      history.append('grant_made', ordinal, hex(row.hash), row.account, row.sequence, row.max_time, row.max_ledger, hex(row.envelope));
    else if (table === 'fairway.lease_results')
      history.append('lease_end', ordinal, hex(row.hash), row.result, row.ledger);
    else if (table === 'fairway.fee_bumps')
      history.append('bump_recorded', ordinal, hex(row.hash), hex(row.lease_hash), row.fee);
    else if (table === 'fairway.idempotency_keys')
      history.append('key_taken', ordinal, row.client, row.key, hex(row.lease_hash));
    else if (table === 'fairway.submissions' && kind !== 'UPDATE')
      history.append('submission_change', ordinal, kind, hex(row.lease_hash));
    else if (table === 'fairway.channel_accounts' && kind !== 'DELETE') // the rules compare the final rows
      accounts.set(row.public_key, row);
    else if (table === 'fairway.ledgers' && kind === 'INSERT') // housekeeping deletes old ones
      history.append('ledger_commit', ordinal, row.sequence, row.close_time);
    else if (table === 'fairway.cursor' && kind !== 'DELETE')
      history.append('cursor_change', ordinal, row.sequence, row.term);
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
  #marks = new Map();

  constructor(url, history) {
    this.url = url;
    this.ordinal = 0;
    this.transactions = new Transactions(TABLES, transaction => record(history, ++this.ordinal, transaction));
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
    const limit = slower(60_000), late = new Promise((_, reject) => (timer = setTimeout(() =>
      reject(new Error(`the write-ahead log was not read to its end within ${limit} ms`)), limit)));
    await Promise.race([seen, late]).finally(() => clearTimeout(timer));
  }

  async stop() {
    this.#stopped = true;
    this.#child.kill();
    await this.done;
  }
}
