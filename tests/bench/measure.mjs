// One measurement: wrk or open_load against a fairway, and the CPU time of each process per response. The load generator and the feed, which fairway
// does not have, are counted apart from it.
import fs from 'node:fs';
import path from 'node:path';
import { build, callBody, client, root, run, secretOf, sql, user } from './setup.mjs';

const TICKS = Number(run('getconf', ['CLK_TCK']));
const usual = Number(process.env.BENCH_SECONDS ?? 3);
let runs = 0;

/** {pid, parent, us, reapedUs} of a process: its CPU time, and that of its children that have ended. */
export function processTime(pid) {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    const us = (...at) => at.reduce((sum, i) => sum + Number(fields[i]) * 1e6 / TICKS, 0);
    return { pid, parent: Number(fields[1]), us: us(11, 12), reapedUs: us(13, 14) };
  } catch {
    return null; // the process has ended
  }
}

/** All processes, and the CPU time of one's ended children. Reads again if another child ended meanwhile, because it would count twice. */
function processTimes(parent) {
  for (;;) {
    const { reapedUs } = processTime(parent);
    const all = fs.readdirSync('/proc').filter(name => /^\d+$/.test(name)).map(name => processTime(Number(name))).filter(time => time);
    if (processTime(parent).reapedUs === reapedUs)
      return { all, reapedUs };
  }
}

/** The CPU time that the feed has spent on building ledgers: the last complete line that it has printed. */
const built = feed => feed === undefined ? 0 : Number(fs.readFileSync(feed.printed, 'utf8').split('\n').at(-2) ?? 0);

/**
 * CPU time so far. postgres: of its processes without the session that reads for the feed; ledgers: of that, of the session that commits
 * ledgers; fairway: of its process and of the ingestion code that runs in the feed; keyd; feed: of building ledgers, with that session, and of
 * the RPC that takes submissions; generator: of load generators that have ended.
 */
function cpuTimes(service) {
  const { postmaster } = service.cluster, front = service.process.pid, feed = service.feed;
  const sessions = sql(service.url, '-c', `SELECT pid || ' ' || application_name FROM pg_stat_activity WHERE datname = current_database()`)
    .split('\n').map(line => [Number(line.split(' ')[0]), line.slice(line.indexOf(' ') + 1)]);
  const { all, reapedUs } = processTimes(postmaster);
  const sum = (what, reaped = 0) => all.filter(what).reduce((total, { us }) => total + us, reaped);
  const session = name => sum(({ pid }) => sessions.some(([of, is]) => of === pid && is === name));
  const reads = session('feed_ledgers'), built_us = built(feed);
  return {
    postgres: sum(({ pid, parent }) => pid === postmaster || parent === postmaster, reapedUs) - reads,
    ledgers: session('fairway ingest'),
    fairway: sum(({ pid }) => pid === front || pid === feed?.pid) - built_us,
    keyd: sum(({ parent }) => parent === front),
    feed: reads + built_us + (service.rpcPid ? processTime(service.rpcPid).us : 0),
    generator: generatorUs,
  };
}

const here = path.join(root, 'tests/bench');
let generatorUs = 0;
const generate = (connections, { rate, seconds = usual }, script, url, env) => {
  const before = processTime(process.pid).reapedUs;
  const out = rate ? run(`${build}/tests/bench/open_load`, [url, String(rate), String(seconds), String(connections)], env) :
    run('wrk', ['-t', connections === 1 ? '1' : '2', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s', '--latency',
      '-s', path.join(here, script), url], { BENCH_COMMON: path.join(here, 'common.lua'), ...env });
  generatorUs += processTime(process.pid).reapedUs - before;
  return JSON.parse(/^BENCH (.*)$/m.exec(out)[1]);
};

const walBytes = service => Number(sql(service.url, '-c', "SELECT pg_current_wal_insert_lsn() - '0/0'"));

const settled = async service => {
  await service.startFeed();
  await service.settled();
};

/** Before submissions: a ledger every everyMs includes those with a bid. */
const submitted = async (service, { everyMs }) => {
  await settled(service);
  await service.startFeed('bumped', everyMs);
};

/** The kinds of load: which script of wrk runs, on which path, with which environment; and what happens before and after it. */
const loads = {
  leases: { script: 'post.lua', path: '/v1/transactions', before: settled,
    env: ({ body, header, random }) => ({ BENCH_BODY: body, BENCH_RUN: `${process.pid}-${++runs}`,
      ...(header && { BENCH_HEADER: header }), ...(random && { BENCH_RANDOM: '1' }) }) },
  lives: { script: 'life.lua', path: '/v1/transactions',
    before: async service => { await settled(service); await service.startFeed('bumped'); },
    env: ({ body }) => ({ BENCH_BODY: body, BENCH_BUMP_PATH: '/v1/fee-bumps', BENCH_SECRET: secretOf(user) }) },
  bumps: { script: 'bump.lua', path: '/v1/fee-bumps', before: async (service, { body }) => { await settled(service); await service.stopFeed(); await service.leaseAndSign(body); },
    env: (_, service) => ({ BENCH_FILE: service.signedFile }) },
  lives_submitted: { script: 'life.lua', path: '/v1/transactions', before: submitted,
    env: ({ body }) => ({ BENCH_BODY: body, BENCH_BUMP_PATH: '/v1/submissions', BENCH_SECRET: secretOf(user) }) },
  signed: { path: '/v1/submissions', // at a rate only
    before: async (service, { body, rate, seconds = usual, everyMs }) => {
      await settled(service);
      await service.stopFeed();
      await service.leaseAndSign(body, Math.ceil(1.3 * rate * seconds) + 50, transactionXdr => JSON.stringify({ transactionXdr }));
      await service.startFeed('bumped', everyMs);
    },
    env: (_, service) => ({ BENCH_FILE: service.signedFile, BENCH_RUN: '' }) },
  calls: { script: 'call.lua', path: '/v1/submissions', before: submitted, env: () => ({ BENCH_BODY: callBody(++runs), BENCH_RUN: '' }) },
  authenticated: { script: 'auth.lua', path: '/v1/transactions', before: settled,
    env: ({ body, key }) => ({ BENCH_BODY: body, BENCH_KEY: key, BENCH_RUN: `${process.pid}-${++runs}`, BENCH_CLIENT: client.publicKey(), BENCH_SECRET: secretOf(client) }) },
};

/**
 * Applies a kind of load for some seconds over this many connections. Leases and lives begin when the pool is settled, and ledgers end their
 * leases; for fee bumps, new leases of the whole pool stay open. header: a request header that gets a new value each time; random: as a random
 * UUID is, else in the order of the requests. key: see auth.lua. rate: leases arrive at random times, this many a second, whatever is still
 * unanswered; else each connection sends when it has its answer. seconds: of this one. everyMs: the time between ledgers that include
 * submissions. Returns {connections, answers, refused, us, p50us, p99us, walBytes: that PostgreSQL has written, cpu: that of cpuTimes}.
 */
export async function measure(service, connections, { kind = 'leases', ...what }) {
  const load = loads[kind];
  await load.before(service, what);
  const before = cpuTimes(service), walBefore = walBytes(service);
  const b = generate(connections, what, load.script, service.api + load.path, load.env(what, service));
  if (b.good === 0)
    throw new Error(`${kind} over ${connections} connections: none of ${b.refused + b.errors} answers is good. ${service.process.text}`);
  const after = cpuTimes(service), wal = walBytes(service) - walBefore;
  return { connections, answers: b.good, refused: b.refused + b.errors, us: b.us, p50us: b.p50us, p99us: b.p99us, walBytes: wal,
    cpu: Object.fromEntries(Object.keys(after).map(name => [name, after[name] - before[name]])) };
}

/** Combines measurements of one case: {rate, p50_ms, p99_ms, refused, wal_bytes, cpu_us}; the times are medians of the measurements, the last two are
 * per response. */
export function together(measurements) {
  const sum = of => measurements.reduce((total, m) => total + of(m), 0), answers = sum(m => m.answers);
  const round = (x, digits) => Math.round(x * 10 ** digits) / 10 ** digits;
  const median = of => {
    const sorted = measurements.map(of).sort((a, b) => a - b), half = sorted.length / 2;
    return round((sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2 / 1000, 2);
  };
  return { rate: round(answers / (sum(m => m.us) / 1e6), 1), p50_ms: median(m => m.p50us), p99_ms: median(m => m.p99us), refused: sum(m => m.refused),
    wal_bytes: Math.round(sum(m => m.walBytes) / Math.max(1, answers)),
    cpu_us: Object.fromEntries(Object.keys(measurements[0].cpu).map(name => [name, Math.round(sum(m => m.cpu[name]) / Math.max(1, answers))])) };
}
