// A storm: replicas, clients and an operator, with random faults in everything from one seed, over a history of settled leases; then the
// oracle's verdict.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Keypair } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { sleep, startWorld, until } from '../e2e/harness.mjs';
import { proxyRpc } from '../e2e/rpc-proxy.mjs';
import { startHistory } from '../oracle/history.mjs';
import { judge } from '../oracle/judge.mjs';
import { contests, keys, submissions } from '../oracle/report.mjs';
import { watchWal } from '../oracle/wal.mjs';
import { Contest } from './contest.mjs';
import { Faults } from './faults.mjs';
import { Fleet } from './fleet.mjs';
import { Gauges } from './gauges.mjs';
import { Governor } from './governor.mjs';
import { startNetwork } from './network-child.mjs';
import { OldLeases } from './old-leases.mjs';
import { Operator } from './operator.mjs';
import { Random } from './random.mjs';
import { Requests } from './requests.mjs';
import { Statistics } from './statistics.mjs';
import { Swarm, TIMEOUT_SECONDS } from './swarm.mjs';

const run = promisify(execFile);
const postgres = path.join(new URL('.', import.meta.url).pathname, '../integration/support/pg.sh');

export class Storm {
  /**
   * accounts: the size of the pool; `inUse`: the share of it to keep leased. leases: number of settled leases before the start. keyed:
   * the share of requests with an Idempotency-Key; relayed: of the leases that fairway sends; called: of the requests that are the one call.
   * thinkMs: the mean pause of a client between two requests.
   */
  static async start({ seed, processes, accounts, users, leases = 0, inUse = 0.9, keyed = 0.8, relayed = 0.5, called = 0.1, thinkMs = 1000,
    ledgerMs = 1000 }) {
    const storm = new Storm();
    Object.assign(storm, { seed, accounts, inUse, begun: Date.now(), contests: 0 });
    try {
      await storm.#startServers(ledgerMs);
      const keypairs = await storm.#makeUsers(users);
      await storm.#startFleet(processes, keypairs, leases, { keyed, relayed, called, thinkMs });
    } catch (error) {
      await storm.stop();
      throw error;
    }
    return storm;
  }

  async #startServers(ledgerMs) {
    this.network = await startNetwork(ledgerMs);
    this.world = await startWorld({ accounts: 0, localnet: this.network });
    this.world.env.LEDGER_SECONDS = `${ledgerMs}ms`;
    this.history = await startHistory(path.join(this.world.folder, 'history'));
    this.data = path.join(this.world.folder, 'postgres');
    this.sql = text => this.world.sql(text);
    this.env = { ...this.world.env, LOG_LEVEL: 'warn' };
    await this.world.fairway('ensure-accounts', String(this.accounts));
  }

  async #makeUsers(count) {
    const keypairs = Array.from({ length: count }, () => Keypair.random());
    for (let i = 0; i < keypairs.length; i += 20)
      await Promise.all(keypairs.slice(i, i + 20).map(key => this.world.fund(key.publicKey())));
    await createContract(this.world.network, this.world.passphrase, keypairs[0]);
    const { sequence } = await this.world.network.getLatestLedger();
    await until(async () => (await this.world.network.getLatestLedger()).sequence > sequence + 6, 20_000, 'nodes that lag have the contract');
    return keypairs;
  }

  /** The log is read from here on; the state before is read from the tables. */
  async #startFleet(processes, users, leases, habits) {
    const { history, seed } = this;
    this.fleet = new Fleet(this.env, processes, history, this.world.client);
    this.requests = new Requests({ fleet: this.fleet, history, rpcUrl: this.network.url, passphrase: this.world.passphrase,
      client: this.world.client });
    this.swarm = new Swarm({ requests: this.requests, users, seed, ...habits });
    this.swarm.pool = (await this.sql('SELECT public_key FROM fairway.channel_accounts')).map(([key]) => key);
    this.operator = new Operator({ env: this.env, sql: this.sql, history, seed, accounts: this.accounts });
    this.oldLeases = await OldLeases.seed(this.world.superuser, this.sql, leases, JSON.stringify(this.swarm.body(0)),
      this.world.client.publicKey());
    this.swarm.oldKeys = this.oldLeases.safeKeys;
    await this.sql('ALTER SYSTEM SET wal_level = logical');
    await run('sh', [postgres, 'stop', this.data]);
    await run('sh', [postgres, 'start', this.data, String(process.pid)]);
    this.wal = await watchWal(this.world.superuser, history);
    for (const ledger of this.network.ledgers)
      this.#record(ledger);
    this.network.onLedger = ledger => this.#record(ledger);
    this.faults = new Faults(this);
    this.statistics = new Statistics({ sql: this.sql, random: new Random(seed, 'statistics') });
    await this.fleet.start();
  }

  /** Appends a ledger of the network to the history. */
  #record({ sequence, closeTime, changed, removed, transactions, queued }) {
    this.swarm.ledger = sequence;
    this.history.append('ledger', sequence, closeTime, new Date());
    for (const [account, after] of changed)
      this.history.append('consumption', sequence, account, after);
    for (const account of removed)
      this.history.append('removal', sequence, account);
    for (const { hash, success, bid, charged } of transactions)
      this.history.append('inclusion', sequence, hash, success, bid, charged);
    for (const row of queued)
      this.history.append('queued', sequence, ...row);
  }

  /** Injects faults, {ms, gapMs, databaseMs, enough} as in Faults.run(), with an operator's command about every commandMs. */
  async runFaults({ commandMs, ...faults }) {
    this.governor = new Governor({ sql: this.sql, swarm: this.swarm, target: this.inUse });
    this.gauges = new Gauges({ url: this.world.superuser, fleet: this.fleet, random: new Random(this.seed, 'gauges') });
    this.operator.start(commandMs);
    await this.faults.run(faults);
    await this.operator.stop();
    await this.governor.stop();
  }

  /** DR6: for longer than any lease may live, clients run but the RPC has no ledgers. Returns lines about what went wrong. */
  async runWithoutIngestion() {
    const wrong = [];
    const rpc = await proxyRpc(this.network.url, async (call, forward) => call.method === 'getLedgers' ? 503 : forward());
    await this.fleet.restart({ ...this.env, RPC_URL: rpc.url });
    await sleep(500); // a ledger transaction of a killed replica may still end
    const cursor = await this.sql('SELECT sequence FROM fairway.cursor');
    const emptied = await until(async () => (await this.#idle()) === 0, 20_000, 'the pool is empty').catch(error => error);
    if (emptied instanceof Error)
      wrong.push(emptied.message);
    const refused = () => ['CHANNEL_ACCOUNT_UNAVAILABLE', 'GRANTS_SUSPENDED'].map(code => this.requests.refusals[code]).join();
    const before = refused();
    for (const end = Date.now() + (TIMEOUT_SECONDS + 5) * 1000; Date.now() < end; await sleep(500)) {
      const idle = await this.#idle();
      if (idle !== 0)
        wrong.push(`${idle} accounts are idle although no ledger was ingested`);
    }
    if (refused() === before)
      wrong.push('no request got CHANNEL_ACCOUNT_UNAVAILABLE or, after long without ledgers, GRANTS_SUSPENDED');
    const after = await this.sql('SELECT sequence FROM fairway.cursor');
    if (String(cursor) !== String(after))
      wrong.push(`the cursor moved from ${cursor} to ${after} without ledgers`);
    rpc.close();
    return wrong;
  }

  async #idle() {
    return Number(await this.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL"));
  }

  /** Without faults, `times` times: `replicas` replicas, each with its own `clients`, for fewer accounts than clients. */
  async contest({ times, replicas, clients, accounts, ms }) {
    await this.swarm.stop();
    await this.fleet.restart(this.env, replicas);
    await this.operator.settle(accounts);
    for (let i = 0; i < times; i++)
      await new Contest({ ...this, number: ++this.contests }).run(clients, ms);
  }

  /** No more faults and requests. Waits until every lease has ended and the pool has its size, then returns the verdict. */
  async finish() {
    await this.statistics.stop();
    await this.sql('ANALYZE'); // the assertions are planned by what is true
    const begun = Date.now(), asserted = await this.#assert(); // while leases are granted and end
    await this.swarm.stop();
    await this.fleet.restart(this.env);
    await this.operator.settle(this.accounts);
    const drained = await until(async () => await this.#idle() === this.accounts, 90_000, 'every account is idle again')
      .then(() => true, () => false); // the oracle reports which are not, and why
    await this.gauges.stop();
    await until(() => this.oldLeases.gone(), 60_000, 'housekeeping has dropped what is too old').catch(() => {}); // the oracle reports what is left
    await this.fleet.stop();
    await this.wal.caughtUp();
    asserted.push(...await this.#assert());
    await this.#readTables();
    const broken = await judge(this.history), { history } = this;
    const [[leases]] = await history.query('SELECT count(*) FROM grant_made');
    const results = Object.fromEntries(await history.query('SELECT result, count(*) FROM lease_end GROUP BY result'));
    const [[signatures]] = await history.query('SELECT count(*) FROM signature');
    const [[terms]] = await history.query('SELECT max(term) FROM cursor_change');
    return { drained, broken, results, leases: Number(leases), signatures: Number(signatures), terms: Number(terms), kills: this.fleet.kills,
      inUse: this.governor.report(), gauges: [this.gauges.tries, Math.min(...Object.values(this.gauges.compared))], keys: await keys(history), submissions: await submissions(history), contests: await contests(history),
      oldLeases: this.oldLeases.count, faults: this.faults.count, statistics: this.statistics.count, commands: { ...this.operator.codes, ...this.operator.count },
      clients: { ...this.requests.count, ...this.swarm.count }, refusals: this.requests.refusals,
      seconds: Math.round((Date.now() - this.begun) / 1000), secondsToFinish: Math.round((Date.now() - begun) / 1000),
      wrong: [...asserted, ...this.gauges.wrong, ...this.requests.wrong, ...this.operator.wrong, ...this.fleet.unexpectedEnds, ...this.network.failed] };
  }

  /** What tests/assertions.sql finds. */
  async #assert() {
    const text = fs.readFileSync(new URL('../assertions.sql', import.meta.url), 'utf8');
    return (await this.world.sql(text)).map(row => `assertion: ${row.join(' ')}`);
  }

  async #readTables() {
    const append = (table, rows) => rows.forEach(row => this.history.append(table, ...row.map(text => text === '' ? null : text)));
    append('final_pool', [[this.accounts]]);
    append('final_history', [await this.oldLeases.left()]);
    append('final_lease', await this.sql(`SELECT encode(l.hash, 'hex'), l.account, r.result, r.ledger FROM fairway.leases l
      LEFT JOIN fairway.lease_results r USING (hash, granted_at) WHERE l.request_id <> 'history' AND l.granted_at > '${this.oldLeases.seededAt}'`));
    append('final_key', await this.sql(`SELECT client, key, encode(lease_hash, 'hex') FROM fairway.idempotency_keys
      WHERE key NOT LIKE 'history-%'`));
    append('final_submission', await this.sql("SELECT encode(lease_hash, 'hex') FROM fairway.submissions"));
    append('final_account', await this.sql(
      "SELECT public_key, state, sequence, encode(lease_hash, 'hex') FROM fairway.channel_accounts"));
    append('final_cursor', await this.sql('SELECT sequence, term FROM fairway.cursor'));
    append('final_network', await this.network.sponsoredAccounts());
  }

  async stop() {
    await this.statistics?.stop();
    await this.governor?.stop();
    await this.operator?.stop();
    await this.fleet?.stop();
    await this.gauges?.stop();
    await this.wal?.stop();
    await this.history?.stop();
    if (this.world)
      await this.world.stop();
    else
      await this.network?.close();
  }
}
