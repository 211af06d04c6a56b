// A storm: replicas, clients, and everything that can break breaking at random, from one seed; and then the oracle's verdict.
import { execFile, fork } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { Keypair } from '@stellar/stellar-sdk';
import { sleep, startWorld, until } from '../e2e/harness.mjs';
import { startHistory } from '../oracle/history.mjs';
import { judge } from '../oracle/judge.mjs';
import { watchWal } from '../oracle/wal.mjs';
import { Fleet } from './fleet.mjs';
import { Random } from './random.mjs';
import { Swarm } from './swarm.mjs';

const run = promisify(execFile);
const here = new URL('.', import.meta.url).pathname;
const postgres = path.join(here, '../integration/support/pg.sh');
const TIMEOUT_SECONDS = 20; // of the swarm's leases

const isAlive = pid => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function startNetwork(ledgerMs) {
  const child = fork(path.join(here, 'network.mjs'), [String(ledgerMs)]);
  const network = { ledgers: [], onLedger: ledger => network.ledgers.push(ledger), send: message => child.send(message),
    failed: [],
    async close() {
      network.closed = true;
      child.disconnect();
    } };
  let ready, sequences;
  const listening = new Promise(resolve => (ready = resolve));
  child.on('message', message => {
    if (message.ledger)
      network.onLedger(message.ledger);
    if (message.sequences)
      sequences(message.sequences);
    if (message.url) {
      network.url = message.url;
      network.onLedger({ ...message.first, accounts: [], transactions: [] });
      ready();
    }
  });
  network.sequencesOf = accounts => new Promise(resolve => {
    sequences = resolve;
    child.send({ accounts });
  });
  child.on('error', error => network.closed || network.failed.push(String(error)));
  child.on('exit', code => network.closed || network.failed.push(`the local network ended with ${code}`));
  await listening;
  return network;
}

export class Storm {
  static async start({ seed, processes, accounts, users, ledgerMs = 1000 }) {
    const storm = new Storm();
    Object.assign(storm, { seed, begun: Date.now(), faults: { cuts: 0, databaseKills: 0, freezes: 0, keydKills: 0 } });
    storm.random = new Random(seed, 'faults');
    try {
      await storm.#prepare(accounts, processes, users, ledgerMs);
    } catch (error) {
      await storm.stop();
      throw error;
    }
    return storm;
  }

  async #prepare(accounts, processes, users, ledgerMs) {
    this.network = await startNetwork(ledgerMs);
    this.world = await startWorld({ accounts: 0, localnet: this.network });
    this.history = await startHistory(path.join(this.world.folder, 'history'));
    const data = this.data = path.join(this.world.folder, 'postgres');
    await this.world.sql('ALTER SYSTEM SET wal_level = logical');
    await run('sh', [postgres, 'stop', data]);
    await run('sh', [postgres, 'start', data, String(process.pid)]);
    this.wal = await watchWal(this.world.env.DATABASE_URL, this.history);
    await this.world.fairway('ensure-accounts', String(accounts));
    this.accounts = (await this.world.sql('SELECT public_key FROM fairway.channel_accounts')).map(([key]) => key);
    const known = await this.network.sequencesOf(this.accounts);
    const at = Math.max(...this.network.ledgers.map(({ sequence }) => sequence));
    for (const [account, sequence] of known)
      this.history.append('consumption', 0, account, sequence);
    for (const ledger of this.network.ledgers)
      this.#witness(ledger);
    this.network.onLedger = ledger => this.#witness(ledger);
    this.firstLedger = at;
    const keys = Array.from({ length: users }, () => Keypair.random());
    for (let i = 0; i < keys.length; i += 20)
      await Promise.all(keys.slice(i, i + 20).map(key => this.world.fund(key.publicKey())));
    this.env = { ...this.world.env, LOG_LEVEL: 'warn' };
    this.fleet = new Fleet(this.env, processes, this.history);
    await this.fleet.start();
    this.swarm = new Swarm({ fleet: this.fleet, history: this.history, rpcUrl: this.network.url,
      passphrase: this.world.passphrase, users: keys, seed: this.seed });
    this.swarm.pool = this.accounts;
  }

  #witness({ sequence, closeTime, accounts, transactions }) {
    this.history.append('ledger', sequence, closeTime);
    for (const [account, after] of accounts)
      this.history.append('consumption', sequence, account, after);
    for (const { hash, success } of transactions)
      this.history.append('inclusion', sequence, hash, success);
  }

  async #killDatabase() {
    const pid = Number((await run('head', ['-n', '1', path.join(this.data, 'data/postmaster.pid')])).stdout);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 10_000, 'PostgreSQL is dead');
    this.faults.databaseKills++;
    this.history.append('kill', new Date(), 'postgres', 'SIGKILL');
    await sleep(this.random.between(0, 1500));
    await run('sh', [postgres, 'start', this.data, String(process.pid)]);
  }

  /** Ends some session of fairway's in the middle of what it does. */
  async #cut() {
    const cut = await this.world.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name LIKE 'fairway%' ORDER BY state = 'idle', random() LIMIT 1`).catch(() => []);
    if (cut.length > 0) {
      this.faults.cuts++;
      this.history.append('kill', new Date(), 'session', 'pg_terminate_backend');
    }
  }

  #networkFaults() {
    const { random } = this;
    return random.chance(0.3) ? { reset: true } : { reset: true, seed: random.between(1, 1e6),
      lagLedgers: random.chance(0.3) ? random.between(0, 2) : 0, lagSpread: random.between(0, 3), loseRequest: 0.02, loseAnswer: 0.02,
      delayMs: random.between(0, 60), tooManyRequests: 0.02, unavailable: 0.02, internalError: 0.02, tryAgainLater: 0.02,
      loseSubmission: 0.01, delayLedgers: random.between(0, 2), late: random.chance(0.5) ? 0.03 : 0, emptyLedger: 0.05,
      dropLedger: 0.05, jump: 0.03, jumpSeconds: 3 };
  }

  /** Breaks things for so long (or until enough()): a fault every gapMs on average, PostgreSQL every databaseMs. */
  async rage({ ms, gapMs, databaseMs, enough = () => false }) {
    const end = Date.now() + ms;
    let database = Date.now() + databaseMs, network = 0;
    while (Date.now() < end && !enough()) {
      await sleep(this.random.between(gapMs / 2, gapMs * 1.5));
      if (Date.now() > network) {
        this.network.send({ faults: this.#networkFaults() });
        network = Date.now() + 5000;
      }
      if (Date.now() > database) {
        await this.#killDatabase();
        database = Date.now() + databaseMs;
        continue;
      }
      const what = this.random.unit();
      if (what < 0.12)
        await this.#cut();
      else if (what < 0.16)
        this.faults.keydKills += await this.fleet.killKeyd(this.random) ? 1 : 0;
      else if (what < 0.22)
        this.faults.freezes += await this.fleet.freeze(this.random, this.random.between(300, 6000)) ? 1 : 0;
      else
        await this.fleet.kill(this.random);
    }
    this.network.send({ faults: { reset: true } });
  }

  /** DR6: nobody ingests while clients go on, for longer than any lease may live. What the pool did, as lines; none is as it should be. */
  async drought() {
    const wrong = [];
    await this.fleet.restart({ ...this.env, INGEST: 'off' });
    await sleep(500); // a ledger transaction of a killed replica may still end
    const before = await this.world.sql('SELECT sequence FROM fairway.cursor');
    const emptied = await until(async () => (await this.#idle()) === 0, 20_000, 'the pool is empty').catch(error => error);
    if (emptied instanceof Error)
      wrong.push(emptied.message);
    const refused = this.swarm.count.fullPool;
    for (const end = Date.now() + (TIMEOUT_SECONDS + 5) * 1000; Date.now() < end; await sleep(500)) {
      const idle = await this.#idle();
      if (idle !== 0)
        wrong.push(`${idle} accounts are idle though no ledger was ingested`);
    }
    if (this.swarm.count.fullPool === refused)
      wrong.push('nobody was answered CHANNEL_ACCOUNT_UNAVAILABLE');
    const after = await this.world.sql('SELECT sequence FROM fairway.cursor');
    if (String(before) !== String(after))
      wrong.push(`the cursor went from ${before} to ${after} with ingestion off`);
    return wrong;
  }

  async #idle() {
    return Number(await this.world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL"));
  }

  /** No more faults and no more requests; until every lease has ended. Then the verdict: {broken, wrong, leases, ...}. */
  async finish() {
    await this.swarm.stop();
    await this.fleet.restart(this.env);
    const drained = await until(async () => await this.#idle() === this.accounts.length, 90_000, 'every account is idle again')
      .then(() => true, () => false); // the oracle says which are not, and why
    await this.fleet.stop();
    await this.wal.caughtUp();
    await this.#readTables();
    const broken = await judge(this.history);
    const [[leases]] = await this.history.query('SELECT count(*) FROM grant_made');
    const results = Object.fromEntries(await this.history.query('SELECT result, count(*) FROM lease_end GROUP BY result'));
    const [[signatures]] = await this.history.query('SELECT count(*) FROM signature');
    return { drained, broken, results, leases: Number(leases), signatures: Number(signatures), kills: this.fleet.kills,
      faults: this.faults, clients: this.swarm.count, seconds: Math.round((Date.now() - this.begun) / 1000),
      wrong: [...this.swarm.wrong, ...this.fleet.unexpectedEnds, ...this.network.failed] };
  }

  async #readTables() {
    const hex = text => text === '' ? null : text;
    const append = (table, rows) => rows.forEach(row => this.history.append(table, ...row.map(hex)));
    append('final_lease', await this.world.sql("SELECT encode(hash, 'hex'), account, result, ledger FROM fairway.leases"));
    append('final_account', await this.world.sql(
      "SELECT public_key, state, sequence, encode(lease_hash, 'hex') FROM fairway.channel_accounts"));
    append('final_cursor', await this.world.sql('SELECT sequence, term FROM fairway.cursor'));
    append('final_network', await this.network.sequencesOf(this.accounts));
  }

  async stop() {
    await this.fleet?.stop();
    await this.wal?.stop();
    await this.history?.stop();
    if (this.world)
      await this.world.stop();
    else
      await this.network?.close();
  }
}
