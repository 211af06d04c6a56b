// `make run` and `make demo` as a newcomer uses them: a run stops what it started, however it ends; it names conflicting processes before
// it starts anything; and it reports that it is ready only when it is.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { freePort, portIsFree, sleep, until } from '../e2e/harness.mjs';
import { authorization } from '../e2e/token.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-run-'));
let port;

before(async () => {
  fs.chmodSync(folder, 0o755);
  do // for PORT, and 1000 above it for ADMIN_PORT
    port = await freePort();
  while (!await portIsFree(port + 1000));
});
after(async () => {
  await endAll();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** Every process of this machine: pid -> {parent, begun, zombie, command, environment}. */
function processes() {
  const all = new Map(), read = (pid, file) => fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    try {
      const [state, parent, ...rest] = read(pid, 'stat').replace(/^.*\) /s, '').split(' ');
      all.set(Number(pid), { parent: Number(parent), begun: rest[17], zombie: state === 'Z',
        command: read(pid, 'cmdline').replaceAll('\0', ' '), environment: read(pid, 'environ') });
    } catch { /* it has ended, or is another user's */ }
  return all;
}

/** The processes started by runs in our folder: those with its name in their environment, its PostgreSQL server, and their children. */
function ours(all = processes()) {
  const file = path.join(folder, 'postgres/data/postmaster.pid');
  const server = fs.existsSync(file) && Number(fs.readFileSync(file, 'utf8').split('\n')[0]);
  const isOurs = (pid, { parent, environment }) => pid === server || environment.split('\0').includes(`RUN_DIR=${folder}`) ||
    (all.has(parent) && isOurs(parent, all.get(parent)));
  return new Map([...all].filter(([pid, process]) => !process.zombie && isOurs(pid, process)));
}

const show = found => [...found].map(([pid, { command }]) => `${pid} ${command}`).join('\n');

async function endAll() {
  for (let tries = 0; ours().size > 0 && tries < 100; tries++) {
    for (const pid of ours().keys())
      try {
        process.kill(pid, 'SIGKILL');
      } catch { /* ended */ }
    await sleep(50);
  }
}

async function assertAllEnded(before, what) {
  const left = () => {
    const all = processes();
    return new Map([...ours(all), ...[...before].filter(([pid, { begun }]) => all.get(pid)?.begun === begun && !all.get(pid).zombie)]);
  };
  await until(() => left().size === 0, 120_000, `${what}: everything has ended`)
    .catch(error => assert.fail(`${error.message}\n${show(left())}`));
}

/** Runs a target of the Makefile. */
const make = (target, settings) => launch(['make', target], settings);
/** Runs what `make run` runs after it has installed and built what is missing, which takes longer than a start. */
const runScript = settings => launch(['sh', 'tests/dev/run.sh'], { BUILD: process.env.BUILD ?? 'build/release', ...settings });

/** Runs a command in its own session and process group, as a terminal does. */
function launch([program, ...args], settings) {
  const env = Object.fromEntries(Object.entries(process.env)
    .filter(([name]) => !/^(MAKE|MFLAGS|DATABASE|RPC_URL|FAIRWAY|LISTEN|AUTH|CLIENT|PORT$)/.test(name)));
  const child = spawn(program, args, { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, RUN_DIR: folder, PORT: String(port), NUM_CHANNEL_ACCOUNTS: '3', LEDGER_MS: '500', ...settings } });
  const made = { text: '', child, ended: new Promise(resolve => child.on('close', code => resolve(code))) };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (made.text += text));
  child.on('exit', () => (made.over = true));
  /** Waits until the output matches. */
  made.says = (pattern, ms = 240_000) => until(() => pattern.exec(made.text) ?? (made.over && assert.fail(`it has ended:\n${made.text}`)), ms, `${pattern}`)
    .catch(error => assert.fail(`${error.message}\n${made.text}`));
  /** Sends signals as a terminal does: to the whole group. */
  made.signal = (...signals) => signals.forEach(signal => {
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      assert.equal(error.code, 'ESRCH'); // the first signal ended all of them
    }
  });
  return made;
}

async function started(made = runScript()) {
  const [, url] = await made.says(/^fairway is ready on (http:\S+)$/m);
  assert.equal((await fetch(`${url}/readyz`)).status, 200, `${url} is ready`);
  return Object.assign(made, { url });
}

test('make demo without make run names the command to run first', { timeout: 600_000 }, async () => {
  const demo = make('demo');
  assert.notEqual(await demo.ended, 0);
  assert.match(demo.text, /fairway is not running\. Run `make run` first/);
});

const endings = {
  'the terminal is closed (SIGHUP twice, output closed)': async run => {
    run.child.stdout.destroy();
    run.child.stderr.destroy();
    run.signal('SIGHUP', 'SIGHUP');
  },
  'Ctrl-C': async run => run.signal('SIGINT'),
  'Ctrl-C twice': async run => run.signal('SIGINT', 'SIGINT'),
  'Ctrl-C, and again while it stops': async run => {
    for (let i = 0; i < 10; i++) {
      run.signal('SIGINT');
      await sleep(30);
    }
  },
};
for (const [name, act] of Object.entries(endings))
  test(`make run and make demo work, and all processes end after: ${name}`, { timeout: 600_000 }, async () => {
    const run = await started(make('run'));
    assert.match(run.text, new RegExp(`^    RUN_DIR=${folder} make demo$`, 'm'));
    const [, page] = await run.says(/^How the service is: the page (http:\S+\/status), or \S+fairway status$/m);
    assert.equal((await fetch(page)).status, 200);
    const demo = make('demo');
    assert.equal(await demo.ended, 0, demo.text);
    assert.match(demo.text, /confirmed, txFEE_BUMP_INNER_SUCCESS|confirmed, txSUCCESS/);
    const before = ours(), commands = show(before);
    for (const part of ['postgres', 'localnet/main.mjs', 'fairway serve', 'fairway-keyd', 'dev/run.sh'])
      assert.ok(commands.includes(part), `${part} runs:\n${commands}`);
    await act(run);
    await assertAllEnded(before, name);
  });

// The first of these creates a new PostgreSQL cluster.
for (const step of ['PostgreSQL', 'local Stellar network', 'schema', '3 channel accounts', 'serve'])
  test(`Ctrl-C twice during the start, at "${step}", ends all processes`, { timeout: 600_000 }, async () => {
    if (step === 'PostgreSQL')
      fs.rmSync(folder, { recursive: true }), fs.mkdirSync(folder, 0o755);
    const run = runScript(), delay = Math.floor(Math.random() * 200);
    await run.says(new RegExp(`^== ${step}`, 'm'));
    await sleep(delay);
    run.signal('SIGINT', 'SIGINT');
    await run.ended;
    await assertAllEnded(new Map(), `${delay} ms after "${step}"`);
  });

test('make run prints its settings first, and serves on the address in LISTEN', { timeout: 600_000 }, async () => {
  const run = await started(runScript({ LISTEN: '127.0.0.2' }));
  assert.equal(run.url, `http://127.0.0.2:${port}`);
  const settings = run.text.slice(run.text.indexOf('== settings'), run.text.indexOf('== PostgreSQL'));
  assert.match(settings, /^== settings; to change one: PORT=8002 make run$/m);
  for (const line of [`PORT=${port} +port of the API on 127\\.0\\.0\\.2`, 'NUM_CHANNEL_ACCOUNTS=3 +size of the pool', 'LEDGER_MS=500 +milliseconds',
    `RUN_DIR=${folder} +folder`, `DATABASE_URL +not set: .* ${folder}/postgres$`, `RPC_URL +not set: .* ${folder}/localnet$`])
    assert.match(settings, new RegExp(`^ +${line}`, 'm'));
  run.signal('SIGINT');
  await assertAllEnded(ours(), 'Ctrl-C');
});

test('of two make run in one folder, started together, one is refused and the other is not affected', { timeout: 600_000 }, async () => {
  const other = String(await freePort());
  const runs = [runScript(), runScript({ PORT: other, ADMIN_PORT: '0' })];
  const code = await Promise.race(runs.map(({ ended }) => ended));
  const refused = runs.find(({ over }) => over), run = runs.find(made => made !== refused);
  assert.notEqual(code, 0);
  assert.match(refused.text, /make run: another `make run` uses \S+\/: process \d+\. Stop it there with Ctrl-C, or with: kill \d+$/m);
  assert.match(refused.text, /^To run a second one beside it: RUN_DIR=\S+ PORT=\d+ make run$/m);
  const [, url] = await run.says(/^fairway is ready on (http:\S+)$/m);
  await sleep(1000);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  const client = Keypair.fromSecret(fs.readFileSync(path.join(folder, 'client.seed'), 'utf8').trim());
  assert.equal((await fetch(`${url}/v1/pool`)).status, 401, 'requests are authenticated');
  assert.equal((await fetch(`${url}/v1/pool`, { headers: authorization(client, 'GET', '/v1/pool') })).status, 200, 'its database runs');
  run.signal('SIGINT');
  await assertAllEnded(ours(), 'Ctrl-C');
});

test('make run names a DATABASE_URL and an RPC_URL from the environment, and how to start afresh when they do not belong together',
  { timeout: 600_000 }, async () => {
    const run = await started();
    const other = await startLocalnet({ port: 0, ledgerMs: 500, passphrase: 'Another Network' });
    try {
      const server = new URL(fs.readFileSync(path.join(folder, 'postgres/url'), 'utf8').trim());
      server.pathname = '/fairway';
      const named = `postgresql://superuser@${server.host}/fairway`;
      const second = runScript({ RUN_DIR: `${folder}-2`, PORT: String(await freePort()), DATABASE_URL: server.href, RPC_URL: `${other.url}/?key=secret` });
      assert.notEqual(await second.ended, 0);
      assert.ok(second.text.includes(`found in the environment: creates or upgrades fairway's tables in ${named}\n`), second.text);
      assert.ok(second.text.includes(`found in the environment: uses the network of ${other.url}\n`), second.text);
      assert.ok(second.text.includes(`make run: ${named} belongs to the network "Standalone Network ; February 2017", but the network of ` +
        'RPC_URL is "Another Network".\nSet RPC_URL to that network, or DATABASE_URL to a new database'), second.text);
      assert.ok(!second.text.includes(server.password) && !second.text.includes('secret'), second.text);
      assert.doesNotMatch(second.text, /^== schema/m);
      run.signal('SIGINT');
      await assertAllEnded(ours(), 'Ctrl-C');

      const moved = runScript({ RPC_URL: other.url });
      assert.notEqual(await moved.ended, 0);
      assert.match(moved.text, new RegExp(`^To keep both, use another folder: RUN_DIR=${folder}-2 make run\nTo start afresh, .*: rm -r ${folder}`, 'm'));
      await assertAllEnded(ours(), 'a network of another passphrase');
    } finally {
      await other.close();
      fs.rmSync(`${folder}-2`, { recursive: true, force: true });
    }
    fs.rmSync(path.join(folder, 'localnet'), { recursive: true });
    const reset = runScript({ LEDGER_MS: '60000' });
    assert.notEqual(await reset.ended, 0);
    const [, command] = /the local network in \S+ is new and at ledger \d+\.\nTo keep both, .*\nTo start afresh, .*: (rm -r .*)$/m.exec(reset.text) ?? assert.fail(reset.text);
    await assertAllEnded(ours(), 'a new local network');
    assert.equal((await promisedExec('sh', ['-c', command])).code, 0);
    fs.mkdirSync(folder, 0o755);
    const afresh = await started();
    afresh.signal('SIGINT');
    await assertAllEnded(ours(), 'Ctrl-C');
  });

test('a serve that does not start is reported, with the end of its log', { timeout: 600_000 }, async () => {
  const run = runScript({ LISTEN: '192.0.2.1' }); // no machine has this address
  assert.notEqual(await run.ended, 0);
  assert.match(run.text, /make run: fairway serve has ended \(exit code \d+\)\. The end of \S+serve\.log:\n(?:time=.*\n)*time=.* level=error .*192\.0\.2\.1/);
  assert.doesNotMatch(run.text, /ready on/);
  await assertAllEnded(new Map(), 'a serve that failed');
});

test('a local network that has ended is reported, with the end of its log, and ends make run', { timeout: 600_000 }, async () => {
  const run = await started(), before = ours();
  const [localnet] = [...before].find(([, { command }]) => command.includes('localnet/main.mjs'));
  process.kill(localnet, 'SIGKILL');
  assert.equal(await run.ended, 69);
  assert.match(run.text, /make run: the local network has ended \(exit code 137\)\. The end of \S+localnet\.log:\nlocalnet listening on/);
  await assertAllEnded(before, 'the local network');
});

test('the folder of a second make run keeps its keys out of git and out of images', () => {
  for (const [file, ignored] of [['.gitignore', '/run-*/'], ['.dockerignore', 'run-*']])
    assert.ok(fs.readFileSync(path.join(root, file), 'utf8').split('\n').includes(ignored), file);
});

test('a serve that does not become ready is reported', { timeout: 600_000 }, async () => {
  let run;
  for (let isReady = true; isReady;) {
    run = runScript({ READY_TIMEOUT: '3' });
    await run.says(/^== serve/m);
    const [serve] = await until(() => [...ours()].find(([, { command }]) => /fairway serve/.test(command)), 10_000, 'serve runs');
    process.kill(serve, 'SIGSTOP');
    await until(() => run.over || /ready on/.test(run.text), 60_000, 'make run has given up');
    isReady = !run.over; // serve was ready before we stopped it
    run.signal('SIGINT');
    await run.ended;
  }
  assert.notEqual(await run.ended, 0);
  assert.match(run.text, /make run: fairway (?:serve does not listen|is not ready, http:\S+\/readyz: .+)\. The end of \S+serve\.log:\n/);
  assert.doesNotMatch(run.text, /ready on/);
  await assertAllEnded(new Map(), 'a serve that is not ready');
});

for (const [setting, taken] of [['PORT', () => port], ['ADMIN_PORT', () => port + 1000]])
  test(`${setting} in use: make run names the process before it starts anything`, { timeout: 600_000 }, async () => {
    const server = http.createServer((_, response) => response.end()).listen(taken(), '127.0.0.1');
    await new Promise((listening, failed) => server.on('listening', listening).on('error', failed));
    const run = runScript();
    assert.notEqual(await run.ended, 0);
    server.close();
    assert.match(run.text, new RegExp(`make run: port ${taken()} of 127\\.0\\.0\\.1 \\(${setting}\\) is in use by process ${process.pid} .*\\. ` +
      `End that process, or use another port: ${setting}=\\d+ make run`));
    assert.doesNotMatch(run.text, /^== (?!settings)/m);
  });

test('make run refuses settings that are not numbers', { timeout: 600_000 }, async () => {
  const run = runScript({ LEDGER_MS: '2s' });
  assert.notEqual(await run.ended, 0);
  assert.match(run.text, /make run: LEDGER_MS must be a number, not "2s"/);
});

test('processes left by a killed make run are named, and the command to end them works', { timeout: 600_000 }, async () => {
  const run = await started();
  run.signal('SIGKILL'); // localnet and serve run in their own sessions and stay
  await run.ended;
  const next = runScript();
  assert.notEqual(await next.ended, 0);
  const [, ids] = /make run: an earlier `make run` was killed and left these processes .*kill((?: \d+){2})$/ms.exec(next.text) ?? assert.fail(next.text);
  assert.match(next.text, new RegExp(`^ +\\d+ fairway serve ${run.url}$`, 'm'));
  assert.match(next.text, /^ +\d+ localnet\/main\.mjs http:\S+$/m);
  const left = ids.trim().split(' ').map(Number);
  assert.ok(left.every(pid => ours().has(pid)));
  left.forEach(pid => process.kill(pid, 'SIGTERM'));
  await until(() => left.every(pid => !ours().has(pid)), 30_000, 'they have ended');
  const third = await started(); // with the PostgreSQL server that was left
  third.signal('SIGINT');
  await assertAllEnded(ours(), 'Ctrl-C');
});

test('make without a compiler names the missing compiler', { timeout: 600_000 }, async () => {
  const bare = make('build', { CC: 'no-such-compiler', BUILD: path.join(folder, 'build') });
  assert.notEqual(await bare.ended, 0);
  assert.match(bare.text, /The C compiler no-such-compiler is missing\. On Debian, `make install-build` installs it/);
});

/** Runs install.sh with a PATH that has only these programs (links to the real ones) and scripts. */
async function install(names, scripts, target = 'build') {
  const bin = fs.mkdtempSync(path.join(folder, 'bin-'));
  for (const name of names)
    fs.symlinkSync((await promisedExec('sh', ['-c', `command -v ${name}`])).stdout.trim(), path.join(bin, name));
  for (const [name, text] of Object.entries(scripts))
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return promisedExec(path.join(bin, 'sh'), [path.join(root, 'tests/install.sh'), target], { env: { PATH: bin } });
}
const promisedExec = (program, args, options = {}) => new Promise(resolve =>
  execFile(program, args, options, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, text: stdout + stderr })));

const nothingInstalled = { 'dpkg-query': 'exit 1', 'apt-get': 'echo "apt-get $*"' };

test('install.sh as a user without sudo names what is missing and the command for root', { timeout: 600_000 }, async () => {
  const { code, text } = await install(['sh', 'dirname', 'grep', 'cat'], { ...nothingInstalled, id: 'echo 1000' });
  assert.equal(code, 69, text);
  assert.match(text, /These packages are missing: gcc make .*libsodium-dev/);
  assert.match(text, /^ {4}apt-get update && apt-get install -y --no-install-recommends gcc make .*libsodium-dev/m);
  assert.doesNotMatch(text, /not found|^apt-get/m);
});

test('install.sh prints its progress while apt is silent, waits for another apt, and names what failed', { timeout: 600_000 }, async () => {
  const programs = ['sh', 'dirname', 'grep', 'sed', 'mktemp', 'rm', 'cat', 'tail', 'awk', 'env', 'wc', 'tr'];
  const locked = 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7';
  const done = await install(programs, { ...nothingInstalled, id: 'echo 0', sleep: ': >"${0%/*}/waited"',
    'apt-get': `[ -e "\${0%/*}/waited" ] || { echo '${locked}'; exit 100; }` });
  assert.equal(done.code, 0, done.text);
  assert.match(done.text, /^installing \d+ packages by apt-get, which may take some minutes: gcc make/m);
  assert.ok(done.text.includes(`    waiting: ${locked.slice(3)}\n`), done.text);
  const failed = await install(programs, { ...nothingInstalled, id: 'echo 0', 'apt-get': 'echo "E: no network"; exit 100' });
  assert.notEqual(failed.code, 0);
  assert.match(failed.text, /E: no network/);
  assert.match(failed.text, /apt-get update failed/);
  const npm = await install(programs, { 'dpkg-query': 'echo install ok installed', cmp: 'exit 1', npm: 'echo E404; exit 1' }, 'run');
  assert.equal(npm.code, 69, npm.text);
  assert.match(npm.text, /E404\ninstall\.sh: npm ci, of the packages in tests\/package-lock\.json, failed/);
});
