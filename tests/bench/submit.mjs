// The part `submit` of the bench: from the commit of a submission to the arrival of its sendTransaction at the RPC, and how many submissions a
// second are reached. PostgreSQL notes when each transaction has committed (track_commit_timestamp), the RPC (release_network) when each bid has
// arrived; both by this machine's clock.
//   BENCH_SUBMIT           cases to run (default: all)
//   BENCH_SUBMIT_SECONDS   duration of the case `thousand`
import { SorobanDataBuilder, xdr } from '@stellar/stellar-sdk';
import { measure, together } from './measure.mjs';
import { cell, cpuCell, fmt, row } from './report.mjs';
import { start } from './release.mjs';
import { Service, body, sql } from './setup.mjs';

const POOL = 6000, LEDGER_S = 5;
const FREE_S = LEDGER_S + 1; // an account is free again after the next ledger, whose commit and answers take up to a second

/** In those at a rate, requests arrive at random times. */
const cases = {
  signed: { what: 'leased and signed, 100 a second', kind: 'signed', rate: 100, everyMs: 1000 * LEDGER_S },
  calls: { what: '{func, auth}, 100 a second', kind: 'calls', rate: 100, everyMs: 1000 * LEDGER_S },
  thousand: { what: '{func, auth}, 1,000 a second', kind: 'calls', rate: 1000, everyMs: 1000 * LEDGER_S,
    seconds: Number(process.env.BENCH_SUBMIT_SECONDS ?? 15) },
  far: { what: '{func, auth}, 100 a second, with an RPC that needs 50 ms', kind: 'calls', rate: 100, everyMs: 1000 * LEDGER_S, rpcMs: 50 },
  most_lives: { what: 'lease, signature, submission; 128 connections', kind: 'lives_submitted' },
  most_calls: { what: '{func, auth}; 128 connections', kind: 'calls' },
  far_most: { what: '{func, auth}; 128 connections, with an RPC that needs 50 ms', kind: 'calls', rpcMs: 50 },
};

/** What a simulation answers: one entry is read and written. */
const resources = () => new SorobanDataBuilder()
  .setFootprint([], [xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: Buffer.alloc(32) }))])
  .setResources(1_000_000, 1000, 1000).setResourceFee(1000).build().toXDR('base64');

/** {p50_ms, p99_ms, unsent} from commit to arrival of the bids committed since then, Unix time in us. */
function sending(service, network, since) {
  const arrived = new Map(network.lines().filter(([what]) => what === 'sent').map(([, hash, us]) => [hash, Number(us)]).reverse()); // the first of each
  const commits = sql(service.url, '-c', `SELECT encode(hash, 'hex') || ' ' || at FROM fairway.fee_bumps,
    LATERAL (SELECT (1000000 * extract(epoch FROM pg_xact_commit_timestamp(xmin)))::bigint AS at) commit WHERE at >= ${since}`);
  const times = commits.split('\n').map(line => line.split(' ')).map(([hash, us]) => (arrived.get(hash) - us) / 1000);
  const sent = times.filter(ms => !isNaN(ms)).sort((a, b) => a - b);
  return { p50_ms: sent[Math.floor(sent.length / 2)], p99_ms: sent[Math.floor(sent.length * 0.99)], unsent: times.length - sent.length };
}

/** Runs these cases on a service whose RPC needs rpcMs for each answer. */
async function run(cluster, rpcMs, names, results) {
  let network;
  const service = await Service.start(cluster, `submit_${rpcMs}`, POOL, { everyMs: 150,
    network: async url => (network = await start(cluster, url, 0, 0, 0, { BENCH_RESOURCES: resources(), BENCH_RPC_MS: String(rpcMs) })).url });
  service.rpcPid = network.pid;
  for (const name of names) {
    const { what, ...one } = cases[name], since = 1000 * Date.now();
    const answers = together([await measure(service, one.rate ? 256 : 128, { body: body(), ...one })]), sent = sending(service, network, since);
    results[name] = { ...answers, sent, pool: Math.ceil(answers.rate * FREE_S) };
    row([what, cell(answers), `${sent.p50_ms.toFixed(1)} / ${sent.p99_ms.toFixed(1)}`, sent.unsent, fmt(results[name].pool), cpuCell(answers)]);
  }
  await service.stop();
  await network.stop();
}

export async function submit(cluster) {
  const chosen = process.env.BENCH_SUBMIT?.split(',') ?? Object.keys(cases), results = {};
  cluster.set('track_commit_timestamp = on');
  console.log(`\nSubmissions, a pool of ${fmt(POOL)}; p50 / p99 in ms. A ledger every ${LEDGER_S} s, every 150 ms over 128 connections.\n`);
  row(['submissions', 'answers', 'from commit to sendTransaction', 'never sent', `accounts that this needs with ledgers of ${LEDGER_S} s`,
    'CPU us an answer: PostgreSQL (of that ledgers) / fairway / keyd; load generator / feed and RPC']);
  row(['---', ...Array(5).fill('---:')]);
  for (const rpcMs of [0, 50]) {
    const names = Object.keys(cases).filter(name => chosen.includes(name) && (cases[name].rpcMs ?? 0) === rpcMs);
    if (names.length > 0)
      await run(cluster, rpcMs, names, results);
  }
  return results;
}
