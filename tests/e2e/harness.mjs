// A complete fairway for one test file: PostgreSQL, the local network, schema, channel accounts, and `serve` processes, on free loopback
// ports and in a temporary folder. stop() ends everything that was started here, also after a failed test.
import crypto from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Account, Asset, Keypair, Operation, TransactionBuilder, rpc } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet/localnet.mjs';
import { checkResponse } from './openapi.mjs';
import { slower } from '../slowness.mjs';
import { Session } from './session.mjs';
import { authorization, quickSigner } from './token.mjs';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const pg = path.join(root, 'tests/integration/support/pg.sh');
export const fairway = path.resolve(root, process.env.FAIRWAY_BIN ?? 'build/release/fairway');
export { slower };
export const sleep = ms => new Promise(wake => setTimeout(wake, ms));

/** So many seconds, and more in proportion to the machine's load, at most 60: for ?wait=, and for leases that must last while a test uses them. */
export const slowerSeconds = seconds => Math.min(60, Math.ceil(slower(seconds * 1000) / 1000));

/** Waits until check() returns a true value, and returns it; looks less often the longer it takes. Throws after ms, or later in proportion
 *  to the machine's load. */
export async function until(check, ms, what) {
  const begun = Date.now();
  for (;;) {
    const value = await check();
    if (value)
      return value;
    const waited = Date.now() - begun;
    if (waited > slower(ms))
      throw new Error(`timed out after ${waited} ms, waiting until: ${what}`);
    await sleep(Math.min(250, 50 + waited / 20));
  }
}

/** The URL with another role. All roles of a test server have one password. */
export const inRole = (role, url) => url.replace(/\/\/[^:@]*/, `//${role}`); // with several hosts it is no URL for Node

/** What the promise resolves to; undefined when that takes longer than ms. */
export function within(promise, ms) {
  let timer;
  const late = new Promise(resolve => (timer = setTimeout(resolve, ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Whether nothing listens on this port of 127.0.0.1. */
export async function portIsFree(port) {
  const server = net.createServer().listen(port, '127.0.0.1');
  const free = await new Promise(decided => server.on('listening', () => decided(true)).on('error', () => decided(false)));
  await new Promise(closed => server.close(closed));
  return free;
}

/** A port of 127.0.0.1 on which nothing listens. It is none of those that the system chooses from, so it stays free until the caller uses it. */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 9_000);
    if (await portIsFree(port))
      return port;
  }
}

/** network: more options of startLocalnet. localnet: a running network, {url, close()}, to use instead of one in this process. */
export async function startWorld({ accounts = 15, ledgerMs = 1000, passphrase, network = {}, localnet } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-e2e-'));
  fs.chmodSync(folder, 0o755);
  const world = new World(folder,
    localnet ?? await startLocalnet({ port: 0, ledgerMs, ...(passphrase && { passphrase }), ...network }));
  try {
    await world.prepare(accounts);
  } catch (error) {
    await world.stop();
    throw error;
  }
  return world;
}

class World {
  #services = [];
  #commands = new Set();
  #session;

  constructor(folder, localnet) {
    this.folder = folder;
    this.localnet = localnet;
    this.network = new rpc.Server(localnet.url, { allowHttp: true });
    this.client = Keypair.random();
    this.env = { PATH: process.env.PATH, RPC_URL: localnet.url, CLIENT_AUTH_PUBLIC_KEYS: this.client.publicKey(), PORT: '0', ADMIN_PORT: '0', LISTEN: '127.0.0.1',
      LEDGER_SECONDS: '1' };
  }

  async prepare(accounts) {
    const { passphrase } = await this.network.getNetwork();
    this.passphrase = this.env.NETWORK_PASSPHRASE = passphrase;
    if (process.env.FAIRWAY_TRUSTED)
      await this.trustValidator();
    const { stdout } = await this.postgres('start');
    await this.makeRoles(stdout.trim());
    this.env.DATABASE_URL = inRole('fairway', stdout.trim());
    this.env.MASTER_KEY_FILE = path.join(this.folder, 'master.key');
    await this.fairway('keygen', this.env.MASTER_KEY_FILE);
    this.distribution = Keypair.random();
    this.env.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE = path.join(this.folder, 'distribution.seed');
    fs.writeFileSync(this.env.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, this.distribution.secret(), { mode: 0o600 });
    await this.fund(this.distribution.publicKey());
    await this.fairway('migrate');
    await this.sql('VACUUM (ANALYZE)'); // so empty tables have statistics, as in production
    if (accounts > 0)
      await this.fairway('ensure-accounts', String(accounts));
  }

  /** The local network's validator is the only one that is trusted. */
  async trustValidator() {
    const { result } = await (await fetch(this.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localnet_status' }) })).json();
    this.env.TRUSTED_VALIDATORS = path.join(this.folder, 'validators.txt');
    fs.writeFileSync(this.env.TRUSTED_VALIDATORS, `Local network ${result.validator}\n`);
  }

  /** Makes the roles of docker/roles.sql, with the superuser's password, for the database of this URL. */
  async makeRoles(url) {
    const { password } = new URL(url);
    await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', path.join(root, 'docker/roles.sql'), url],
      { env: { ...process.env, FAIRWAY_OWNER_PASSWORD: password, FAIRWAY_PASSWORD: password } });
  }

  /** The URL of the database for its superuser: for what tests change, and for what they look at. */
  get superuser() {
    return inRole('superuser', this.env.DATABASE_URL);
  }

  /** The environment of a command: only these two have the role that owns the tables. */
  #envOf(command) {
    return ['migrate', 'rotate-master-key'].includes(command) && this.env.DATABASE_URL.includes('//fairway:')
      ? { ...this.env, DATABASE_URL: inRole('fairway_owner', this.env.DATABASE_URL) } : this.env;
  }

  /** Runs a command to its end; throws with its output when its exit code is not 0. */
  async fairway(...args) {
    return run(fairway, args, { env: this.#envOf(args[0]), timeout: slower(120_000) });
  }

  /** Starts a command. Returns {process, said, ended}: said() is its output so far; ended resolves to {code, signal, out} with all of it.
   *  input: its standard input. */
  start(args, env = {}, input) {
    const child = spawn(fairway, args,
      { env: { ...this.#envOf(args[0]), ...env }, stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    child.stdin?.on('error', () => {}).end(input); // a command that ends early does not read all
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', text => (out += text));
    this.#commands.add(child);
    return { process: child, said: () => out, ended: new Promise((resolve, reject) => child.on('error', reject).on('close', (code, signal) => {
      this.#commands.delete(child);
      resolve({ code, signal, out });
    })) };
  }

  /** Runs a command to its end, whatever its exit code is: {code, signal, out}. */
  run(...args) {
    return this.start(args).ended;
  }

  /** Holds the provisioning lock, like a command that changes the pool's size, until the returned function is called. */
  async holdProvisioning() {
    const session = new Session(this.superuser), number = crypto.createHash('sha256').update(this.passphrase).digest().readBigInt64BE(16);
    await session.query(`SELECT pg_advisory_lock(${number})`);
    return () => session.end();
  }

  /** Runs pg.sh for this world's server: 'start', or 'stop' with a mode. env: more variables of the server. */
  postgres(command, { mode = 'fast', env = {} } = {}) {
    return run('sh', [pg, command, path.join(this.folder, 'postgres'), command === 'start' ? String(process.pid) : mode],
      { env: { ...process.env, ...env } });
  }

  /** Sets synchronous_standby_names and waits until it is in force; '' for none. */
  async setStandby(names) {
    await this.sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await this.sql('SELECT pg_reload_conf()');
    await until(async () => (await this.sql('SHOW synchronous_standby_names')).flat().join() === names, 10_000,
      `synchronous_standby_names is '${names}'`);
  }

  /** [state, reason] of an account. */
  async stateOf(address) {
    return (await this.sql(
      `SELECT state, coalesce(quarantine_reason, '') FROM fairway.channel_accounts WHERE public_key = '${address}'`))[0];
  }

  /** The last committed ledger. */
  async cursor() {
    return Number((await this.sql('SELECT sequence FROM fairway.cursor'))[0][0]);
  }

  async fund(address) {
    const { friendbotUrl } = await this.network.getNetwork();
    const answer = await fetch(`${friendbotUrl}?addr=${address}`);
    if (!answer.ok)
      throw new Error(`friendbot: ${await answer.text()}`);
  }

  async newAccount() {
    const key = Keypair.random();
    await this.fund(key.publicKey());
    return key;
  }

  /** Starts one more `serve` and waits until it is ready, or only listens. prefix: a command that executes it. */
  async serve(env = {}, prefix = [], isReady = true) {
    const service = new Service({ ...this.env, ...env }, this.client, prefix);
    this.#services.push(service);
    await (isReady ? service.ready() : service.listens());
    return service;
  }

  /** Runs a query and returns its rows as arrays of text. */
  async sql(text) {
    const output = await this.#read(text) ?? (await run('psql', ['-X', '-q', '-t', '-A', '-F', '\t', this.superuser, '-c', text],
      { maxBuffer: 2 ** 30 })).stdout;
    return output.split('\n').filter(line => line !== '').map(line => line.split('\t'));
  }

  /** The output of a SELECT in the open session; undefined when that is in use, its connection was lost, or the SELECT fails. */
  async #read(text) {
    const url = this.superuser;
    if (!/^\s*SELECT\b[^;]*$/.test(text) || this.#session?.busy)
      return undefined;
    if (this.#session === undefined || this.#session.over || this.#session.url !== url) {
      this.#session?.end();
      this.#session = new Session(url);
    }
    return this.#session.query(text);
  }

  async stop() {
    this.#session?.end();
    for (const command of this.#commands)
      command.kill('SIGKILL');
    for (const service of this.#services)
      await service.kill('SIGKILL');
    await this.localnet.close();
    await this.postgres('stop', { mode: 'immediate' }).catch(() => {});
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The id of the key process of a fairway; null when it has none. */
export function keydOf({ pid }) {
  try {
    return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]) || null;
  } catch {
    return null;
  }
}

export class Service {
  /** client: the keypair that signs requests; without one they have no token. prefix: a command that executes `serve`. */
  constructor(env, client, prefix = []) {
    const [program, ...args] = [...prefix, fairway, 'serve'];
    this.client = client && quickSigner(client); // tokens expire, and a busy machine has many to sign at once
    this.log = '';
    this.process = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    // Its log is whole when the pipes are closed, unless a process that it has left keeps them open.
    const closed = new Promise(resolve => this.process.on('close', resolve));
    this.ended = new Promise(resolve => this.process.on('exit', async (code, signal) => {
      await within(closed, 1000);
      resolve({ code, signal });
    }).on('error', error => { // it was not started
      this.log += error;
      resolve({ code: null, signal: null });
    }));
    for (const stream of [this.process.stdout, this.process.stderr])
      stream.setEncoding('utf8').on('data', text => {
        this.log += text;
        if (process.env.FAIRWAY_KEEP)
          fs.appendFileSync(path.join(process.env.FAIRWAY_KEEP, `fairway-${this.process.pid}.log`), text);
        this.url ??= /^listening on (http:\S+)\n/m.exec(this.log)?.[1];
        this.adminUrl ??= /^admin listening on (http:\S+)\n/m.exec(this.log)?.[1];
      });
  }

  async listens() {
    let over = false;
    this.ended.then(() => (over = true));
    await until(() => {
      if (over)
        throw new Error(`serve ended:\n${this.log}`);
      return this.url;
    }, 30_000, `serve listens:\n${this.log}`);
  }

  async ready() {
    await this.listens();
    await until(async () => (await this.get('/readyz').catch(() => ({ status: 0 }))).status === 200, 30_000, 'serve is ready');
  }

  /** The id of its key process; null when it has none. */
  get keydPid() {
    return keydOf(this.process);
  }

  async kill(signal = 'SIGTERM') {
    this.process.kill(signal);
    return this.ended;
  }

  /** Sends a request, with a token of the client unless headers have another, and returns {status, headers, json}. Throws when
   * openapi.json does not have the response. */
  async request(method, path, body, headers = {}) {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(this.url + path, {
      method,
      headers: { ...(this.client && authorization(this.client, method, path, sent, headers['idempotency-key'])),
        ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: sent,
    });
    const text = await answer.text();
    const response = { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) };
    checkResponse(method, path, response);
    return response;
  }

  get(path) {
    return this.request('GET', path);
  }

  post(path, body) {
    return this.request('POST', path, body);
  }

  /** One check of /readyz, with the HTTP status of the response. */
  async check(wanted) {
    const { status, json } = await this.get('/readyz');
    return { status, ...json.checks.find(({ name }) => name === wanted) };
  }

  /** The values of /metrics by name, with labels as they are written: name{a="b",c="d"}. */
  async metrics() {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    return Object.fromEntries([...text.matchAll(/^([a-z_]+(?:\{.*\})?) (-?[\d.]+)$/gm)].map(([, name, value]) => [name, Number(value)]));
  }
}

/** A payment as a wallet backend builds it: the operation names its source; the transaction's own source is ignored. */
export function payment(world, from, to, amount = '1') {
  return new TransactionBuilder(new Account(from.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(Operation.payment({ source: from.publicKey(), destination: to.publicKey(), asset: Asset.native(), amount }))
    .setTimeout(0)
    .build();
}

/** Leases, signs as the client, fee-bumps and submits a payment. Returns the lease; throws when any step fails. */
export async function payThrough(world, service, from, to, { timeoutSeconds } = {}) {
  const leased = await service.post('/v1/transactions',
    { transactionXdr: payment(world, from, to).toXDR(), ...(timeoutSeconds && { timeoutSeconds }) });
  if (leased.status !== 201)
    throw Object.assign(new Error(`lease: ${leased.status} ${JSON.stringify(leased.json)}`), { answer: leased });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(from);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  if (bumped.status !== 200)
    throw Object.assign(new Error(`fee bump: ${bumped.status} ${JSON.stringify(bumped.json)}`), { answer: bumped });
  await submit(world, bumped.json.transactionXdr);
  return leased.json;
}

/** Submits until the network accepts it. The error of a refusal has the result code. */
export async function submit(world, envelope) {
  const transaction = TransactionBuilder.fromXDR(envelope, world.passphrase);
  for (let tries = 0; ; tries++) {
    const sent = await world.network.sendTransaction(transaction);
    if (sent.status === 'PENDING' || sent.status === 'DUPLICATE')
      return;
    if (sent.status === 'TRY_AGAIN_LATER' && tries < 50) {
      await sleep(200);
      continue;
    }
    throw new Error(`submission: ${sent.status} ${JSON.stringify(sent.errorResult ?? null, (_, v) => typeof v === 'bigint' ? String(v) : v)}`);
  }
}

/** Asserts the final state of every run: all accounts idle, no open lease, and each row's sequence equal to the network's. */
export async function assertSettled(assert, world, service, accounts) {
  const idle = "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL";
  await until(async () => Number((await world.sql(idle))[0][0]) === accounts, 150_000, `all ${accounts} accounts idle`);
  const wanted = { idle: accounts, leased: 0, creating: 0, retiring: 0, quarantined: 0 };
  let counts; // these may be a second old
  for (const end = Date.now() + slower(5000); !isDeepStrictEqual(counts, wanted) && Date.now() < end; await sleep(50))
    counts = (await service.get('/v1/pool')).json.accounts;
  assert.deepEqual(counts, wanted);
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL'), [['0']]);
  const rows = await world.sql("SELECT public_key, sequence FROM fairway.channel_accounts WHERE state = 'active'");
  for (const [key, sequence] of rows) {
    const account = await world.network.getAccount(key);
    assert.equal(account.sequenceNumber(), sequence, `sequence of ${key}`);
  }
  assert.equal(rows.length, accounts);
}
