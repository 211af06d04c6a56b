// `make bench`: signed responses a second over HTTP. PostgreSQL runs with fsync on; load generator, service, ledger feed and database share
// one machine. Prints the tables of the README and the goals beside what was reached, and writes the same figures to build/bench.json.
//   BENCH            parts to run: pools, lives, in_use, keys, auth, history (default: these), snapshot (see snapshot.mjs)
//   BENCH_SECONDS    duration of each measurement;  BENCH_ROUNDS: how often compared cases alternate
//   BENCH_POOLS, BENCH_IN_USE_POOLS, BENCH_IN_USE    pool sizes, and percentages of a pool that are in use
//   BENCH_HISTORY    settled leases in the part `history`;  BENCH_LEDGER_MS: time between ledgers
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { measure, together } from './measure.mjs';
import { snapshot } from './snapshot.mjs';
import { Cluster, Service, body, build, ledgerMs, root, run, sql } from './setup.mjs';

const list = (name, fallback) => (process.env[name] ?? fallback).split(',');
const seconds = Number(process.env.BENCH_SECONDS ?? 8), rounds = Number(process.env.BENCH_ROUNDS ?? 2);
const connections = [1, 32, 128];
const KEY = 'Idempotency-Key', NO_KEY = 'X-Other-Header'; // so that the load generator does the same work
const cluster = new Cluster();
const figures = {};

const fmt = n => Math.round(n).toLocaleString('en-US');
const cell = m => `${fmt(m.rate)}/s, ${m.p50_ms.toFixed(2)} / ${m.p99_ms.toFixed(2)} ms${m.refused ? `, ${m.refused} refused` : ''}`;
const cpuCell = ({ cpu_us: c }) => `${c.postgres} (${c.ledgers}) / ${c.fairway} / ${c.keyd}; ${c.generator} / ${c.feed}`;
const CPU = ['CPU us an answer at 1: PostgreSQL (of that ledgers) / fairway / keyd; load generator / feed', 'at 128'];
const cpuCells = by => [cpuCell(by[1]), cpuCell(by[128])];
const row = cells => console.log(`| ${cells.join(' | ')} |`);
function table(title, first, last) {
  console.log(`\n${title}\n`);
  const head = [...first, ...connections.map(c => `${c} connection${c === 1 ? '' : 's'}`), ...last];
  row(head);
  row(head.map(() => '---:'));
}
/** Maps {1: together, 32: ..., 128: ...} to the names in build/bench.json. */
const named = by => Object.assign({}, ...Object.entries(by).map(([c, m]) => ({ [`rate${c}`]: m.rate, [`p50_ms${c}`]: m.p50_ms,
  [`p99_ms${c}`]: m.p99_ms, [`refused${c}`]: m.refused, [`wal_bytes${c}`]: m.wal_bytes, [`cpu_us${c}`]: m.cpu_us })));

/** Cases alternate at each number of connections, in the opposite order each time. Each case: {service, kind, header, random, key, pauseMs,
 * before(), after()}. Returns {number of connections: together} for each case. */
async function compare(cases, times = rounds, counts = connections) {
  const request = body(), taken = cases.map(() => ({}));
  for (let round = 0; round < times; round++) {
    const order = cases.map((_, i) => round % 2 === 0 ? i : cases.length - 1 - i);
    for (const i of order) {
      await cases[i].before?.();
      const { service, kind, header, random, key, pauseMs } = cases[i];
      for (const c of counts)
        (taken[i][c] ??= []).push(await measure(service, c, { kind, body: request, header, random, key, pauseMs }));
      await cases[i].after?.();
    }
  }
  return taken.map(by => Object.fromEntries(Object.entries(by).map(([c, m]) => [c, together(m)])));
}

/** Measures the cycle of the system that fairway replaces: three statements with a commit each. {rate, ms} for a number of clients. */
function plain(pool, database = `plain_${pool}`) {
  const url = cluster.database(database), pgbench = path.join(run('pg_config', ['--bindir']).trim(), 'pgbench');
  sql(url, '-v', `accounts=${pool}`, '-f', path.join(root, 'tests/bench/plain.sql'));
  const one = clients => {
    const out = run(pgbench, ['-n', '-M', 'prepared', '-T', String(seconds), '-c', String(clients), '-j', '2',
      '-f', path.join(root, 'tests/bench/plain.pgbench'), url]);
    return { rate: Number(/tps = ([\d.]+)/.exec(out)[1]), ms: Number(/latency average = ([\d.]+) ms/.exec(out)[1]) };
  };
  return { 1: one(1), 32: one(32) };
}

/** Each ledger looks at every account, and closes here up to 100 times as often as on a network. In a larger pool they close less often, so that
 * this takes the same part of the time; as many accounts can become idle in a second. */
const everyMs = pool => Math.round(ledgerMs * Math.max(1, pool / 2000));

async function pools() {
  table(`Beside the plain statements of the system that fairway replaces; p50 / p99. A ledger every ${everyMs(2000)} ms, ${everyMs(10000)} ms at 10,000 accounts.`, ['pool', 'plain, 1 client', 'plain, 32 clients'],
    ['128 / plain best', ...CPU]);
  figures.pools = {};
  for (const pool of list('BENCH_POOLS', '100,2000,10000,20000').map(Number)) {
    const p = plain(pool), best = Math.max(p[1].rate, p[32].rate), service = await Service.start(cluster, `fairway_${pool}`, pool, { everyMs: everyMs(pool) });
    const [by] = await compare([{ service }], 1);
    await service.stop();
    figures.pools[pool] = { plain_best: best, plain_rate1: p[1].rate, plain_rate32: p[32].rate, plain_mean_ms: p[1].ms,
      lone_p50_ms: by[1].p50_ms, cpu_us: by[128].cpu_us, ...named(by) };
    row([fmt(pool), `${fmt(p[1].rate)}/s, mean ${p[1].ms.toFixed(2)} ms`, `${fmt(p[32].rate)}/s`, ...connections.map(c => cell(by[c])),
      (by[128].rate / best).toFixed(1), ...cpuCells(by)]);
    const hot = sql(service.url, '-c', "SELECT round(100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1), 1) FROM pg_stat_user_tables WHERE relname = 'channel_accounts'");
    console.error(`# pool ${pool}: ${hot} % HOT updates of channel_accounts`);
  }
}

/** The mean pause of each of 128 connections before a request, in milliseconds, at which they reach half of the rate that was measured. */
const halfOf = ({ rate, p50_ms }) => 128e3 / (rate / 2) - p50_ms / 2;

/** What surrounds a lease: fee bumps alone, whole lives (lease, user's signature, fee bump; each life is two requests), half of the load. */
async function lives() {
  const pool = 2000, p = plain(pool, 'plain_lives'), best = Math.max(p[1].rate, p[32].rate), service = await Service.start(cluster, 'lives', pool);
  table(`Fee bumps and whole lives (lease, user's signature, fee bump), a pool of ${fmt(pool)}; p50 / p99 of one request.`, ['what'],
    ['128 / plain best', ...CPU]);
  const all = await compare(['leases', 'bumps', 'lives'].map(kind => ({ service, kind })));
  const [leases, bumps, whole] = all, top = leases[128];
  const half = together([await measure(service, 128, { body: body(), pauseMs: halfOf(top) })]);
  await service.stop();
  for (const [i, what] of ['leases', 'fee bumps', 'lives'].entries())
    row([what, ...connections.map(c => cell(all[i][c])), (all[i][128].rate / best).toFixed(1), ...cpuCells(all[i])]);
  console.log(`\nAt ${Math.round(100 * half.rate / top.rate)} % of the highest rate of leases: ${cell(half)}`);
  figures.lives = { [pool]: { plain_best: best, leases: named(leases), bumps: named(bumps), lives: named(whole),
    half: { rate: half.rate, p50_ms: half.p50_ms, p99_ms: half.p99_ms, cpu_us: half.cpu_us } } };
  Object.assign((figures.pools ??= {})[pool] ??= {}, { bumps128: bumps[128].rate, lives128: whole[128].rate });
}

async function inUse() {
  const shares = list('BENCH_IN_USE', '10,80,95,99').map(Number);
  table('A pool in use; p50 / p99. The rate cannot be higher than the idle accounts times the ledgers a second.',
    ['pool', 'in use', 'at most'], ['128, beside the first row', ...CPU]);
  figures.in_use = {};
  for (const pool of list('BENCH_IN_USE_POOLS', '2000,20000').map(Number)) {
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
    'a token and a key each': { service: guarded, key: 'header' },
  };
  const all = await compare(Object.values(cases).map(one => ({ ...one, kind: 'authenticated', after: () => one.service.stopFeed() })));
  await open.stop();
  await guarded.stop();
  figures.auth = { [pool]: Object.fromEntries(Object.keys(cases).map((what, i) => [what, named(all[i])])) };
  Object.keys(cases).forEach((what, i) => row([what, ...connections.map(c => cell(all[i][c])), `${Math.round(100 * all[i][128].rate / all[0][128].rate)} %`,
    ...cpuCells(all[i])]));
}

async function history() {
  const pool = 2000, leases = Number(process.env.BENCH_HISTORY ?? 1_000_000);
  const young = await Service.start(cluster, 'young', pool), old = await Service.start(cluster, 'old', pool);
  old.seedHistory(leases);
  table(`Over settled leases of 7 days, a fresh ${KEY} with each request, a pool of ${fmt(pool)}; p50 / p99.`, ['settled leases'],
    [...CPU, 'WAL bytes an answer at 32', 'at 128']);
  const one = (service, random) => ({ service, header: KEY, random, after: () => service.stopFeed() }); // no ledgers for the service that is not being measured
  const [none, some, random] = await compare([one(young), one(old), one(old, true)]);
  const pauseMs = halfOf(none[128]);
  const half = (await compare([{ ...one(young), pauseMs }, { ...one(old), pauseMs }], rounds, [128])).map(by => by[128]);
  await young.stop();
  await old.stop();
  figures.history = { [pool]: { 0: named(none), [leases]: named(some), random_keys: named(random) } };
  half.forEach((m, i) => { figures.history[pool][i === 0 ? 0 : leases].half = m; });
  for (const [what, by] of [['0 at first', none], [fmt(leases), some], [`${fmt(leases)}, random keys`, random]])
    row([what, ...connections.map(c => cell(by[c])), ...cpuCells(by), fmt(by[32].wal_bytes), fmt(by[128].wal_bytes)]);
  console.log(`\nAt half of the highest rate, 128 connections: with none at first ${cell(half[0])}; over ${fmt(leases)} ${cell(half[1])}`);
}

/** The goals whose parts have run, beside what was reached. */
function goals() {
  const { pools: p = {}, lives: l = {}, in_use: u = {}, keys: k = {}, history: h = {} } = figures, rows = [];
  const goal = (what, wanted, reached, met) => rows.push([what, wanted, reached, met ? 'yes' : '**no**']);
  const times = (what, wanted, ratio) => goal(what, `${wanted} x plain best`, `${ratio.toFixed(1)} x`, ratio >= wanted);
  const within = (what, percent, rate, of) => goal(what, `within ${percent} %`, `${(100 * rate / of - 100).toFixed(1)} %`, rate >= of * (1 - percent / 100));
  for (const [pool, wanted] of [[2000, 5], [10000, 20]])
    if (p[pool]?.rate128)
      times(`leases at 128 connections, ${fmt(pool)} accounts`, wanted, p[pool].rate128 / p[pool].plain_best);
  for (const [pool, m] of Object.entries(p))
    if (m.lone_p50_ms)
      goal(`a lone request's p50, ${fmt(pool)} accounts`, `under ${m.plain_mean_ms.toFixed(2)} ms, plain's mean`, `${m.lone_p50_ms.toFixed(2)} ms`, m.lone_p50_ms < m.plain_mean_ms);
  for (const { plain_best: best, leases, bumps, lives: whole, half } of Object.values(l)) {
    goal('fee bumps at 128 connections', `${fmt(leases.rate128)}/s, as leases`, `${fmt(bumps.rate128)}/s`, bumps.rate128 >= leases.rate128);
    times('whole lives at 128 connections', 3, whole.rate128 / best);
    goal('p99 at half of the highest rate', 'under 20 ms', `${half.p99_ms.toFixed(1)} ms`, half.p99_ms < 20);
  }
  for (const [pool, shares] of Object.entries(u))
    for (const share of ['80', '95'].filter(share => shares[share] && shares['10'])) {
      const most = pool * (1 - share / 100) * 1000 / ledgerMs, ten = shares['10'].rate128;
      within(`${share} % of ${fmt(pool)} accounts in use, beside ${most < ten ? `the ${fmt(most)}/s that become idle` : '10 %'}`, 20, shares[share].rate128,
        Math.min(ten, most));
    }
  for (const { without, with: keyed } of Object.values(k))
    within('with keys, beside without', 20, keyed.rate128, without.rate128);
  for (const { 0: none, random_keys: random, ...others } of Object.values(h))
    for (const [leases, m] of Object.entries(others)) {
      const over = `over ${fmt(leases)} settled leases, beside none`;
      within(`rate at 128 connections ${over}`, 20, m.rate128, none.rate128);
      const longer = (what, ms, beside) => goal(`${what} ${over}`, `at most ${(1.1 * beside).toFixed(2)} ms, 10 % more`, `${ms.toFixed(2)} ms`, ms <= 1.1 * beside);
      for (const time of ['p50', 'p99']) {
        for (const c of connections)
          longer(`${time} at ${c} connection${c === 1 ? '' : 's'}`, m[`${time}_ms${c}`], none[`${time}_ms${c}`]);
        longer(`${time} at half of the highest rate`, m.half[`${time}_ms`], none.half[`${time}_ms`]);
      }
    }
  if (rows.length > 0) {
    console.log('\nGoals\n');
    [['goal', 'wanted', 'reached', 'met'], ['---', '---:', '---:', '---'], ...rows].forEach(row);
  }
  figures.goals = rows.map(([what, wanted, reached, met]) => ({ what, wanted, reached, met: met === 'yes' }));
}

const parts = { pools, lives, in_use: inUse, keys, auth, history,
  snapshot: async () => { figures.snapshot = await snapshot(cluster, row); } };
try {
  const chosen = list('BENCH', Object.keys(parts).filter(name => name !== 'snapshot').join(',')), unknown = chosen.find(name => !parts[name]);
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
  goals();
  fs.writeFileSync(path.join(root, 'build/bench.json'), `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await cluster.stop();
}
