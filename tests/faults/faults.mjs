// The faults of a storm, at random from its seed: in replicas, key processes, sessions, PostgreSQL, and in what RPC clients see of the network.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { sleep, until } from '../e2e/harness.mjs';
import { Random } from './random.mjs';

const run = promisify(execFile);
const script = path.join(new URL('.', import.meta.url).pathname, '../integration/support/pg.sh');
const NETWORK_MS = 5000; // how long the network keeps the same faults
const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fairway%'
  ORDER BY state = 'idle', random() LIMIT 1`;

const isAlive = pid => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

export class Faults {
  count = { cuts: 0, databaseKills: 0, freezes: 0, keydKills: 0 };

  /** data: the folder of pg.sh. */
  constructor({ seed, sql, data, fleet, network, history }) {
    Object.assign(this, { sql, data, fleet, network, history });
    this.random = new Random(seed, 'faults');
  }

  /** Runs for ms, or until enough(): a fault every gapMs on average, a kill of PostgreSQL every databaseMs. Ends with a network without faults. */
  async run({ ms, gapMs, databaseMs, enough = () => false }) {
    const end = Date.now() + ms;
    let database = Date.now() + databaseMs, network = 0;
    while (Date.now() < end && !enough()) {
      await sleep(this.random.between(gapMs / 2, gapMs * 1.5));
      if (Date.now() > network) {
        this.network.send({ faults: this.#ofNetwork() });
        network = Date.now() + NETWORK_MS;
      }
      if (Date.now() > database) {
        await this.#killDatabase();
        database = Date.now() + databaseMs;
      } else
        await this.#breakProcess();
    }
    this.network.send({ faults: { reset: true } });
  }

  async #breakProcess() {
    const what = this.random.unit();
    if (what < 0.12)
      await this.#cut();
    else if (what < 0.16)
      this.count.keydKills += await this.fleet.killKeyd(this.random) ? 1 : 0;
    else if (what < 0.22)
      this.count.freezes += await this.fleet.freeze(this.random, this.random.between(300, 6000)) ? 1 : 0;
    else
      await this.fleet.kill(this.random);
  }

  async #killDatabase() {
    const pid = Number(fs.readFileSync(path.join(this.data, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 10_000, 'PostgreSQL is dead');
    this.count.databaseKills++;
    this.history.append('kill', new Date(), 'postgres', 'SIGKILL');
    await sleep(this.random.between(0, 1500));
    await run('sh', [script, 'start', this.data, String(process.pid)]);
  }

  /** Ends one of fairway's sessions, preferably in the middle of its work. */
  async #cut() {
    const cut = await this.sql(CUT).catch(() => []);
    if (cut.length > 0) {
      this.count.cuts++;
      this.history.append('kill', new Date(), 'session', 'pg_terminate_backend');
    }
  }

  #ofNetwork() {
    const { random } = this;
    return random.chance(0.3) ? { reset: true } : { reset: true, seed: random.between(1, 1e6),
      lagLedgers: random.chance(0.3) ? random.between(0, 2) : 0, lagSpread: random.between(0, 3), loseRequest: 0.02, loseAnswer: 0.02,
      delayMs: random.chance(0.1) ? 4000 : random.between(0, 60), tooManyRequests: 0.02, unavailable: 0.02,
      internalError: 0.02, tryAgainLater: 0.02, loseSubmission: 0.01, delayLedgers: random.between(0, 2), late: random.chance(0.5) ? 0.03 : 0,
      emptyLedger: random.chance(0.2) ? 0.9 : 0.05, // what waits for four ledgers ages out
      dropLedger: 0.05, jump: 0.03, jumpSeconds: 3 };
  }
}
