// One measurement: wrk against a fairway, and the CPU time of each process per response.
import fs from 'node:fs';
import path from 'node:path';
import { root, run, sql, user } from './setup.mjs';

const TICKS = Number(run('getconf', ['CLK_TCK']));
const seconds = Number(process.env.BENCH_SECONDS ?? 8);
let runs = 0;

/** {pid, parent, us, reapedUs} of a process: its CPU time, and that of its children that have ended. */
function processTime(pid) {
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

/** CPU time so far: of PostgreSQL, of its sessions that commit ledgers, of fairway and of its key process. */
function cpuTimes(service) {
  const { postmaster } = service.cluster, front = service.process.pid;
  const { all, reapedUs } = processTimes(postmaster);
  const sum = (what, reaped = 0) => all.filter(what).reduce((total, { us }) => total + us, reaped);
  const ledgers = sql(service.url, '-c', `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
    AND application_name IN ('feed_ledgers', 'fairway ingest')`).split('\n').map(Number);
  return {
    postgres: sum(({ pid, parent }) => pid === postmaster || parent === postmaster, reapedUs),
    ledgers: sum(({ pid }) => ledgers.includes(pid)),
    fairway: sum(({ pid }) => pid === front),
    keyd: sum(({ parent }) => parent === front),
  };
}

const here = path.join(root, 'tests/bench');
const wrk = (connections, script, url, env) => {
  const out = run('wrk', ['-t', connections === 1 ? '1' : '2', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s', '--latency',
    '-s', path.join(here, script), url], { BENCH_COMMON: path.join(here, 'common.lua'), ...env });
  return JSON.parse(/^BENCH (.*)$/m.exec(out)[1]);
};

const settled = async service => {
  await service.startFeed();
  await service.settled();
};

const secret = Buffer.concat([user.rawSecretKey(), user.rawPublicKey()]); // as libsodium takes it

/** The kinds of load: which script of wrk runs, on which path, with which environment; and what happens before and after it. */
const loads = {
  leases: { script: 'post.lua', path: '/v1/transactions', before: settled,
    env: ({ body, header, pauseMs = 0 }) => ({ BENCH_BODY: body, BENCH_PAUSE_MS: String(Math.round(pauseMs)), ...(header && { BENCH_HEADER: header, BENCH_RUN: `${process.pid}-${++runs}` }) }) },
  lives: { script: 'life.lua', path: '/v1/transactions', 
    before: async service => { await settled(service); await service.startFeed('bumped'); },
    env: ({ body }) => ({ BENCH_BODY: body, BENCH_BUMP_PATH: '/v1/fee-bumps', BENCH_SECRET: secret.toString('hex') }) },
  bumps: { script: 'bump.lua', path: '/v1/fee-bumps', before: async (service, { body }) => { await service.stopFeed(); await service.leaseAndSign(body); },
    env: (_, service) => ({ BENCH_FILE: service.signedFile }) },
};

/**
 * Applies a kind of load for some seconds over this many connections. Leases and lives begin when the pool is settled, and ledgers end their
 * leases; for fee bumps, leases of the whole pool stay open. header: a request header that gets a new value each time. pauseMs: the mean
 * pause of a connection before each request, for a rate below the highest. Returns
 * {connections, answers, refused, us, p50us, p99us, cpu: {postgres, ledgers, fairway, keyd} in us}.
 */
export async function measure(service, connections, { kind = 'leases', ...what }) {
  const load = loads[kind];
  await load.before(service, what);
  const before = cpuTimes(service);
  const b = wrk(connections, load.script, service.api + load.path, load.env(what, service));
  const after = cpuTimes(service);
  return { connections, answers: b.good, refused: b.refused + b.errors, us: b.us, p50us: b.p50us, p99us: b.p99us,
    cpu: Object.fromEntries(Object.keys(after).map(name => [name, after[name] - before[name]])) };
}

/** Combines measurements of one case: {rate, p50_ms, p99_ms, refused, cpu_us}, where cpu_us is per response. */
export function together(measurements) {
  const sum = of => measurements.reduce((total, m) => total + of(m), 0), answers = sum(m => m.answers);
  const round = (x, digits) => Math.round(x * 10 ** digits) / 10 ** digits, mean = of => round(sum(of) / measurements.length / 1000, 2);
  return { rate: round(answers / (sum(m => m.us) / 1e6), 1), p50_ms: mean(m => m.p50us), p99_ms: mean(m => m.p99us), refused: sum(m => m.refused),
    cpu_us: Object.fromEntries(Object.keys(measurements[0].cpu).map(name => [name, Math.round(sum(m => m.cpu[name]) / Math.max(1, answers))])) };
}
