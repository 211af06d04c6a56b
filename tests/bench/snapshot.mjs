// The part `snapshot` of the bench (DX9): a foreign transaction keeps its snapshot open, so no dead row version can be removed. What
// BENCH_SNAPSHOT_MINUTES (60) of 300 leases a second leave behind is made at full speed; after each tenth of it p99 is measured at 300 a
// second, beside a database without such a transaction.
import { spawn } from 'node:child_process';
import { measure, together } from './measure.mjs';
import { row } from './report.mjs';
import { Service, body, sql } from './setup.mjs';

const RATE = 300, POOL = 4500, CONNECTIONS = 48, STEPS = 10; // an account of the network turns over in 10 s or more
const minutes = Number(process.env.BENCH_SNAPSHOT_MINUTES ?? 60);

/** A session with a snapshot. Returns a function that ends it. */
function hold(url) {
  const session = spawn('psql', ['-X', '-q', url], { stdio: ['pipe', 'ignore', 'inherit'] });
  session.stdin.write('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n');
  return () => session.stdin.end('ROLLBACK;\n');
}

/** Pages that one statement reads, the second time in its session, in a transaction that is rolled back. jit: as in fairway's sessions. */
function pages(url, statement) {
  const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement};`;
  const out = sql(url, '-c', 'SET jit = off', '-c', 'BEGIN', '-c', explain, '-c', explain, '-c', 'ROLLBACK');
  const { Plan: plan, 'Execution Time': ms } = JSON.parse(out.slice(out.lastIndexOf('\n[') + 1))[0];
  return { pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], ms };
}

/** What has grown: pages that a claim of four accounts and a ledger's search for expired leases read, and the size of what is hot. */
function grown({ url }) {
  const claim = pages(url, "SELECT * FROM fairway.claim_accounts(4, '{}')");
  const expired = pages(url, "SELECT FROM fairway.pool_accounts WHERE lease_max_time < 1 OR lease_max_ledger IS NOT NULL");
  const [hot, dead] = sql(url, '-c', `SELECT pg_total_relation_size('fairway.channel_accounts'), n_dead_tup FROM pg_stat_user_tables
    WHERE relid = 'fairway.channel_accounts'::regclass`).split('|').map(Number);
  return { claim_pages: claim.pages, claim_ms: claim.ms, expired_pages: expired.pages, expired_ms: expired.ms, hot_mb: Math.round(hot / 2 ** 20), dead };
}

const granted = ({ url }) => Number(sql(url, '-c', 'SELECT count(*) FROM fairway.leases'));

export async function snapshot(cluster) {
  const free = await Service.start(cluster, 'free', POOL), held = await Service.start(cluster, 'held', POOL), release = hold(held.url);
  const request = body(), steady = { body: request, rate: RATE }, curve = [];
  const one = async service => {
    const m = together([await measure(service, CONNECTIONS, steady)]);
    await service.stopFeed();
    return m;
  };
  console.log(`\nUnder a foreign snapshot: ${RATE} leases a second, ${POOL} accounts. What grows is that of the held database.\n`);
  row(['minutes of leases', 'rate', 'p50 / p99 ms without', 'with', 'claim of 4: pages, ms', 'search for expired: pages, ms', 'accounts, MB', 'dead versions']);
  row(Array(8).fill('---:'));
  for (let step = 0; step <= STEPS; step++) {
    const target = step * minutes * 60 * RATE / STEPS;
    while (granted(held) < target)
      await measure(held, 64, { body: request });
    const [a, b] = step % 2 === 0 ? [await one(free), await one(held)] : [await one(held), await one(free)].reverse();
    const g = grown(held), at = Math.round(granted(held) / RATE / 60);
    curve.push({ minutes: at, free: a, held: b, ...g });
    row([at, `${Math.round(b.rate)}/s`, `${a.p50_ms.toFixed(2)} / ${a.p99_ms.toFixed(2)}`, `${b.p50_ms.toFixed(2)} / ${b.p99_ms.toFixed(2)}`,
      `${g.claim_pages}, ${g.claim_ms.toFixed(2)}`, `${g.expired_pages}, ${g.expired_ms.toFixed(2)}`, g.hot_mb, g.dead]);
  }
  release();
  await free.stop();
  await held.stop();
  return { [POOL]: curve };
}
