// `make bench`: signed responses a second over HTTP. PostgreSQL runs with fsync on; load generator, service, ledger feed and database share
// one machine. Prints the tables of the README and the goals beside what was reached, and writes the same figures to build/bench.json.
//   BENCH            parts to run: pools, lives, in_use, keys, auth, history, release, submit (default: these; see release.mjs, submit.mjs), snapshot,
//                    hour (see snapshot.mjs, hour.mjs)
//   BENCH_SECONDS    duration of each measurement;  BENCH_ROUNDS: how often compared cases alternate
//   BENCH_POOLS, BENCH_IN_USE_POOLS, BENCH_IN_USE    pool sizes, and percentages of a pool that are in use
//   BENCH_HISTORY    settled leases in the part `history`;  BENCH_LEDGER_MS: time between ledgers
//   BENCH_STATISTICS empty or huge: what PostgreSQL's statistics say about the tables (faults/statistics.mjs)
//   BENCH_AGAINST    build/bench.json of another commit: prints the ratios to its figures, and a goal for them
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { goals, ratios } from './goals.mjs';
import { hour } from './hour.mjs';
import { measure, together } from './measure.mjs';
import { CPU, cell, connections, cpuCells, fmt, poolConnections, row, table } from './report.mjs';
import { release } from './release.mjs';
import { snapshot } from './snapshot.mjs';
import { submit } from './submit.mjs';
import { Cluster, Service, body, ledgerMs, root, run, sql } from './setup.mjs';

const list = (name, fallback) => (process.env[name] ?? fallback).split(',');
const seconds = Number(process.env.BENCH_SECONDS ?? 3), rounds = Number(process.env.BENCH_ROUNDS ?? 2);
const KEY = 'Idempotency-Key', NO_KEY = 'X-Other-Header'; // so that the load generator does the same work
const earlier = process.env.BENCH_AGAINST && JSON.parse(fs.readFileSync(process.env.BENCH_AGAINST, 'utf8'));
const cluster = new Cluster();
const figures = {};

/** Maps {number of connections: together} to the names in build/bench.json. */
const named = by => Object.assign({}, ...Object.entries(by).map(([c, m]) => ({ [`rate${c}`]: m.rate, [`p50_ms${c}`]: m.p50_ms,
  [`p99_ms${c}`]: m.p99_ms, [`refused${c}`]: m.refused, [`wal_bytes${c}`]: m.wal_bytes, [`cpu_us${c}`]: m.cpu_us })));

/** Cases alternate at each number of connections, in the opposite order each time. Each case: {service, kind, header, random, key, rate,
 * before(), after()}. Returns {number of connections: together} for each case. */
async function compare(cases, times = rounds, counts = connections) {
  const request = body(), taken = cases.map(() => ({}));
  for (let round = 0; round < times; round++) {
    const order = cases.map((_, i) => round % 2 === 0 ? i : cases.length - 1 - i);
    for (const i of order) {
      await cases[i].before?.();
      const { service, kind, header, random, key, rate } = cases[i];
      for (const c of counts)
        (taken[i][c] ??= []).push(await measure(service, c, { kind, body: request, header, random, key, rate }));
      await cases[i].after?.();
    }
  }
  return taken.map(by => Object.fromEntries(Object.entries(by).map(([c, m]) => [c, together(m)])));
}

/** Measures a plain cycle, that is three statements with a commit each: that of the system that fairway replaces, or, with slots, one that finds
 * a free account by an index. Returns {best: the highest rate, text: all rates, by: {number of clients: {rate, ms}}}. */
function plain(pool, slot) {
  const url = cluster.database(`plain_${slot ? 'slot_' : ''}${pool}`), pgbench = path.join(run('pg_config', ['--bindir']).trim(), 'pgbench'), by = {};
  sql(url, '-v', `accounts=${pool}`, '-v', `slot=${slot}`, '-f', path.join(root, 'tests/bench/plain.sql'));
  for (const clients of [1, 32]) {
    const out = run(pgbench, ['-n', '-M', 'prepared', '-T', String(seconds), '-c', String(clients), '-j', '2', '-D', `accounts=${pool}`,
      '-f', path.join(root, `tests/bench/plain${slot ? '_slot' : ''}.pgbench`), url]);
    by[clients] = { rate: Number(/tps = ([\d.]+)/.exec(out)[1]), ms: Number(/latency average = ([\d.]+) ms/.exec(out)[1]) };
  }
  const rates = Object.values(by).map(({ rate }) => rate);
  return { best: Math.max(...rates), text: `${rates.map(fmt).join(', ')}/s`, by };
}

/** Each ledger looks at every account, and closes here up to 100 times as often as on a network. In a larger pool they close less often, so that
 * this takes the same part of the time; as many accounts can become idle in a second. */
const everyMs = pool => Math.round(ledgerMs * Math.max(1, pool / 2000));

async function pools() {
  table(`Beside two plain cycles; p50 / p99. A ledger every ${everyMs(2000)} ms, ${everyMs(10000)} ms at 10,000 accounts.`,
    ['pool', 'plain, random order: 1, 32 clients', 'plain, indexed slot'], ['128 / best of each', ...CPU], poolConnections);
  figures.pools = {};
  for (const pool of list('BENCH_POOLS', '2000,10000').map(Number)) {
    const p = plain(pool, false), slot = plain(pool, true), service = await Service.start(cluster, `fairway_${pool}`, pool, { everyMs: everyMs(pool) });
    const [by] = await compare([{ service }], 1, poolConnections);
    await service.stop();
    figures.pools[pool] = { plain_best: p.best, plain: p.by, slot_best: slot.best, slot: slot.by, ...named(by) };
    row([fmt(pool), p.text, slot.text, ...poolConnections.map(c => cell(by[c])), `${(by[128].rate / p.best).toFixed(1)}, ${(by[128].rate / slot.best).toFixed(1)}`,
      ...cpuCells(by)]);
    const hot = sql(service.url, '-c', "SELECT round(100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1), 1) FROM pg_stat_user_tables WHERE relname = 'channel_accounts'");
    console.error(`# pool ${pool}: ${hot} % HOT updates of channel_accounts`);
  }
}

/** Cases at half of the highest rate, as an open arrival process. */
const HALF = 256; // connections at most
const atHalf = async (top, cases, times) => (await compare(cases.map(one => ({ ...one, rate: top.rate / 2 })), times, [HALF])).map(by => by[HALF]);

/** What surrounds a lease: fee bumps alone, whole lives (lease, user's signature, fee bump; each life is two requests), half of the load. */
async function lives() {
  const pool = 2000, service = await Service.start(cluster, 'lives', pool), kinds = { leases: 'leases', bumps: 'fee bumps', lives: 'lives' };
  table(`Fee bumps and whole lives (lease, user's signature, fee bump), a pool of ${fmt(pool)}; p50 / p99 of one request.`, ['what'],
    ['128, beside the first row', ...CPU]);
  const all = await compare(Object.keys(kinds).map(kind => ({ service, kind })));
  const top = all[0][128], [half] = await atHalf(top, [{ service }], 1);
  await service.stop();
  Object.values(kinds).forEach((what, i) => row([what, ...connections.map(c => cell(all[i][c])), `${Math.round(100 * all[i][128].rate / top.rate)} %`,
    ...cpuCells(all[i])]));
  console.log(`\nRequests at random times, at ${Math.round(100 * half.rate / top.rate)} % of the highest rate of leases: ${cell(half)}`);
  figures.lives = { [pool]: { ...Object.fromEntries(Object.keys(kinds).map((kind, i) => [kind, named(all[i])])), half } };
}

async function inUse() {
  const shares = list('BENCH_IN_USE', '10,80,95').map(Number);
  table('A pool in use; p50 / p99. The rate cannot be higher than the idle accounts times the ledgers a second.',
    ['pool', 'in use', 'at most'], ['128, beside the first row', ...CPU]);
  figures.in_use = {};
  for (const pool of list('BENCH_IN_USE_POOLS', '2000').map(Number)) {
    const service = await Service.start(cluster, `in_use_${pool}`, pool);
    await service.startFeed();
    const all = await compare(shares.map(share => ({ service, before: () => service.hold(Math.round(pool * share / 100)) })));
    await service.stop();
    figures.in_use[pool] = Object.fromEntries(shares.map((share, i) => [share, named(all[i])]));
    shares.forEach((share, i) => row([fmt(pool), `${share} %`, `${fmt(pool * (1 - share / 100) * 1000 / ledgerMs)}/s`,
      ...connections.map(c => cell(all[i][c])),
      `${Math.round(100 * all[i][128].rate / all[0][128].rate)} %`, ...cpuCells(all[i])]));
  }
}

async function keys() {
  const pool = 2000, service = await Service.start(cluster, 'keys', pool);
  table(`A fresh ${KEY} with each request, a pool of ${fmt(pool)}; p50 / p99.`, ['key'], CPU);
  const [without, with_] = await compare([{ service, header: NO_KEY }, { service, header: KEY }]);
  await service.stop();
  const cost = Object.fromEntries(connections.map(c => [`cost_percent${c}`, Math.round(1000 * (1 - with_[c].rate / without[c].rate)) / 10]));
  figures.keys = { [pool]: { without: named(without), with: named(with_), ...cost } };
  row(['without', ...connections.map(c => cell(without[c])), ...cpuCells(without)]);
  row(['with', ...connections.map(c => cell(with_[c])), ...cpuCells(with_)]);
  row(['cost', ...connections.map(c => `${cost[`cost_percent${c}`]} %`), '', '']);
}

/** Requests with tokens. The load generator signs one for each request in all cases. */
async function auth() {
  const pool = 2000, open = await Service.start(cluster, 'open', pool), guarded = await Service.start(cluster, 'guarded', pool, { authenticated: true });
  table(`Authentication, a pool of ${fmt(pool)}; p50 / p99.`, ['requests'], ['128, beside the first row', ...CPU]);
  const cases = {
    'no authentication, a key each': { service: open, key: 'header' },
    'a token each': { service: guarded, key: 'token' },
    'a token and a key, which the token names': { service: guarded, key: 'header' },
  };
  const all = await compare(Object.values(cases).map(one => ({ ...one, kind: 'authenticated', after: () => one.service.stopFeed() })));
  await open.stop();
  await guarded.stop();
  figures.auth = { [pool]: Object.fromEntries(Object.keys(cases).map((what, i) => [what, named(all[i])])) };
  Object.keys(cases).forEach((what, i) => row([what, ...connections.map(c => cell(all[i][c])), `${Math.round(100 * all[i][128].rate / all[0][128].rate)} %`,
    ...cpuCells(all[i])]));
}

async function history() {
  const pool = 2000, leases = Number(process.env.BENCH_HISTORY ?? 300_000);
  const young = await Service.start(cluster, 'young', pool), old = await Service.start(cluster, 'old', pool);
  old.seedHistory(leases);
  table(`Over settled leases of 7 days, a fresh ${KEY} with each request, a pool of ${fmt(pool)}; p50 / p99.`, ['settled leases'],
    [...CPU, 'WAL bytes an answer at 128']);
  const one = (service, random) => ({ service, header: KEY, random, after: () => service.stopFeed() }); // no ledgers for the service that is not being measured
  const [none, some, random] = await compare([one(young), one(old), one(old, true)]);
  const half = await atHalf(none[128], [one(young), one(old)], rounds);
  await young.stop();
  await old.stop();
  figures.history = { [pool]: { 0: named(none), [leases]: named(some), random_keys: named(random) } };
  half.forEach((m, i) => { figures.history[pool][i === 0 ? 0 : leases].half = m; });
  for (const [what, by] of [['0 at first', none], [fmt(leases), some], [`${fmt(leases)}, random keys`, random]])
    row([what, ...connections.map(c => cell(by[c])), ...cpuCells(by), fmt(by[128].wal_bytes)]);
  console.log(`\nRequests at random times, at half of the highest rate: with none at first ${cell(half[0])}; over ${fmt(leases)} ${cell(half[1])}`);
}

const parts = { pools, lives, in_use: inUse, keys, auth, history,
  release: async () => { figures.release = await release(cluster); },
  submit: async () => { figures.submit = await submit(cluster); },
  snapshot: async () => { figures.snapshot = await snapshot(cluster); },
  hour: async () => { figures.hour = await hour(cluster); } };
try {
  const chosen = list('BENCH', Object.keys(parts).filter(name => !['snapshot', 'hour'].includes(name)).join(',')), unknown = chosen.find(name => !parts[name]);
  if (unknown)
    throw new Error(`BENCH=${unknown}: no such part; there are ${Object.keys(parts).join(', ')}`);
  figures.about = { date: new Date().toISOString(), commit: run('git', ['-C', root, 'rev-parse', '--short', 'HEAD']).trim(),
    cores: os.cpus().length, cpu: /model name\s*: (.*)/.exec(fs.readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? os.arch(),
    postgresql: sql(cluster.url, '-c', 'SHOW server_version'), seconds, rounds, ledger_ms: ledgerMs, load: os.loadavg()[0] };
  const { date, commit, cores, cpu, postgresql } = figures.about;
  console.log(`${date.slice(0, 10)}, commit ${commit}, ${cores} x ${cpu}, PostgreSQL ${postgresql}, fsync on; load generator, service, ` +
    `ledger feed and database on the same cores; ${seconds} s each; load of the machine at the beginning ${figures.about.load.toFixed(1)}`);
  for (const name of chosen)
    await parts[name]();
  if (earlier)
    ratios(figures, earlier);
  figures.goals = goals(figures, earlier, cluster.onRamDisk);
  fs.writeFileSync(path.join(root, 'build/bench.json'), `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await cluster.stop();
}
