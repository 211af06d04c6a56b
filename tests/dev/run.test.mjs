// `make run` and `make demo` as a newcomer uses them: what is started is stopped, however it is ended; what is in the way is named; and
// nothing is said to answer that does not.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { sleep, until } from '../e2e/harness.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-run-'));
let port;

before(async () => {
  fs.chmodSync(folder, 0o755);
  port = await freePort();
});
after(async () => {
  await endAll();
  fs.rmSync(folder, { recursive: true, force: true });
});

function freePort() {
  return new Promise(resolve => {
    const server = http.createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
}

/** Every process of this machine: pid -> {parent, begun, zombie, command, environment}. */
function processes() {
  const all = new Map(), read = (pid, file) => fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    try {
      const [state, parent, ...rest] = read(pid, 'stat').replace(/^.*\) /s, '').split(' ');
      all.set(Number(pid), { parent: Number(parent), begun: rest[17], zombie: state === 'Z',
        command: read(pid, 'cmdline').replaceAll('\0', ' '), environment: read(pid, 'environ') });
    } catch { /* it has ended meanwhile, or is another user's */ }
  return all;
}

/** Those that runs in our folder have started: they have its name in their environment, or are the server in it, or a child of such a one. */
function ours() {
  const all = processes();
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
    return new Map([...ours(), ...[...before].filter(([pid, { begun }]) => all.get(pid)?.begun === begun && !all.get(pid).zombie)]);
  };
  await until(() => left().size === 0, 120_000, `${what}: everything has ended`)
    .catch(error => assert.fail(`${error.message}\n${show(left())}`));
}

/** A target of the Makefile, in a session and process group of its own, as a terminal has it. */
function make(target, settings = {}) {
  const env = Object.fromEntries(Object.entries(process.env)
    .filter(([name]) => !/^(MAKE|MFLAGS|DATABASE|RPC_URL|FAIRWAY|LISTEN|AUTH|PORT$)/.test(name)));
  const child = spawn('make', [target], { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, RUN_DIR: folder, PORT: String(port), NUM_CHANNEL_ACCOUNTS: '3', LEDGER_MS: '500', ...settings } });
  const made = { text: '', child, ended: new Promise(resolve => child.on('close', code => resolve(code))) };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (made.text += text));
  child.on('exit', () => (made.over = true));
  /** Waits until the output matches. */
  made.says = (pattern, ms = 240_000) => until(() => pattern.exec(made.text) ?? (made.over && assert.fail(`it has ended:\n${made.text}`)), ms, `${pattern}`)
    .catch(error => assert.fail(`${error.message}\n${made.text}`));
  /** To everything that a terminal signals. */
  made.signal = (...signals) => signals.forEach(signal => {
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      assert.equal(error.code, 'ESRCH'); // the first one was enough for all of them
    }
  });
  return made;
}

async function started(settings) {
  const run = make('run', settings);
  const [, url] = await run.says(/^fairway answers on (http:\S+)$/m);
  assert.equal((await fetch(`${url}/readyz`)).status, 200, `${url} answers`);
  return Object.assign(run, { url });
}

test('make demo before make run says what to do', { timeout: 120_000 }, async () => {
  const demo = make('demo');
  assert.notEqual(await demo.ended, 0);
  assert.match(demo.text, /Start it with `make run`/);
});

const endings = {
  'the terminal is closed (SIGHUP twice, and nobody reads its output)': async run => {
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
  test(`make run, make demo, and nothing is left when ${name}; the next make run works`, { timeout: 480_000 }, async () => {
    const run = await started();
    const demo = make('demo');
    assert.equal(await demo.ended, 0, demo.text);
    assert.match(demo.text, /confirmed, txFEE_BUMP_INNER_SUCCESS|confirmed, txSUCCESS/);
    const before = ours(), commands = show(before);
    for (const part of ['postgres', 'localnet/main.mjs', 'fairway serve', 'fairway-keyd', 'dev/run.sh'])
      assert.ok(commands.includes(part), `${part} runs:\n${commands}`);
    await act(run);
    await assertAllEnded(before, name);
  });

// The first of these makes a new cluster.
for (const step of ['PostgreSQL', 'local Stellar network', 'schema', '3 channel accounts', 'serve'])
  test(`Ctrl-C twice while it starts, at "${step}": nothing is left`, { timeout: 480_000 }, async () => {
    if (step === 'PostgreSQL')
      fs.rmSync(folder, { recursive: true }), fs.mkdirSync(folder, 0o755);
    const run = make('run'), delay = Math.floor(Math.random() * 200);
    await run.says(new RegExp(`^== ${step}`, 'm'));
    await sleep(delay);
    run.signal('SIGINT', 'SIGINT');
    await run.ended;
    await assertAllEnded(new Map(), `${delay} ms after "${step}"`);
  });

test('it serves, and says, the address that it was told; a second make run in the folder is refused and harms nothing', { timeout: 480_000 }, async () => {
  const run = await started({ LISTEN: '127.0.0.2' });
  assert.equal(run.url, `http://127.0.0.2:${port}`);
  const second = make('run');
  assert.notEqual(await second.ended, 0);
  assert.match(second.text, /make run: another `make run` uses \S+: process \d+\. Stop it there with Ctrl-C, or with: kill \d+/);
  assert.equal((await fetch(`${run.url}/readyz`)).status, 200);
  run.signal('SIGINT');
  await assertAllEnded(ours(), 'Ctrl-C');
});

test('a serve that does not start is said to have failed, with the end of its log', { timeout: 480_000 }, async () => {
  const run = make('run', { LISTEN: '192.0.2.1' }); // no machine has this address
  assert.notEqual(await run.ended, 0);
  assert.match(run.text, /make run: fairway serve has ended \(exit code \d+\)\. \S+serve\.log ends with:\n.*192\.0\.2\.1/);
  assert.doesNotMatch(run.text, /answers on/);
  await assertAllEnded(new Map(), 'a serve that failed');
});

test('a serve that does not get ready is said not to be', { timeout: 480_000 }, async () => {
  const run = make('run', { READY_TIMEOUT: '3' });
  await run.says(/^== serve/m);
  const serve = await until(() => [...ours()].find(([, { command }]) => /fairway serve/.test(command)), 10_000, 'serve runs');
  process.kill(serve[0], 'SIGSTOP');
  assert.notEqual(await run.ended, 0);
  assert.match(run.text, /make run: fairway (?:serve does not listen|is not ready, http:\S+\/readyz: .+)\. \S+serve\.log ends with:\n/);
  assert.doesNotMatch(run.text, /answers on/);
  await assertAllEnded(new Map(), 'a serve that is not ready');
});

test('a port in use is named with the process that has it', { timeout: 480_000 }, async () => {
  const server = http.createServer((_, response) => response.end()).listen(port, '127.0.0.1');
  const run = make('run');
  assert.notEqual(await run.ended, 0);
  server.close();
  assert.match(run.text, new RegExp(`make run: port ${port} of 127\\.0\\.0\\.1 is in use by process ${process.pid} .*\\. End that, or take another port: PORT=`));
  assert.doesNotMatch(run.text, /answers on/);
});

test('what a killed make run has left is named, and the command that ends it works', { timeout: 480_000 }, async () => {
  const run = await started();
  run.signal('SIGKILL'); // localnet and serve are in sessions of their own
  await run.ended;
  const next = make('run');
  assert.notEqual(await next.ended, 0);
  const [, ids] = /make run: an earlier `make run` that was killed has left these processes .*kill((?: \d+){2})$/ms.exec(next.text) ?? assert.fail(next.text);
  assert.match(next.text, new RegExp(`^ +\\d+ fairway serve ${run.url}$`, 'm'));
  assert.match(next.text, /^ +\d+ localnet\/main\.mjs http:\S+$/m);
  const left = ids.trim().split(' ').map(Number);
  assert.ok(left.every(pid => ours().has(pid)));
  left.forEach(pid => process.kill(pid, 'SIGTERM'));
  await until(() => left.every(pid => !ours().has(pid)), 30_000, 'they have ended');
  const third = await started(); // with the PostgreSQL that was left
  third.signal('SIGINT');
  await assertAllEnded(ours(), 'Ctrl-C');
});

test('make without a compiler says so', { timeout: 120_000 }, async () => {
  const bare = make('build', { CC: 'no-such-compiler', BUILD: path.join(folder, 'build') });
  assert.notEqual(await bare.ended, 0);
  assert.match(bare.text, /The C compiler no-such-compiler is missing\. On Debian, `make install-build` installs it/);
});

/** install.sh with programs that are links to those of the names, and scripts. */
async function install(names, scripts) {
  const bin = fs.mkdtempSync(path.join(folder, 'bin-'));
  for (const name of names)
    fs.symlinkSync((await promisedExec('sh', ['-c', `command -v ${name}`])).stdout.trim(), path.join(bin, name));
  for (const [name, text] of Object.entries(scripts))
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return promisedExec(path.join(bin, 'sh'), [path.join(root, 'tests/install.sh'), 'build'], { env: { PATH: bin } });
}
const promisedExec = (program, args, options = {}) => new Promise(resolve =>
  execFile(program, args, options, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, text: stdout + stderr })));

const nothingInstalled = { 'dpkg-query': 'exit 1', 'apt-get': 'echo "apt-get $*"' };

test('install.sh as a user without sudo names what is missing and the command for root', { timeout: 120_000 }, async () => {
  const { code, text } = await install(['sh', 'dirname', 'grep', 'cat'], { ...nothingInstalled, id: 'echo 1000' });
  assert.equal(code, 69, text);
  assert.match(text, /These packages are missing: gcc make .*libsodium-dev/);
  assert.match(text, /^ {4}apt-get update && apt-get install -y --no-install-recommends gcc make .*libsodium-dev/m);
  assert.doesNotMatch(text, /not found|^apt-get/m);
});

test('install.sh says what it is doing while apt is silent, and what failed', { timeout: 120_000 }, async () => {
  const programs = ['sh', 'dirname', 'grep', 'sed', 'mktemp', 'rm', 'cat', 'tail', 'awk', 'env', 'wc', 'tr'];
  const done = await install(programs, { ...nothingInstalled, id: 'echo 0' });
  assert.equal(done.code, 0, done.text);
  assert.match(done.text, /^installing \d+ packages by apt-get, which may take some minutes: gcc make/m);
  const failed = await install(programs, { ...nothingInstalled, id: 'echo 0', 'apt-get': 'echo "E: no network"; exit 100' });
  assert.notEqual(failed.code, 0);
  assert.match(failed.text, /E: no network/);
  assert.match(failed.text, /apt-get .*failed/);
});
