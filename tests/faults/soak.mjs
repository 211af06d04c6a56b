// `make soak`: the storms at full size, in about 30 minutes, with a summary. Settings, from the environment:
//   STORM_SEED             repeats the faults and clients of an earlier run
//   SOAK_LEASES            it runs until this many leases were granted,
//   SOAK_SUBMISSIONS       this many were taken by POST /v1/submissions, and SOAK_CALLS of these by the one call,
//   SOAK_KILLS             and this many replicas were killed;
//   SOAK_MINUTES           when that takes longer than this, it has failed
//   SOAK_REPLICAS, SOAK_ACCOUNTS, SOAK_CLIENTS    processes, the size of the pool, and clients (by default 4 for 15 accounts)
//   SOAK_IN_USE            the share of the pool that is kept leased
//   SOAK_KEYED, SOAK_RELAYED, SOAK_CALLED    the share of requests with an Idempotency-Key, of leases that fairway sends, and of requests that are
//                          the one call
//   SOAK_THINK_MS          mean pause of a client between two requests; with SOAK_CLIENTS it sets the rate. In a pool that is too full it grows.
//   SOAK_LEDGER_MS         time between ledgers; below 1000, close times have milliseconds (protocol 30)
//   SOAK_HISTORY           settled leases in the database at the beginning
//   SOAK_GAP_MS, SOAK_DATABASE_MS, SOAK_COMMAND_MS    mean time between faults, between kills of PostgreSQL, between commands
//   SOAK_CONTESTS, SOAK_CONTEST_REPLICAS, SOAK_CONTEST_CLIENTS (per replica), SOAK_CONTEST_ACCOUNTS, SOAK_CONTEST_SECONDS
//                          contests at the end: their number, replicas, clients, accounts (fewer than clients) and duration
//   SOAK_AUTHORIZATIONS, SOAK_REQUESTS    the storm of duplicates after it: authorizations, and requests for them (0: none)
// Exit code 0: the leases, submissions and kills were reached, the pool was as full as required, accounts were scarce in each contest, and no
// rule was violated.
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { startWorld } from '../e2e/harness.mjs';
import { describe } from '../oracle/judge.mjs';
import { DUPLICATES_ACCOUNTS, duplicates } from './duplicates.mjs';
import { Storm } from './storm.mjs';

const number = (name, fallback) => Number(process.env[name] ?? fallback);
const seed = process.env.STORM_SEED ?? String(Math.floor(Math.random() * 1e9));
const goal = { leases: number('SOAK_LEASES', 50_000), submissions: number('SOAK_SUBMISSIONS', 20_000), calls: number('SOAK_CALLS', 2000),
  kills: number('SOAK_KILLS', 300), minutes: number('SOAK_MINUTES', 30) };
const processes = number('SOAK_REPLICAS', 4), accounts = number('SOAK_ACCOUNTS', 600), inUse = number('SOAK_IN_USE', 0.9);
const clients = number('SOAK_CLIENTS', Math.ceil(accounts * 4 / 15));
const ledgerMs = number('SOAK_LEDGER_MS', 1000);
const contest = { times: number('SOAK_CONTESTS', 3), replicas: number('SOAK_CONTEST_REPLICAS', 2), clients: number('SOAK_CONTEST_CLIENTS', 60),
  accounts: number('SOAK_CONTEST_ACCOUNTS', Math.round(15 * ledgerMs / 1000)), ms: number('SOAK_CONTEST_SECONDS', 30) * 1000 };
/** Allowed difference between the measured and the required share of the pool in use: 7 %. It is wrong for a while after each fault, of which a short
 *  run has few, and a batch of leases is a larger share of a small pool. */
const inUseSlack = minutes => 0.07 * Math.sqrt(Math.max(1, 5 / minutes, 600 / accounts));
/** When more than this share of a contest's requests is served in time, accounts were not scarce and the contest proves nothing. */
const SHORTAGE = 0.95;
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
const percent = share => `${(share * 100).toFixed(1)} %`;
const say = text => console.log(`soak: ${text}`);

say(`STORM_SEED=${seed}, at least ${goal.leases} leases, ${goal.submissions} submissions, ${goal.calls} of them by the one call, and ` +
  `${goal.kills} kills, at most ${goal.minutes} minutes`);
const storm = await Storm.start({ seed, processes, accounts, users: 100, inUse, leases: number('SOAK_HISTORY', 2_000_000),
  keyed: number('SOAK_KEYED', 0.8), relayed: number('SOAK_RELAYED', 0.5), called: number('SOAK_CALLED', 0.15),
  thinkMs: number('SOAK_THINK_MS', 1300), ledgerMs });
let progress, ok = false;
try {
  const { rows, seconds } = storm.oldLeases.count;
  say(`inserted ${rows} settled leases in ${seconds} s`);
  const errors = () => storm.requests.wrong.length + storm.operator.wrong.length + storm.fleet.unexpectedEnds.length;
  progress = setInterval(() => say(`${Math.round((Date.now() - storm.begun) / 1000)} s, ${storm.requests.count.leases} leases, ` +
    `${storm.requests.submissions} submissions, ${storm.fleet.kills} kills, ` +
    `${percent(storm.governor.samples.at(-1)?.share ?? 0)} of the pool in use, ${errors()} errors`), 30_000);
  storm.swarm.start(clients);
  const met = () => storm.requests.count.leases >= goal.leases && storm.requests.submissions >= goal.submissions
    && storm.requests.count.called >= goal.calls && storm.fleet.kills >= goal.kills;
  await storm.runFaults({ ms: goal.minutes * 60_000, gapMs: number('SOAK_GAP_MS', 1000), databaseMs: number('SOAK_DATABASE_MS', 60_000),
    commandMs: number('SOAK_COMMAND_MS', 2000), enough: met });
  const withoutIngestion = await storm.runWithoutIngestion();
  await storm.contest(contest);
  const v = await storm.finish();
  clearInterval(progress);
  const [[version]] = await storm.sql('SHOW server_version');
  const wrong = [...withoutIngestion, ...v.wrong], full = Math.abs(v.inUse.mean - inUse) <= inUseSlack(v.inUse.minutes);
  const short = v.contests.every(({ servedShare }) => servedShare <= SHORTAGE);
  ok = Object.keys(v.broken).length === 0 && wrong.length === 0 && v.drained && full && short && v.leases >= goal.leases
    && v.submissions.submissions >= goal.submissions && v.clients.called >= goal.calls && v.kills >= goal.kills;
  summary(v, wrong, version);
} finally {
  clearInterval(progress);
  await storm.stop();
}
const authorizations = number('SOAK_AUTHORIZATIONS', 1000), requests = number('SOAK_REQUESTS', 100_000);
if (requests > 0)
  ok = await repeat() && ok;
process.exit(ok ? 0 : 1);

/** The storm of duplicates, in a world of its own; returns whether it was right. */
async function repeat() {
  const world = await startWorld({ accounts: DUPLICATES_ACCOUNTS });
  try {
    const { answers, inclusions, kills, seconds, wrong } = await duplicates({ world, seed, processes, authorizations, requests, gapMs: 5000 });
    for (const line of wrong.slice(0, 20))
      console.log(`wrong: ${line}`);
    say(`${answers} requests for ${authorizations} authorizations under three keys each, ${processes} replicas, ${kills} kills -9: ` +
      `${inclusions} inclusions, ${wrong.length} errors; seed ${seed}, ${seconds} s: ${wrong.length === 0 ? 'ok' : 'FAILED'}`);
    return wrong.length === 0;
  } finally {
    await world.stop();
  }
}

function summary(v, wrong, version) {
  const violations = name => v.broken[name]?.length ?? 0, rest = Object.keys(v.broken).length;
  if (rest > 0)
    console.log(describe(v.broken));
  for (const line of wrong.slice(0, 20))
    console.log(`wrong: ${line}`);
  say(`settled leases ${JSON.stringify(v.results)}, terms of ingestion ${v.terms}, faults ${JSON.stringify(v.faults)}, statistics ${JSON.stringify(v.statistics)}`);
  say(`clients ${JSON.stringify(v.clients)}, 503 by code ${JSON.stringify(v.refusals)}`);
  say(`operator's commands by exit code ${JSON.stringify(v.commands)}`);
  say(`${v.oldLeases.rows} earlier leases; housekeeping had to drop ${v.oldLeases.tooOld} rows of leases, results and fee bumps, and ` +
    `${v.oldLeases.keysTooOld} keys`);
  say(`pool in use: mean ${percent(v.inUse.mean)}, which may differ from ${percent(inUse)} by ${percent(inUseSlack(v.inUse.minutes))}; ` +
    `p10 ${percent(v.inUse.p10)}, p90 ${percent(v.inUse.p90)}; by minute ` + (v.inUse.byMinute ?? []).map(percent).join(', '));
  for (const c of v.contests)
    say(`contest ${c.contest}, replica ${c.replica}: ${c.requests} requests, ${percent(c.servedShare)} served in time, ` +
      `wait p50 ${c.waitP50Ms} ms, p99 ${c.waitP99Ms} ms`);
  const s = v.submissions;
  say(`${s.submissions} submissions, ${v.clients.called} of them by the one call, ${s.included} in a ledger; a bid waited in ` +
    `${percent(s.live / s.ledgers)} of ${s.ledgers} ledgers that could have had one, and was missing in at most ${s.longest} in a row`);
  say(`${v.leases} leases, ${processes} replicas, ${v.kills} kills -9, ${v.keys.keyed} idempotency keys, ${v.keys.repeated} of them repeated, ` +
    `${percent(v.inUse.mean)} of the pool in use, after ${v.oldLeases.rows} earlier leases, a ledger every ${ledgerMs} ms: ` +
    `${violations('double lease')} double leases, ${violations('double signature')} double signatures, ` +
    `${violations('second lease for a key')} second leases for a key, ${violations('different responses to a key')} different responses to a key, ` +
    `${violations('leaked account')} leaked accounts, ${violations('early release')} early and ${violations('lost release')} lost releases, ` +
    `${violations('unrecorded signature')} unrecorded signatures, ${violations('bad sequence caused by us')} txBAD_SEQ caused by us, ` +
    `${violations('left unsent')} submissions left unsent, ${violations('included twice')} included twice, ` +
    `${violations('bid above the cap')} bids above the cap, ${violations('unfair contest')} unfair contests, ${rest} rules broken, ${wrong.length} other errors; seed ${seed}, ` +
    `${v.seconds} s, ${new Date().toISOString().slice(0, 10)}, commit ${commit}, PostgreSQL ${version}, ${os.cpus().length} cores: ` +
    `${ok ? 'ok' : 'FAILED'}`);
}
