// make ha: switchovers, and kills of the leader, of a Patroni cluster under load; then a verdict. HA_FAULTS: how many, half of each (20).
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { payment, sleep, startWorld, submit, until } from '../e2e/harness.mjs';
import { PASSWORD, Patroni } from './patroni.mjs';

const FAULTS = Number(process.env.HA_FAULTS ?? 20), CLIENTS = 6, ACCOUNTS = 60, TIMEOUT_S = 30;
const say = text => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

const patroni = new Patroni(), world = await startWorld({ accounts: 0, ledgerMs: 1000 });
const leases = []; // that a client has got
let running = true, lastGrant = Date.now(), errors = 0;

/** Leases, pays and submits, again and again; every tenth lease is left to expire. */
async function client(n, services, users) {
  for (let i = 0; running; i++)
    try {
      const service = services[(n + i) % services.length];
      const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds: TIMEOUT_S });
      if (status !== 201)
        throw new Error(json.code);
      lastGrant = Date.now();
      leases.push(json);
      if (i % 10 === 9)
        continue;
      const inner = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
      inner.sign(users[0]);
      const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
      if (bumped.status === 200)
        await submit(world, bumped.json.transactionXdr);
      await sleep(100);
    } catch {
      errors++;
      await sleep(200);
    }
}

/** From a fault on: the longest time without a lease, until the cluster is whole and leases are granted again. */
async function outage(whole) {
  const begun = Date.now();
  let worst = 0, over = false;
  const done = whole().then(() => (over = true));
  while (!over || Date.now() - lastGrant > 1000) {
    worst = Math.max(worst, Date.now() - Math.max(lastGrant, begun));
    await sleep(50);
    if (Date.now() - begun > 240_000)
      throw new Error('no lease is granted any more');
  }
  await done;
  return worst;
}

async function verdict() {
  const sql = text => world.sql(text), problems = [];
  const rows = new Map((await sql(`SELECT encode(hash, 'hex'), account, result, (extract(epoch FROM granted_at) * 1000)::int8,
    (extract(epoch FROM settled_at) * 1000)::int8 FROM fairway.lease_history`)).map(([hash, ...row]) => [hash, row]));
  const forgotten = leases.filter(({ hash }) => !rows.has(hash));
  if (forgotten.length > 0)
    problems.push(`${forgotten.length} leases were answered and are not in the database: ${forgotten.slice(0, 3).map(({ hash }) => hash)}`);
  const open = [...rows.values()].filter(([, result]) => result === '');
  if (open.length > 0)
    problems.push(`${open.length} leases have not ended`);
  const byAccount = Map.groupBy([...rows.values()], ([account]) => account);
  for (const [account, own] of byAccount) {
    own.sort((a, b) => a[2] - b[2]);
    for (let i = 1; i < own.length; i++)
      if (Number(own[i][2]) < Number(own[i - 1][3]))
        problems.push(`${account} was leased twice at a time`);
  }
  const states = await sql('SELECT state, count(*) FROM fairway.channel_accounts GROUP BY 1');
  if (states.length !== 1 || states[0][0] !== 'active')
    problems.push(`accounts are ${JSON.stringify(states)}`);
  for (const [address, sequence] of await sql('SELECT public_key, sequence FROM fairway.channel_accounts'))
    if ((await world.network.getAccount(address)).sequenceNumber() !== sequence)
      problems.push(`${address} has another sequence number on the network`);
  return { problems, ends: Object.fromEntries(Map.groupBy([...rows.values()], ([, result]) => result).entries().map(([k, v]) => [k, v.length])) };
}

try {
  await patroni.start(path.join(world.folder, 'patroni'));
  const psql = (...args) => promisify(execFile)('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...args],
    { env: { ...process.env, FAIRWAY_OWNER_PASSWORD: PASSWORD, FAIRWAY_PASSWORD: PASSWORD } });
  await psql(patroni.url('superuser', 'postgres'), '-c', 'CREATE DATABASE fairway');
  await psql('-f', path.resolve(import.meta.dirname, '../../docker/roles.sql'), patroni.url('superuser'));
  Object.assign(world.env, { DATABASE_URL: patroni.url('fairway'), DATABASE_FAILOVER: 'synchronous', START_TIMEOUT: '120' });
  await world.fairway('migrate');
  await world.fairway('ensure-accounts', String(ACCOUNTS));
  const services = [await world.serve(), await world.serve()], users = [await world.newAccount(), await world.newAccount()];
  const clients = Array.from({ length: CLIENTS }, (_, n) => client(n, services, users));
  await until(() => leases.length > 50, 60_000, 'leases are granted');
  const outages = { switchover: [], kill: [] };
  for (let fault = 0; fault < FAULTS; fault++) {
    const kind = fault % 2 === 0 ? 'switchover' : 'kill', before = await patroni.whole();
    const at = leases.length;
    let ms;
    if (kind === 'switchover')
      ms = await outage(() => patroni.switchover().then(() => patroni.whole()));
    else
      ms = await outage(async () => {
        const killed = await patroni.kill();
        await until(async () => { const now = await patroni.leader(); return now && now !== killed; }, 120_000, 'another server leads');
        patroni.run(killed);
        await patroni.whole();
      });
    outages[kind].push(ms);
    say(`${fault + 1}: ${kind}, ${before} to ${await patroni.leader()}: ${(ms / 1000).toFixed(1)} s without a lease, ${leases.length - at} leases meanwhile`);
  }
  running = false;
  await Promise.all(clients);
  await until(async () => (await world.sql('SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL'))[0][0] === '0', 120_000, 'every lease ends');
  const { problems, ends } = await verdict(), held = services.some(({ log }) => /grants are on hold/.test(log));
  if (held)
    problems.push('a failover put grants on hold although commits wait for the standby');
  for (const [kind, ms] of Object.entries(outages)) {
    ms.sort((a, b) => a - b);
    say(`${kind}: ${ms.length}, median ${(ms[ms.length >> 1] / 1000).toFixed(1)} s, worst ${((ms.at(-1) ?? 0) / 1000).toFixed(1)} s without a lease`);
  }
  say(`${leases.length} leases, ${errors} errors of clients, ends ${JSON.stringify(ends)}`);
  say(problems.length === 0 ? 'ok: no lease was forgotten, none was double, and no hold was needed' : problems.join('\n'));
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  running = false;
  await patroni.stop();
  await world.stop();
}
process.exit();
