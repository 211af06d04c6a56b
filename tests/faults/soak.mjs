// `make soak`: the kill storm at full size, from a seed (STORM_SEED), with a one-line summary. SOAK_LEASES, SOAK_KILLS and SOAK_MINUTES
// make it smaller or larger. Exit code 0 only when that many leases and kills were reached and every count of violations is 0.
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { describe } from '../oracle/judge.mjs';
import { Storm } from './storm.mjs';

const number = (name, fallback) => Number(process.env[name] ?? fallback);
const seed = process.env.STORM_SEED ?? String(Math.floor(Math.random() * 1e9));
const leases = number('SOAK_LEASES', 100_000), kills = number('SOAK_KILLS', 500), minutes = number('SOAK_MINUTES', 45);
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
const PROCESSES = 4, ACCOUNTS = number('SOAK_ACCOUNTS', 400), CLIENTS = number('SOAK_CLIENTS', 160);

console.log(`soak: STORM_SEED=${seed}, at least ${leases} leases and ${kills} kills, at most ${minutes} minutes`);
const storm = await Storm.start({ seed, processes: PROCESSES, accounts: ACCOUNTS, users: 100 });
let progress, ok = false;
try {
  progress = setInterval(() => console.log(`soak: ${Math.round((Date.now() - storm.begun) / 1000)} s, ` +
    `${storm.swarm.count.leases} leases, ${storm.fleet.kills} kills, ${storm.swarm.wrong.length} complaints`), 30_000);
  storm.swarm.start(CLIENTS);
  const met = () => storm.swarm.count.leases >= leases && storm.fleet.kills >= kills;
  await storm.rage({ ms: minutes * 60_000, gapMs: number('SOAK_GAP_MS', 1000), databaseMs: 60_000, enough: met });
  const dry = await storm.drought();
  const v = await storm.finish();
  clearInterval(progress);
  const [[version]] = await storm.world.sql('SHOW server_version');
  const violations = name => v.broken[name]?.length ?? 0;
  const rest = Object.keys(v.broken).length;
  if (rest > 0)
    console.log(describe(v.broken));
  for (const line of [...dry, ...v.wrong].slice(0, 20))
    console.log(`wrong: ${line}`);
  console.log(`soak: ends ${JSON.stringify(v.results)}, clients ${JSON.stringify(v.clients)}, faults ${JSON.stringify(v.faults)}`);
  ok = rest === 0 && v.wrong.length === 0 && dry.length === 0 && v.drained && v.leases >= leases && v.kills >= kills;
  console.log(`soak: ${v.leases} leases, ${PROCESSES} processes, ${v.kills} kills -9, ${violations('double lease')} double leases, ` +
    `${violations('double signature')} double signatures, ${violations('leaked account')} leaked accounts, ` +
    `${violations('early release')} early and ${violations('lost release')} lost releases, ${violations('silent signature')} silent ` +
    `signatures, ${violations('bad sequence caused by us')} txBAD_SEQ caused by us, ${rest} rules broken, ${v.wrong.length + dry.length} ` +
    `complaints; seed ${seed}, ${v.seconds} s, ${new Date().toISOString().slice(0, 10)}, commit ${commit}, PostgreSQL ${version}, ` +
    `${os.cpus().length} cores: ${ok ? 'ok' : 'FAILED'}`);
} finally {
  clearInterval(progress);
  await storm.stop();
}
process.exit(ok ? 0 : 1);
