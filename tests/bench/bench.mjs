// `make bench`: signed answers a second over HTTP, beside the plain statements of the system that fairway replaces, on the same
// machine and PostgreSQL (fsync on), in one run. Prints the table of the README.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { until } from '../e2e/harness.mjs';

const root = new URL('../..', import.meta.url).pathname;
const build = path.resolve(root, process.env.BUILD ?? 'build/release');
const seconds = Number(process.env.BENCH_SECONDS ?? 10);
const pools = (process.env.BENCH_POOLS ?? '100,2000,10000,20000').split(',').map(Number);
const connections = [1, 32, 128];
const passphrase = 'fairway benchmark';
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-bench-'));
fs.chmodSync(folder, 0o755);

const run = (program, args, env = {}) =>
  execFileSync(program, args, { env: { ...process.env, ...env }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const bindir = run('pg_config', ['--bindir']).trim();
const pg = (...args) => run('sh', [path.join(root, 'tests/integration/support/pg.sh'), ...args]).trim();
const server = pg('start', path.join(folder, 'postgres'), String(process.pid));
const sql = (url, ...args) => run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', url, ...args]);

function database(name) {
  sql(server, '-c', `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** The plain cycle: three statements with a commit each. {rate, meanUs} for a number of clients. */
function plain(pool) {
  const url = database(`plain_${pool}`);
  sql(url, '-v', `accounts=${pool}`, '-f', path.join(root, 'tests/bench/plain.sql'));
  const measure = clients => {
    const out = run(path.join(bindir, 'pgbench'), ['-n', '-M', 'prepared', '-T', String(seconds), '-c', String(clients), '-j', '2',
      '-f', path.join(root, 'tests/bench/plain.pgbench'), url]);
    return { rate: Number(/tps = ([\d.]+)/.exec(out)[1]), meanUs: Number(/latency average = ([\d.]+) ms/.exec(out)[1]) * 1000 };
  };
  return { 1: measure(1), 32: measure(32) };
}

function transaction() {
  const from = Keypair.random().publicKey(), to = Keypair.random().publicKey();
  return new TransactionBuilder(new Account(from, '0'), { fee: '100', networkPassphrase: passphrase })
    .addOperation(Operation.payment({ source: from, destination: to, asset: Asset.native(), amount: '1' }))
    .setTimeout(0).build().toXDR();
}

const children = [];
function start(program, args, env = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  child.text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (child.text += text));
  child.ended = new Promise(resolve => child.on('exit', resolve));
  children.push(child);
  return child;
}
async function stop(child) {
  child.kill('SIGTERM');
  await child.ended;
}

/** fairway over HTTP, with leases that end through the real ledger transaction. */
async function service(pool) {
  const url = database(`fairway_${pool}`);
  const keys = { MASTER_KEY_FILE: path.join(folder, 'master.key'),
    DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: path.join(folder, 'distribution.seed') };
  run(`${build}/fairway`, ['migrate'], { DATABASE_URL: url, ...keys });
  run(`${build}/tests/bench/seed_pool`, [`${build}/fairway-keyd`, keys.MASTER_KEY_FILE, keys.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE,
    url, passphrase, String(pool)]);
  const feed = start(`${build}/tests/bench/feed_ledgers`, [url, passphrase, String(process.env.BENCH_LEDGER_MS ?? 50)]);
  const serve = start(`${build}/fairway`, ['serve'], { DATABASE_URL: url, NETWORK_PASSPHRASE: passphrase, INGEST: 'off', AUTH: 'none',
    PORT: '0', LISTEN: '127.0.0.1', LOG_LEVEL: 'warn', ...keys });
  const api = await until(() => /listening on (http:\S+?)"?$/m.exec(serve.text)?.[1] ?? (serve.exitCode !== null &&
    (() => { throw new Error(serve.text); })()), 30_000, `serve: ${serve.text}`);
  const results = {};
  for (const c of connections) {
    await until(async () => (await (await fetch(`${api}/v1/pool`)).json()).accounts.idle === pool, 60_000, 'all idle');
    const out = run('wrk', ['-t', c === 1 ? '1' : '2', '-c', String(c), '-d', `${seconds}s`, '--timeout', '10s', '--latency',
      '-s', path.join(root, 'tests/bench/post.lua'), `${api}/v1/transactions`],
      { BENCH_BODY: JSON.stringify({ transactionXdr: transaction() }) });
    const b = JSON.parse(/^BENCH (.*)$/m.exec(out)[1]);
    results[c] = { ...b, rate: (b.requests - b.refused) / (b.us / 1e6) };
  }
  const total = Number(sql(url, '-t', '-A', '-c', 'SELECT count(*) FROM fairway.leases'));
  const hot = sql(url, '-t', '-A', '-c', "SELECT round(100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1), 1) FROM pg_stat_user_tables WHERE relname = 'channel_accounts'").trim();
  await stop(serve);
  await stop(feed);
  return { results, total, hot };
}

/** LedgerCloseMeta decoding, on the real ledgers when they are there. */
function decoding() {
  const source = path.join(root, '../shared/ledgers/pubnet');
  if (!fs.existsSync(source))
    return 'decoding: no real ledgers here to measure with';
  const files = fs.readdirSync(source).filter(name => name.endsWith('.xdr.gz')).map(name => {
    const file = path.join(folder, name.slice(0, -3));
    fs.writeFileSync(file, zlib.gunzipSync(fs.readFileSync(path.join(source, name))));
    return file;
  });
  return run(`${build}/tests/bench/decode`, ['200', ...files]).trim();
}

const fmt = n => Math.round(n).toLocaleString('en-US');
const ms = us => (us / 1000).toFixed(2);
try {
  run(`${build}/fairway`, ['keygen', path.join(folder, 'master.key')]);
  fs.writeFileSync(path.join(folder, 'distribution.seed'), Keypair.random().secret(), { mode: 0o600 });
  const commit = run('git', ['-C', root, 'rev-parse', '--short', 'HEAD']).trim();
  const version = run('psql', ['-X', '-t', '-A', server, '-c', 'SHOW server_version']).trim();
  const cpu = /model name\s*: (.*)/.exec(fs.readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? os.arch();
  console.log(`${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${os.cpus().length} x ${cpu}, PostgreSQL ${version}, fsync on; ` +
    `load generator, service, ledger feed and database on the same cores; ${seconds} s each\n`);
  console.log('| pool | plain, 1 client | plain, 32 clients | fairway, 1 connection | 32 connections | 128 connections | 128 / plain best |');
  console.log('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const pool of pools) {
    const p = plain(pool), f = await service(pool);
    const best = Math.max(p[1].rate, p[32].rate);
    const cell = r => `${fmt(r.rate)}/s, ${ms(r.p50us)} / ${ms(r.p99us)} ms${r.refused + r.errors ? `, ${r.refused + r.errors} refused` : ''}`;
    console.log(`| ${fmt(pool)} | ${fmt(p[1].rate)}/s, mean ${ms(p[1].meanUs)} ms | ${fmt(p[32].rate)}/s | ${connections.map(c => cell(f.results[c])).join(' | ')} | ${(f.results[128].rate / best).toFixed(1)} |`);
    console.error(`# pool ${pool}: ${f.total} leases, ${f.hot} % HOT updates of channel_accounts`);
  }
  console.log(`\n${decoding()}`);
} finally {
  for (const child of children)
    child.kill('SIGKILL');
  pg('stop', path.join(folder, 'postgres'));
  fs.rmSync(folder, { recursive: true, force: true });
}
