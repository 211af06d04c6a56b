// The operator of a storm: resizes the pool, and retires and releases accounts by hand, while faults happen. Commands are killed too.
import { spawn } from 'node:child_process';
import { fairway, sleep, slower } from '../e2e/harness.mjs';
import { Random } from './random.mjs';

// done; refused (accounts only); unavailable; try again
const ENSURE_CODES = [0, 69, 75], ACCOUNTS_CODES = [0, 1, 69, 75];
const PATIENCE_S = 20, HANGS_MS = 240_000, KILL = 0.15;

/** Quarantines an account, as a ledger with foreign use or a seed that does not open would. */
const QUARANTINE = `UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'the storm' WHERE public_key =
  (SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING public_key`;
const RANDOM_ACCOUNT = 'SELECT public_key FROM fairway.channel_accounts ORDER BY random() LIMIT 1';
const QUARANTINED = "SELECT public_key FROM fairway.channel_accounts WHERE state = 'quarantined' ORDER BY random()";

export class Operator {
  #running = false;
  #loops = [];
  #children = new Set();

  /** accounts: the size around which the pool is resized, by up to `swing` of it. */
  constructor({ env, sql, history, seed, accounts, swing = 0.1 }) {
    Object.assign(this, { env: { ...env, START_TIMEOUT: String(PATIENCE_S) }, sql, history, accounts, swing });
    this.random = new Random(seed, 'operator');
    /** Exit codes: {'ensure-accounts': {0: 12}, ...}. */
    this.codes = {};
    this.count = { quarantined: 0, killed: 0 };
    this.wrong = [];
  }

  /** pauseMs: mean time between two commands by hand, and between two resizes. */
  start(pauseMs) {
    this.#running = true;
    this.#loops = [this.#resize(pauseMs), this.#byHand(pauseMs)];
  }

  /** Kills running commands: settle() continues from what they have left. */
  async stop() {
    this.#running = false;
    for (const child of this.#children)
      child.kill('SIGKILL');
    await Promise.all(this.#loops);
  }

  #pause(ms) {
    return sleep(this.random.between(ms / 2, ms * 1.5));
  }

  async #resize(pauseMs) {
    for (let up = true; this.#running; up = !up) {
      const change = Math.ceil(this.accounts * this.swing * (0.5 + this.random.unit() / 2));
      await this.run(['ensure-accounts', String(this.accounts + (up ? change : -change))], ENSURE_CODES, KILL);
      await this.#pause(pauseMs);
    }
  }

  /** First each kind of change once, then at random. */
  async #byHand(pauseMs) {
    const first = ['quarantine', 'release', 'retire'];
    while (this.#running) {
      try {
        await this.#changeOne(first[0] ?? this.#draw());
        first.shift();
      } catch {
        // the database is unavailable
      }
      await this.#pause(pauseMs);
    }
  }

  #draw() {
    const what = this.random.unit();
    return what < 0.3 ? 'quarantine' : what < 0.6 ? 'release' : what < 0.7 ? 'release any' : 'retire';
  }

  async #changeOne(kind) {
    if (kind === 'quarantine')
      this.count.quarantined += (await this.sql(QUARANTINE)).length;
    else if (kind === 'release')
      await this.#change('release', await this.sql(`${QUARANTINED} LIMIT 2`));
    else // 'release any' is mostly refused, because the account is not quarantined
      await this.#change(kind === 'retire' ? 'retire' : 'release', await this.sql(RANDOM_ACCOUNT));
  }

  #change(verb, rows) {
    return rows.length === 0 ? null : this.run(['accounts', verb, ...rows.map(([key]) => key)], ACCOUNTS_CODES, KILL / 3);
  }

  /** Runs a command. Returns its exit code, or null when it was killed. An exit code that is not allowed is recorded as wrong. */
  async run(args, allowed, kill = 0) {
    const child = spawn(fairway, args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '', hangs;
    this.#children.add(child);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', text => (output = (output + text).slice(-4000)));
    const ended = new Promise(resolve => child.on('close', (code, signal) => resolve({ code, signal })));
    const hangsMs = slower(HANGS_MS), late = setTimeout(() => {
      hangs = true;
      child.kill('SIGKILL');
    }, hangsMs);
    const killer = this.random.chance(kill) && setTimeout(() => child.kill('SIGKILL'), this.random.between(10, 6000));
    const { code, signal } = await ended;
    this.#children.delete(child);
    clearTimeout(late);
    clearTimeout(killer);
    const name = args.slice(0, args[0] === 'accounts' ? 2 : 1).join(' '), counts = (this.codes[name] ??= {});
    counts[signal ?? code] = (counts[signal ?? code] ?? 0) + 1;
    if (signal) {
      this.count.killed++;
      this.history.append('kill', new Date(), name, signal);
    }
    if (hangs || (!signal && !allowed.includes(code)))
      this.wrong.push(`fairway ${args.slice(0, 3).join(' ')}: ${hangs ? `not done within ${hangsMs / 1000} s` : `exit code ${code}`}\n${output}`);
    return signal ? null : code;
  }

  /** The number of commands of that name that were not killed. */
  ended(name) {
    return Object.entries(this.codes[name] ?? {}).reduce((sum, [code, count]) => sum + (code === 'SIGKILL' ? 0 : count), 0);
  }

  /** Without faults: releases every quarantined account, and brings the pool to exactly n accounts. */
  async settle(n) {
    for (let tries = 0; tries < 20; tries++) {
      const rows = await this.sql(QUARANTINED);
      if (rows.length === 0)
        break;
      await this.run(['accounts', 'release', ...rows.map(([key]) => key)], [0, 75]);
    }
    await this.run(['ensure-accounts', String(n)], [0]);
  }
}
