// Measures what each attack of attackers.mjs costs an honest client: `make attack`. Prints a table; exits with 1 when an
// attack (but for those that send as fast as they get replies) more than doubles the client's p99, or when one of its requests fails.
// Attackers, client, service, database and network share this machine, so run it when nothing else runs. Attackers are another client with
// another address, as in practice. They run at the lowest priority, so that only what fairway does for them takes time from others, not the
// work of making the requests.
//
// The p99 of some seconds is noisy, and the machine changes from one minute to the next. So each attack is measured in several rounds,
// always between two quiet times, and compared with these; what counts is the median of the rounds. PostgreSQL does not wait for the disk,
// whose pauses have nothing to do with the attack.
//
//   ATTACK_ROUNDS=3
//   ATTACK_SECONDS=2    for each attack in each round; a quiet time is two thirds of that
//   ATTACK_RATE=200     requests a second of an attack that sends whole requests
//   ATTACK_ONLY=JSON    attacks whose names match
//   FAIRWAY_FSYNC=on    PostgreSQL waits for the disk
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
import { attacks, loops } from './attackers.mjs';
import { startNetwork } from './network-child.mjs';

const ROUNDS = Number(process.env.ATTACK_ROUNDS ?? 3), SECONDS = Number(process.env.ATTACK_SECONDS ?? 2);
const LEASES_A_SECOND = 20, LOOKS_A_SECOND = 100;
const ACCOUNTS = 600; // more than the leases that are open at once: each takes 20 s and some ledgers
const BEGIN_MS = 700, END_MS = 300; // for an attacker's connections to open and to close
const QUIET_FLOOR_MS = 5; // below this, twice the p99 is noise of the machine
process.env.FAIRWAY_FSYNC ??= 'off'; // read by pg.sh
const names = Object.keys(attacks).filter(name => new RegExp(process.env.ATTACK_ONLY ?? '').test(name));

const attackerKey = Keypair.random();
const limited = { leases: { key: Keypair.random(), limits: { openLeases: 10 } }, requests: { key: Keypair.random(), limits: { requestsPerSecond: 100 } } };
const world = await startWorld({ accounts: ACCOUNTS, localnet: await startNetwork(1000) });
const clientsFile = path.join(world.folder, 'clients', 'clients.json');
fs.mkdirSync(path.dirname(clientsFile));
fs.writeFileSync(clientsFile, JSON.stringify(Object.fromEntries(Object.entries(limited).map(([name, { key, limits }]) =>
  [name, { keys: [key.publicKey()], limits }]))));
const service = await world.serve({ CLIENTS_FILE: clientsFile,
  CLIENT_AUTH_PUBLIC_KEYS: `${world.client.publicKey()},${attackerKey.publicKey()}` });
const signer = quickSigner(world.client);
const { hostname, port } = new URL(service.url);
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const user = await world.newAccount();
const leaseBody = JSON.stringify({ transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: 20 });

/** Sends a request over one of the honest client's connections; again when an idle connection was closed under it. */
async function ask(method, target, body) {
  const begun = performance.now();
  const headers = body && { 'content-type': 'application/json', 'content-length': body.length }, key = body && crypto.randomUUID();
  const send = () => new Promise(resolve => {
    const request = http.request({ agent, hostname, port, method, path: target, timeout: 20_000,
      headers: { ...authorization(signer, method, target, body, key), ...headers } },
    response => response.resume().on('end', () => resolve(response.statusCode)).on('error', () => resolve(0)));
    request.on('error', () => resolve(request.reusedSocket ? 'closed' : 0));
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.end(body);
  });
  let status = await send();
  for (let tries = 0; status === 'closed' && tries < 8; tries++) status = await send();
  return { status, ms: performance.now() - begun };
}

const lease = () => ask('POST', '/v1/transactions', leaseBody);
const look = () => ask('GET', '/v1/pool');

const quantile = (values, q) => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
};
const median = values => quantile(values, 0.5);
const sum = values => values.reduce((a, b) => a + b, 0);
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${service.process.pid}/status`, 'utf8'))[1]) / 1024;
const descriptors = () => fs.readdirSync(`/proc/${service.process.pid}/fd`).length;
/** CPU time of fairway and its key process, in seconds. */
const cpu = () => sum([service.process.pid, service.keydPid].map(pid => {
  const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ').slice(11, 13).map(Number);
  return (user + system) / 100;
}));
/** How many requests fairway has answered. */
const answered = async () => sum([...(await (await fetch(`${service.adminUrl}/metrics`)).text())
  .matchAll(/^fairway_http_requests_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count)));

/** The honest client works for some seconds, at a steady rate whether or not it gets answers. */
async function measure(seconds) {
  const answers = [], end = performance.now() + seconds * 1000;
  const every = (a_second, send) => setInterval(() => answers.push(send()), 1000 / a_second);
  const cpuBefore = cpu(), answeredBefore = await answered();
  const timers = [every(LEASES_A_SECOND, lease), every(LOOKS_A_SECOND, look)];
  let memory = 0, files = 0;
  while (performance.now() < end) {
    memory = Math.max(memory, rss());
    files = Math.max(files, descriptors());
    await sleep(200);
  }
  timers.forEach(clearInterval);
  const percent = (cpu() - cpuBefore) / seconds * 100, hostile = (await answered() - answeredBefore - answers.length) / seconds;
  const all = await Promise.all(answers);
  return { times: all.map(({ ms }) => ms), memory, files, percent, hostile,
    failed: all.filter(({ status }) => status !== 200 && status !== 201).length };
}

/** Measures while the attack runs. */
async function measureAttack(name) {
  const attacker = fork(path.join(import.meta.dirname, 'attackers.mjs'), [name, port],
    { env: { ...process.env, ATTACK_CLIENT: attackerKey.secret(), ATTACK_LEASES: limited.leases.key.secret(), ATTACK_REQUESTS: limited.requests.key.secret() } });
  os.setPriority(attacker.pid, Number(process.env.ATTACK_NICE ?? os.constants.priority.PRIORITY_LOW));
  await once(attacker, 'message');
  await sleep(BEGIN_MS);
  const measured = await measure(SECONDS);
  attacker.kill('SIGKILL');
  await sleep(END_MS);
  return measured;
}

const row = (name, all, ratios) => {
  const times = all.flatMap(({ times }) => times), of = key => all.map(m => m[key]);
  const p99 = median(all.map(m => quantile(m.times, 0.99)));
  console.log(`| ${name} | ${p99.toFixed(1)} | ${ratios ? median(ratios).toFixed(1) : ''} | ` +
    `${ratios ? ratios.map(r => r.toFixed(1)).join(' ') : ''} | ${sum(of('failed'))} of ${times.length} | ` +
    `${Math.max(0, median(of('hostile'))).toFixed(0)} | ${median(of('percent')).toFixed(0)} % | ${Math.max(...of('memory')).toFixed(0)} | ` +
    `${Math.max(...of('files'))} |`);
};

await measure(3); // warms up
const quiet = [await measure(SECONDS * 2 / 3)];
const measured = Object.fromEntries(names.map(name => [name, []]));
for (let round = 1; round <= ROUNDS; round++)
  for (const name of names) {
    const before = quiet.at(-1), during = await measureAttack(name), after = await measure(SECONDS * 2 / 3);
    quiet.push(after);
    during.ratio = quantile(during.times, 0.99) / Math.max(QUIET_FLOOR_MS, quantile([...before.times, ...after.times], 0.99));
    measured[name].push(during);
    console.error(`${round} of ${ROUNDS}: ${name}: p99 ${quantile(during.times, 0.99).toFixed(1)} ms, ratio ${during.ratio.toFixed(2)}`);
  }
await world.stop();

console.log('| attack | p99 ms | beside the quiet p99 | in each round | failed | hostile answers a second | CPU of fairway | MiB | descriptors |\n' +
  '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
row('none', quiet);
for (const name of names)
  row(name, measured[name], measured[name].map(({ ratio }) => ratio));
const slow = name => !loops.has(name) && median(measured[name].map(({ ratio }) => ratio)) > 2;
const bad = names.filter(name => slow(name) || measured[name].some(({ failed }) => failed > 0));
if (bad.length > 0 || quiet.some(({ failed }) => failed > 0))
  console.error(`too slow, or with failures: ${bad.join(', ') || 'quiet times'}`);
process.exit(bad.length > 0 || quiet.some(({ failed }) => failed > 0) ? 1 : 0);
