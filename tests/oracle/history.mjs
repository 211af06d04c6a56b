// The oracle's own PostgreSQL, with an append-only history. One psql process does all queries.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = new URL('.', import.meta.url).pathname;
const script = path.join(here, '../integration/support/pg.sh');
const FLUSH_ROWS = 2000;
const END = '-- end of answer --';

const literal = value => value === null || value === undefined ? 'NULL'
  : `'${(value instanceof Date ? value.toISOString() : String(value)).replaceAll("'", "''")}'`;

export async function startHistory(folder) {
  const { stdout } = await run('sh', [script, 'start', folder, String(process.pid)]);
  const history = new History(folder, stdout.trim());
  // nothing kills this cluster, and the history of a run that failed is not needed
  await history.query('ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET synchronous_commit = off; SELECT pg_reload_conf()');
  await history.query(fs.readFileSync(path.join(here, 'schema.sql'), 'utf8'));
  return history;
}

class History {
  #psql;
  #waiting = [];
  #lines = [];
  #partial = '';
  #rows = new Map();
  #failure;

  constructor(folder, url) {
    this.folder = folder;
    this.#psql = spawn('sh', ['-c', 'exec psql -X -q -t -A -F "\t" "$0" 2>&1', url],
      { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, PGTZ: 'UTC', PGOPTIONS: '-c client_min_messages=warning' } });
    this.#psql.stdout.setEncoding('utf8').on('data', text => this.#read(text));
    const ended = reason => {
      for (const { reject } of this.#waiting.splice(0))
        reject(new Error(`the history's psql ended: ${reason} ${this.#lines.join('\n')}${this.#partial}`));
    };
    this.#psql.stdin.on('error', ended);
    this.#psql.on('exit', ended);
  }

  #read(text) {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop();
    for (const line of lines) {
      if (line !== END) {
        this.#lines.push(line);
        continue;
      }
      const answer = this.#lines, { resolve, reject } = this.#waiting.shift();
      this.#lines = [];
      const error = answer.find(l => /^(ERROR|FATAL|psql):/.test(l));
      if (error)
        reject(new Error(answer.slice(answer.indexOf(error)).join('\n')));
      else
        resolve(answer.filter(l => l !== '').map(l => l.split('\t')));
    }
  }

  /** Runs a query and returns its rows as arrays of text; throws when PostgreSQL refuses it. Results come in the order of the calls. */
  query(sql) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#psql.stdin.write(`${sql}\n;\n\\echo ${END}\n`);
    });
  }

  /** Appends one row, with its columns in the order of the table. Errors appear at the next flush(). */
  append(table, ...values) {
    const rows = this.#rows.get(table) ?? [];
    this.#rows.set(table, rows);
    rows.push(`(${values.map(literal).join(', ')})`);
    if (rows.length >= FLUSH_ROWS)
      this.#send().catch(error => (this.#failure ??= error));
  }

  async #send() {
    const batches = [...this.#rows].filter(([, rows]) => rows.length > 0);
    this.#rows.clear();
    await Promise.all(batches.map(([table, rows]) => this.query(`INSERT INTO ${table} VALUES\n${rows.join(',\n')}`)));
  }

  async flush() {
    await this.#send();
    if (this.#failure)
      throw this.#failure;
  }

  async stop() {
    this.#psql.stdin.end();
    await run('sh', [script, 'stop', this.folder, 'immediate']).catch(() => {});
  }
}
