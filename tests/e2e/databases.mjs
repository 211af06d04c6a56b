// PostgreSQL servers that take over from each other behind one URL: standbys that lag, and old backups. The first server is the world's
// own.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { until } from './harness.mjs';

const run = promisify(execFile);
const script = new URL('../integration/support/pg.sh', import.meta.url).pathname;

export class Databases {
  #folder;
  #names = ['postgres'];

  constructor(world) {
    this.#folder = world.folder;
  }

  #at(name) {
    return path.join(this.#folder, name);
  }

  #pg(command, ...args) {
    return run('sh', [script, command, ...args]);
  }

  #read(name, file) {
    return fs.readFileSync(path.join(this.#at(name), file), 'utf8').trim();
  }

  #next() {
    this.#names.push(`postgres-${this.#names.length}`);
    return this.#names.at(-1);
  }

  /** The server that was created last. */
  get newest() {
    return this.#names.at(-1);
  }

  /** A libpq URL that connects to whichever of these servers is the primary. */
  url(...names) {
    const password = this.#read(names[0], 'password');
    const hosts = names.map(name => `127.0.0.1:${this.#read(name, 'port')}`);
    return `postgresql://fairway:${password}@${hosts}/postgres?target_session_attrs=read-write`;
  }

  /** Runs a query on this server and returns its rows as arrays of text. */
  async sql(name, text) {
    const { stdout } = await run('psql', ['-X', '-q', '-t', '-A', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-d', this.#read(name, 'url'), '-c', text]);
    return stdout.split('\n').filter(line => line !== '').map(line => line.split('\t'));
  }

  /** Creates a standby that streams from another server; returns its name. */
  async standby(from) {
    const name = this.#next();
    await this.#pg('standby', this.#at(from), this.#at(name), String(process.pid));
    return name;
  }

  /** Stops replication: from here on the standby lags. */
  cut(name) {
    return this.#pg('cut', this.#at(name));
  }

  /** Waits until the standby has everything that its primary has committed so far. */
  async caughtUp(standby, primary) {
    const [[end]] = await this.sql(primary, 'SELECT pg_current_wal_flush_lsn()');
    await until(async () => (await this.sql(standby, `SELECT pg_last_wal_replay_lsn() >= '${end}'`))[0][0] === 't', 10_000,
      `${standby} has what ${primary} has`);
  }

  /** Stops the server without closing its sessions: clients see their connections break. */
  crash(name) {
    return this.#pg('stop', this.#at(name), 'immediate');
  }

  promote(name) {
    return this.#pg('promote', this.#at(name));
  }

  /** Takes a backup. Returns the name under which restore() starts it, on the port of the server from which it was taken. */
  async backup(from) {
    const name = this.#next();
    await this.#pg('backup', this.#at(from), this.#at(name));
    fs.copyFileSync(path.join(this.#at(from), 'port'), path.join(this.#at(name), 'port'));
    return name;
  }

  restore(name) {
    return this.#pg('restore', this.#at(name), String(process.pid));
  }

  /** Starts a backup as a copied volume: without a recovery that would leave a trace. */
  putBack(name) {
    return this.#pg('start', this.#at(name), String(process.pid));
  }

  async stop() {
    for (const name of this.#names)
      await this.crash(name).catch(() => {});
  }
}
