// What a benchmark runs on: its own PostgreSQL cluster, databases in it, a fairway on one of them, and a feed of ledgers.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Account, Address, Asset, Keypair, Operation, TransactionBuilder, nativeToScVal, xdr } from '@stellar/stellar-sdk';
import { sleep, until } from '../e2e/harness.mjs';
import { authorization } from '../e2e/token.mjs';
import { say } from '../faults/statistics.mjs';

export const root = new URL('../..', import.meta.url).pathname;
export const build = path.resolve(root, process.env.BUILD ?? 'build/release');
const here = path.join(root, 'tests/bench');
export const passphrase = 'fairway benchmark';
export const ledgerMs = Number(process.env.BENCH_LEDGER_MS ?? 50);

export const run = (program, args, env = {}) =>
  execFileSync(program, args, { env: { ...process.env, ...env }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 });

/** The user who pays in body() and signs; the client of a service with authentication. */
export const user = Keypair.random(), client = Keypair.random();
/** A secret key as libsodium takes it. */
export const secretOf = key => Buffer.concat([key.rawSecretKey(), key.rawPublicKey()]).toString('hex');

/** The request body of a payment. */
export function body() {
  const from = user.publicKey(), to = Keypair.random().publicKey();
  const transaction = new TransactionBuilder(new Account(from, '0'), { fee: '100', networkPassphrase: passphrase })
    .addOperation(Operation.payment({ source: from, destination: to, asset: Asset.native(), amount: '1' })).setTimeout(0).build();
  return JSON.stringify({ transactionXdr: transaction.toXDR() });
}

/** A call that authorization entries alone ask for. Eight characters of auth's base64 are six bytes of the nonce: here the run, and the place of
 * the request's number. The signature is not one, and the contract does not exist: the network of a bench simulates everything. */
export function callBody(run) {
  const contract = Address.contract(Buffer.alloc(32, 7)).toScAddress();
  const call = new xdr.InvokeContractArgs({ contractAddress: contract, functionName: 'transfer',
    args: [nativeToScVal(user.publicKey(), { type: 'address' }), nativeToScVal(1n, { type: 'i128' })] });
  const auth = new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(new xdr.SorobanAddressCredentials({ address: new Address(user.publicKey()).toScAddress(),
      nonce: 0n, signatureExpirationLedger: 2 ** 31, signature: xdr.ScVal.scvVec([xdr.ScVal.scvBytes(Buffer.alloc(64))]) })),
    rootInvocation: new xdr.SorobanAuthorizedInvocation({ function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call),
      subInvocations: [] }) }).toXDR('base64');
  return JSON.stringify({ func: xdr.HostFunction.hostFunctionTypeInvokeContract(call).toXDR('base64'),
    auth: [`${auth.slice(0, 60)}${String(run % 100).padStart(2, '0')}@@@@@@${auth.slice(68)}`] });
}

/** The envelope of a lease with the user's signature added. */
function withUserSignature({ transactionXdr, hash }) {
  const envelope = Buffer.from(transactionXdr, 'base64'), one = envelope.length - 76; // count, hint, length, 64 bytes
  envelope.writeUInt32BE(2, one);
  return Buffer.concat([envelope, user.signatureHint(), Buffer.from([0, 0, 0, 64]), user.sign(Buffer.from(hash, 'hex'))]).toString('base64');
}

export class Cluster {
  #children = new Set();

  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-bench-'));
    fs.chmodSync(this.folder, 0o755);
    this.keys = { MASTER_KEY_FILE: path.join(this.folder, 'master.key'),
      DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: path.join(this.folder, 'distribution.seed') };
    run(`${build}/fairway`, ['keygen', this.keys.MASTER_KEY_FILE]);
    fs.writeFileSync(this.keys.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, Keypair.random().secret(), { mode: 0o600 });
    this.url = this.#pg('start', path.join(this.folder, 'postgres'), String(process.pid));
    this.onRamDisk = fs.statfsSync(path.join(this.folder, 'postgres/data')).type === 0x01021994; // TMPFS_MAGIC
    this.#readPostmaster();
  }

  #pg(...args) {
    return run('sh', [path.join(root, 'tests/integration/support/pg.sh'), ...args]).trim();
  }

  /** Restarts PostgreSQL with a setting. */
  set(setting) {
    const data = path.join(this.folder, 'postgres');
    sql(this.url, '-c', `ALTER SYSTEM SET ${setting}`);
    this.#pg('stop', data);
    this.#pg('start', data, String(process.pid));
    this.#readPostmaster();
  }

  #readPostmaster() {
    this.postmaster = Number(fs.readFileSync(path.join(this.folder, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
  }

  /** Creates a database and returns its URL. */
  database(name) {
    sql(this.url, '-c', `CREATE DATABASE ${name}`);
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** output: a file for what the program prints; else it is added to the child's `text`, as its error messages are. */
  start(program, args, env = {}, output) {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', output ? fs.openSync(output, 'w') : 'pipe', 'pipe'] });
    child.text = '';
    for (const stream of [child.stdout, child.stderr].filter(stream => stream))
      stream.setEncoding('utf8').on('data', text => (child.text += text));
    child.ended = new Promise(resolve => child.on('exit', resolve));
    this.#children.add(child);
    child.ended.then(() => this.#children.delete(child));
    return child;
  }

  async stop() {
    for (const child of this.#children)
      child.kill('SIGKILL');
    await Promise.all([...this.#children].map(child => child.ended));
    this.#pg('stop', path.join(this.folder, 'postgres'));
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs psql and returns its output. */
export const sql = (url, ...args) => run('psql', ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', url, ...args]).trim();

/** The URL of an RPC whose ledgers are malformed: a replica that reads one gives up the lead of ingestion for 20 polls, so the feed has it. */
async function rpc() {
  const server = http.createServer(async (request, response) => {
    const { id, method, params } = JSON.parse(Buffer.concat(await Array.fromAsync(request))), sequence = params?.startLedger;
    const results = { getNetwork: { passphrase, protocolVersion: 25 },
      getLedgers: { latestLedger: sequence, oldestLedger: 1, ledgers: [{ sequence, hash: '00'.repeat(32), metadataXdr: 'AAAA' }] } };
    response.statusCode = results[method] ? 200 : 503;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
  });
  await new Promise(listening => server.listen(0, '127.0.0.1', listening));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}

/** A fairway with a pool of idle accounts. While its feed runs, the real ledger transaction ends its leases. */
export class Service {
  /** network: gets the database's URL and returns that of an RPC, whose ledgers the service commits itself; without it, startFeed() does. */
  static async start(cluster, name, pool, { authenticated = false, everyMs = ledgerMs, network, env: more = {} } = {}) {
    const service = new Service(), { keys } = cluster;
    const url = cluster.database(name);
    const { password } = new URL(url), inRole = role => Object.assign(new URL(url), { username: role }).href;
    run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', 'docker/roles.sql', url], { FAIRWAY_OWNER_PASSWORD: password, FAIRWAY_PASSWORD: password });
    run(`${build}/fairway`, ['migrate'], { DATABASE_URL: inRole('fairway_owner'), ...keys });
    run(`${build}/tests/bench/seed_pool`, [`${build}/fairway-keyd`, keys.MASTER_KEY_FILE, keys.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE,
      url, passphrase, String(pool)]);
    sql(url, '-c', 'VACUUM (ANALYZE)'); // so empty tables have statistics, as in production
    sql(url, '-c', "CREATE TABLE public.bench_held (up_to text NOT NULL); INSERT INTO public.bench_held VALUES ('')");
    Object.assign(service, { cluster, url, pool, everyMs, held: 0 });
    service.#state();
    const env = { DATABASE_URL: inRole('fairway'), NETWORK_PASSPHRASE: passphrase, LEASE_RETENTION_DAYS: '30', ...more,
      RPC_URL: await (network ? network(url) : rpc()) };
    service.process = cluster.start(`${build}/fairway`, ['serve'], { ...env,
      ...(authenticated ? { CLIENT_AUTH_PUBLIC_KEYS: client.publicKey() } : { AUTH: 'none' }), PORT: '0', ADMIN_PORT: '0', LISTEN: '127.0.0.1', LOG_LEVEL: 'warn', KEYD_MAX_FEES_PER_HOUR: '1000000000000000', ...keys });
    service.api = await until(() => /listening on (http:\S+?)"?$/m.exec(service.process.text)?.[1] ??
      (service.process.exitCode !== null && (() => { throw new Error(service.process.text); })()), 30_000,
    `serve: ${service.process.text}`);
    return service;
  }

  /** The statistics say what BENCH_STATISTICS wants, and stay so. */
  #state() {
    if (process.env.BENCH_STATISTICS)
      sql(this.url, '-c', 'ALTER SYSTEM SET autovacuum = off', '-c', 'SELECT pg_reload_conf()', '-c', say(process.env.BENCH_STATISTICS));
  }

  /** which: 'leased', every ledger includes all open leases; 'bumped', only those with a fee bump. */
  async startFeed(which = 'leased', everyMs = this.everyMs) {
    if (this.feed?.which !== which || this.feed.everyMs !== everyMs)
      await this.stopFeed();
    if (this.feed)
      return;
    const printed = path.join(this.cluster.folder, 'feed'), cursor = () => sql(this.url, '-c', 'SELECT sequence FROM fairway.cursor'), before = cursor();
    this.feed = Object.assign(this.cluster.start(`${build}/tests/bench/feed_ledgers`, [this.url, passphrase, String(everyMs), which], {}, printed),
      { which, everyMs, printed });
    // the service leads, and would be waited for: its session ends, and the feed, which tries more often, leads
    await sleep(100);
    sql(this.url, '-c', "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND application_name = 'fairway ingest'");
    await until(() => cursor() !== before, 60_000, `the feed's first ledger is committed: ${this.feed.text}${this.process.text}`);
  }

  async stopFeed() {
    this.feed?.kill('SIGTERM');
    await this.feed?.ended;
    this.feed = undefined;
  }

  /** Waits until every lease has ended, except those of hold(). */
  async settled() {
    const idle = async () => (await (await fetch(`${this.api}/v1/pool`, { headers: authorization(client, 'GET', '/v1/pool') })).json()).accounts.idle;
    await until(async () => await idle() === this.pool - this.held, 60_000,
      `all but ${this.held} of ${this.pool} accounts are idle: ${this.feed?.text}${this.process.text}`);
  }

  /** Leases accounts of the pool, which is idle, by the API, adds a user's signature to each, and writes them to the file `signedFile`, one a
   * line as write() makes it. */
  async leaseAndSign(body, left = this.pool, write = transactionXdr => transactionXdr) {
    this.signedFile = path.join(this.cluster.folder, 'signed');
    const signed = [], request = { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...JSON.parse(body), timeoutSeconds: 300 }) };
    const lease = async () => {
      while (left-- > 0) {
        const answer = await fetch(`${this.api}/v1/transactions`, request);
        if (answer.status !== 201)
          throw new Error(`${answer.status} ${await answer.text()}`);
        signed.push(write(withUserSignature(await answer.json())));
      }
    };
    await Promise.all(Array.from({ length: 32 }, lease));
    fs.writeFileSync(this.signedFile, signed.join('\n'));
  }

  /** Occupies this many accounts with leases that do not end. */
  async hold(count) {
    await this.settled();
    await this.stopFeed();
    sql(this.url, '-v', `held=${count}`, '-f', path.join(here, 'hold.sql'));
    this.held = count;
    await this.startFeed();
  }

  /** Inserts settled leases of the last 7 days; those of today and yesterday have idempotency keys. */
  seedHistory(rows) {
    sql(this.url, '-v', `rows=${rows}`, '-v', 'old=0', '-v', 'stale=0', '-v', 'client=', '-v', `digest=${'00'.repeat(32)}`,
      '-f', path.join(root, 'tests/faults/history.sql'));
    sql(this.url, '-c', 'VACUUM (ANALYZE) fairway.leases, fairway.lease_results, fairway.fee_bumps, fairway.idempotency_keys');
    this.#state();
  }

  async stop() {
    await this.stopFeed();
    this.process.kill('SIGTERM');
    await this.process.ended;
  }
}
