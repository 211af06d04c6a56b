// The part `hour` of the bench: BENCH_HOUR_MINUTES (60) of BENCH_HOUR_RATE (600) leases a second, at random times, of BENCH_HOUR_POOL (20,000)
// accounts. A network (release_network) closes a ledger every 5 s with all open leases and 400 other transactions, and the service commits them itself. What
// must not grow is printed for each tenth of the time: memory, the table of accounts, the time that a ledger's commit takes.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../e2e/harness.mjs';
import { fmt, row } from './report.mjs';
import { rssMb, start } from './release.mjs';
import { Service, body, build, sql } from './setup.mjs';

const rate = Number(process.env.BENCH_HOUR_RATE ?? 600), pool = Number(process.env.BENCH_HOUR_POOL ?? 20_000);
const minutes = Number(process.env.BENCH_HOUR_MINUTES ?? 60);
const EVERY_MS = 5000, TRANSACTIONS = EVERY_MS / 1000 * rate + 400, STEPS = 10, CONNECTIONS = 256;

const childOf = pid => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);

/** How many ledgers the service has committed, and how long that took from the RPC's answers on. */
async function commits(admin) {
  const text = await (await fetch(`${admin}/metrics`)).text();
  const value = name => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1]);
  return { ledgers: value('fairway_ledger_answer_seconds_count'), seconds: value('fairway_ledger_answer_seconds_sum') };
}

/** Sizes in bytes, and the row versions of the table of accounts that are dead. */
const grown = url => sql(url, '-c', `SELECT pg_table_size('fairway.channel_accounts'), pg_indexes_size('fairway.channel_accounts'), n_dead_tup,
  (SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL), pg_database_size(current_database())
  FROM pg_stat_user_tables WHERE relid = 'fairway.channel_accounts'::regclass`).split('|').map(Number);

export async function hour(cluster) {
  let network;
  const service = await Service.start(cluster, 'hour', pool, { network: async url => (network = await start(cluster, url, EVERY_MS, TRANSACTIONS, 0)).url,
    env: { LEDGER_SECONDS: '5' } });
  const admin = /admin listening on (\S+)/.exec(service.process.text)[1], keyd = childOf(service.process.pid), steps = [];
  console.log(`\n${fmt(rate)} leases a second, ${fmt(pool)} accounts, ${minutes} minutes. Sizes in MB; the time from the RPC's answer with a ledger to its commit.\n`);
  row(['minutes', 'answers', 'refused', 'p50 / p99 ms', 'fairway / keyd, MB', 'accounts: table / indexes, MB', 'dead versions', 'open leases', 'ledgers', 'ms a ledger', 'database, MB']);
  row(Array(11).fill('---:'));
  for (let step = 1; step <= STEPS; step++) {
    const before = await commits(admin), out = path.join(cluster.folder, 'load');
    const load = cluster.start(`${build}/tests/bench/open_load`, [`${service.api}/v1/transactions`, String(rate), String(minutes * 60 / STEPS), String(CONNECTIONS)],
      { BENCH_BODY: body(), BENCH_RUN: '' }, out);
    let memory = 0, keydMemory = 0;
    for (let ended = false; !ended; ended = await Promise.race([load.ended.then(() => true), sleep(1000)])) {
      memory = Math.max(memory, rssMb(service.process.pid));
      keydMemory = Math.max(keydMemory, rssMb(keyd));
    }
    const b = JSON.parse(/^BENCH (.*)$/m.exec(fs.readFileSync(out, 'utf8'))[1]), after = await commits(admin);
    const [table, indexes, dead, open, database] = grown(service.url), ledgers = after.ledgers - before.ledgers;
    const one = { minutes: step * minutes / STEPS, answers: b.good, refused: b.refused + b.errors, p50_ms: b.p50us / 1000, p99_ms: b.p99us / 1000, rss_mb: memory,
      keyd_mb: keydMemory, table_mb: table / 1e6, indexes_mb: indexes / 1e6, dead, open, ledgers, ms_a_ledger: (after.seconds - before.seconds) / ledgers * 1000,
      database_mb: database / 1e6 };
    steps.push(one);
    row([one.minutes, fmt(one.answers), one.refused, `${one.p50_ms.toFixed(2)} / ${one.p99_ms.toFixed(2)}`, `${one.rss_mb.toFixed(1)} / ${one.keyd_mb.toFixed(1)}`,
      `${one.table_mb.toFixed(1)} / ${one.indexes_mb.toFixed(1)}`, dead, open, ledgers, one.ms_a_ledger.toFixed(1), fmt(one.database_mb)]);
  }
  await until(() => grown(service.url)[3] === 0, 30_000, 'every lease has ended');
  const ended = sql(service.url, '-c', 'SELECT count(*) FROM fairway.lease_results'), granted = sql(service.url, '-c', 'SELECT count(*) FROM fairway.leases');
  console.log(`\n${fmt(granted)} leases granted, ${fmt(ended)} ended.`);
  await service.stop();
  await network.stop();
  return { steps, granted: Number(granted), ended: Number(ended) };
}
