// Measures what each attack of attackers.mjs costs an honest client: `make attack`. Prints a table; exits with 1 when an attack more than
// doubles the client's p99, or when one of its requests fails. Attackers, client, service, database and network share this machine, so
// run it when nothing else runs. Attackers are another client with another address, as in practice. They run at the lowest priority, so
// that only what fairway does for them takes time from others, not the work of making the requests.
//
//   ATTACK_SECONDS=10   for each attack
//   ATTACK_RATE=200     requests a second of an attack that sends whole requests
//   ATTACK_ONLY=JSON    attacks whose names match
//   ATTACK_NICE=0       priority of attackers; when something else runs, those of the lowest priority do not get to attack
import { fork } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Keypair } from '@stellar/stellar-sdk';
import { payment, sleep, startWorld } from '../e2e/harness.mjs';
import { authorization, quickSigner } from '../e2e/token.mjs';
import { attacks } from './attackers.mjs';
import { startNetwork } from './network-child.mjs';

const SECONDS = Number(process.env.ATTACK_SECONDS ?? 10), ACCOUNTS = 500;
const LEASES_A_SECOND = 12, LOOKS_A_SECOND = 60;
const QUIET_FLOOR_MS = 5; // below this, twice the p99 is noise of the machine

const attackerKey = Keypair.random();
const world = await startWorld({ accounts: ACCOUNTS, localnet: await startNetwork(1000) });
const service = await world.serve({ CLIENT_AUTH_PUBLIC_KEYS: `${world.client.publicKey()},${attackerKey.publicKey()}` });
const signer = quickSigner(world.client);
const { hostname, port } = new URL(service.url);
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const user = await world.newAccount();

/** Sends a request over one of the honest client's connections; once more when an idle connection was closed under it. */
async function ask(method, target, body) {
  const begun = performance.now(), text = body && JSON.stringify(body);
  const key = body && { 'idempotency-key': crypto.randomUUID(), 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const send = () => new Promise(resolve => {
    const request = http.request({ agent, hostname, port, method, path: target, timeout: 20_000,
      headers: { ...authorization(signer, method, target, text), ...key } },
    response => response.resume().on('end', () => resolve(response.statusCode)).on('error', () => resolve(0)));
    request.on('error', () => resolve(request.reusedSocket ? 'closed' : 0));
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.end(text);
  });
  let status = await send();
  for (let tries = 0; status === 'closed' && tries < 8; tries++) status = await send();
  return { status, ms: performance.now() - begun };
}

const lease = () => ask('POST', '/v1/transactions', { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: 20 });
const look = () => ask('GET', '/v1/pool');

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${service.process.pid}/status`, 'utf8'))[1]) / 1024;
/** CPU time of fairway and its key process, in seconds. */
const cpu = () => [service.process.pid, service.keydPid].reduce((sum, pid) => {
  const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ').slice(11, 13).map(Number);
  return sum + (user + system) / 100;
}, 0);
/** How many requests fairway has answered. */
const answered = async () => [...(await (await fetch(`${service.adminUrl}/metrics`)).text()).matchAll(/^fairway_http_requests_total\{.*\} (\d+)$/gm)]
  .reduce((sum, [, count]) => sum + Number(count), 0);
const descriptors = () => fs.readdirSync(`/proc/${service.process.pid}/fd`).length;

/** The honest client works for some seconds, at a steady rate whether or not it gets answers. */
async function measure(seconds) {
  const answers = [], end = performance.now() + seconds * 1000;
  const every = (a_second, send) => setInterval(() => answers.push(send()), 1000 / a_second);
  const timers = [every(LEASES_A_SECOND, lease), every(LOOKS_A_SECOND, look)];
  const cpuBefore = cpu(), answeredBefore = await answered();
  let memory = 0, files = 0;
  while (performance.now() < end) {
    memory = Math.max(memory, rss());
    files = Math.max(files, descriptors());
    await sleep(200);
  }
  timers.forEach(clearInterval);
  const percent = (cpu() - cpuBefore) / seconds * 100, hostile = (await answered() - answeredBefore - answers.length) / seconds;
  const all = await Promise.all(answers), sorted = all.map(({ ms }) => ms).sort((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), count: all.length, memory, files, percent, hostile, sorted,
    failed: all.filter(({ status }) => status !== 200 && status !== 201).length };
}

const row = (name, m, quiet) => console.log(`| ${name} | ${m.p50.toFixed(1)} | ${m.p99.toFixed(1)} | ${quiet ? (m.p99 / quiet).toFixed(1) : ''} | ` +
  `${m.failed} of ${m.count} | ${Math.max(0, m.hostile).toFixed(0)} | ${m.percent.toFixed(0)} % | ${m.memory.toFixed(0)} | ${m.files} |`);

/** p99 of all quiet times so far: before each attack there is one, so that the machine's mood counts for both. */
const quietTimes = [];
async function measureQuiet(seconds) {
  const measured = await measure(seconds);
  quietTimes.push(...measured.sorted);
  return measured;
}
const quietP99 = () => quantile(quietTimes.toSorted((a, b) => a - b), 0.99);

await measure(3); // warms up
console.log('| attack | p50 ms | p99 ms | of the quiet p99 | failed | hostile answers a second | CPU of fairway | MiB | descriptors |\n' +
  '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
const quiet = await measureQuiet(SECONDS);
row('none', quiet);
let bad = quiet.failed;
for (const name of Object.keys(attacks).filter(name => new RegExp(process.env.ATTACK_ONLY ?? '').test(name))) {
  await measureQuiet(SECONDS / 2);
  const attacker = fork(path.join(import.meta.dirname, 'attackers.mjs'), [name, port],
    { env: { ...process.env, ATTACK_CLIENT: attackerKey.secret() } });
  os.setPriority(attacker.pid, Number(process.env.ATTACK_NICE ?? os.constants.priority.PRIORITY_LOW));
  await once(attacker, 'message');
  await sleep(1500); // its connections open within a second
  const measured = await measure(SECONDS);
  attacker.kill('SIGKILL');
  row(name, measured, quietP99());
  if (measured.p99 > 2 * Math.max(quietP99(), QUIET_FLOOR_MS) || measured.failed > 0) bad++;
  await sleep(1500);
}
row('none, afterwards', await measure(SECONDS), quietP99());
await world.stop();
process.exit(bad > 0 ? 1 : 0);
