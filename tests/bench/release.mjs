// The part `release` of the bench: from the moment at which the RPC has a ledger to the answer of `?wait=` in the client's hands, for leases that
// the ledger ends. A network (release_network) closes ledgers of a given size with all open leases in them; clients (release_clients) lease, wait,
// and lease again. And how fast ledgers are caught up with that the RPC already has.
//   BENCH_RELEASE           cases to run (default: all)
//   BENCH_RELEASE_SECONDS   duration of each, at least eight ledgers;  BENCH_RELEASE_CLIENTS: leases in a ledger;  BENCH_RELEASE_BEHIND: ledgers to catch up with
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../e2e/harness.mjs';
import { processTime } from './measure.mjs';
import { fmt, row } from './report.mjs';
import { Service, body, build, passphrase, sql } from './setup.mjs';

const seconds = Number(process.env.BENCH_RELEASE_SECONDS ?? 20), clients = Number(process.env.BENCH_RELEASE_CLIENTS ?? 1000);
const behind = Number(process.env.BENCH_RELEASE_BEHIND ?? 300);
const SKIPPED = 3; // ledgers at the beginning: their times are not known yet
const TODAY = 400; // transactions of others in a ledger of today's size

/** Clients lease again up to pauseMs after their answer. */
const cases = {
  today: { what: "ledgers of today's size, every 5 s", everyMs: 5000, transactions: clients + TODAY, pauseMs: 3000 },
  large: { what: '6,000 transactions every second', everyMs: 1000, transactions: 6000, pauseMs: 200 },
  fast: { what: '6,000 transactions every 600 ms', everyMs: 600, transactions: 6000, pauseMs: 50 },
};

/** Starts a network on a database and returns {url, lines(): the words of each line that it has printed, stop()}. */
export async function start(cluster, url, everyMs, transactions, ahead, env = {}) {
  const printed = path.join(cluster.folder, 'network');
  const network = cluster.start(`${build}/tests/bench/release_network`, [url, passphrase, String(everyMs), String(transactions), String(ahead)], env, printed);
  const lines = () => fs.readFileSync(printed, 'utf8').split('\n').slice(0, -1);
  await until(() => lines().length > 0, 60_000, `the network's RPC: ${network.text}`);
  return { url: lines()[0], pid: network.pid, lines: () => lines().slice(1).map(line => line.split(' ')),
    stop: async () => { network.kill('SIGKILL'); await network.ended; } };
}

export const rssMb = pid => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

async function measure(cluster, name, { what, everyMs, transactions, pauseMs }) {
  const lasts = Math.max(seconds, 8 * everyMs / 1000);
  let network;
  const service = await Service.start(cluster, `release_${name}`, 3 * clients, {
    network: async url => (network = await start(cluster, url, everyMs, transactions, 0)).url,
    env: { MAX_CONNECTIONS: String(4 * clients + 100), LEDGER_SECONDS: String(Math.max(1, everyMs / 1000)) } });
  const pid = service.process.pid, before = processTime(pid).us, rss = [];
  const out = path.join(cluster.folder, 'arrivals');
  const load = cluster.start(`${build}/tests/bench/release_clients`, [service.api, String(clients), String(lasts), String(pauseMs)], { BENCH_BODY: body() }, out);
  for (let ended = false; !ended; ended = await Promise.race([load.ended.then(() => true), sleep(250)]))
    rss.push(rssMb(pid));
  const ledgers = network.lines().map(words => words.map(Number)), cpu = processTime(pid).us - before;
  await service.stop();
  await network.stop();
  const lines = fs.readFileSync(out, 'utf8').split('\n').slice(0, -1), others = Number(lines.pop().split(' ')[1]);
  const last = {}, times = [];
  const closed = Object.fromEntries(ledgers.map(([sequence, us]) => [sequence, us])), first = ledgers[0][0] + SKIPPED;
  for (const [ledger, us] of lines.map(line => line.split(' ').map(Number)).filter(([ledger]) => ledger >= first)) {
    last[ledger] = Math.max(last[ledger] ?? 0, us - closed[ledger]);
    times.push((us - closed[ledger]) / 1000);
  }
  times.sort((a, b) => a - b);
  const used = ledgers.filter(([sequence]) => last[sequence]), at = share => times[Math.floor(times.length * share)];
  const mean = place => used.reduce((sum, ledger) => sum + ledger[place], 0) / used.length, third = Math.ceil(rss.length / 3);
  if (used.length === 0)
    throw new Error(`${what}: no answer. ${service.process.text}`);
  const result = { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: times.at(-1), answers: times.length, others, ledgers: used.length,
    leases_a_ledger: Math.round(mean(2)), mb_a_ledger: mean(3) / 1e6, behind: used.filter(([sequence]) => last[sequence] > 1000 * everyMs).length,
    rss_mb: [Math.max(...rss.slice(0, third)), Math.max(...rss.slice(-third))], cpu_ms_a_ledger: cpu / 1000 / ledgers.length };
  row([what, ...['p50_ms', 'p99_ms', 'max_ms'].map(time => fmt(result[time])), fmt(times.length), result.ledgers, result.leases_a_ledger,
    result.mb_a_ledger.toFixed(1), result.behind, result.rss_mb.map(fmt).join(', '), fmt(result.cpu_ms_a_ledger)]);
  return result;
}

/** Ledgers a second, from the first to the last commit. */
async function catchUp(cluster) {
  let network;
  const service = await Service.start(cluster, 'release_catch_up', 100, { network: async url => (network = await start(cluster, url, 0, TODAY, behind)).url });
  const cursor = () => Number(sql(service.url, '-c', 'SELECT sequence FROM fairway.cursor')), seen = [];
  const total = Number(sql(service.url, '-c', 'SELECT min(sequence) FROM fairway.ledgers')) + behind;
  await until(() => seen.push([performance.now(), cursor()]) && seen.at(-1)[1] === total, 120_000, `${behind} ledgers: ${service.process.text}`);
  await service.stop();
  await network.stop();
  const [since, from] = seen.find(([, sequence]) => sequence > total - behind), [now] = seen.at(-1);
  const rate = (total - from) / (now - since) * 1000;
  console.log(`\nCatching up with ${fmt(behind)} ledgers of ${TODAY} transactions: ${fmt(rate)} a second.`);
  return { rate };
}

export async function release(cluster) {
  const chosen = process.env.BENCH_RELEASE?.split(',') ?? [...Object.keys(cases), 'catch_up'], results = {};
  console.log(`\nFrom the RPC's ledger to the client's answer, ${fmt(clients)} clients, ${seconds} s each or eight ledgers. Times in ms; CPU of fairway without its key process.\n`);
  row(['ledgers', 'p50', 'p99', 'max', 'answers', 'ledgers', 'leases a ledger', 'MB a ledger', 'behind', 'RSS, MB: first third, last', 'CPU, ms a ledger']);
  row(['---', ...Array(10).fill('---:')]);
  for (const name of Object.keys(cases).filter(name => chosen.includes(name)))
    results[name] = await measure(cluster, name, cases[name]);
  if (chosen.includes('catch_up'))
    results.catch_up = await catchUp(cluster);
  return results;
}
