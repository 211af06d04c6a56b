// The command line: refused arguments, help, versions, and the error message for each wrong setting at the start of a command.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Service, fairway, freePort, sleep, slower, startWorld, until } from './harness.mjs';

const ACCOUNTS = 3;
const TIMEOUT = { timeout: 600_000 };
const psql = (url, text) => promisify(execFile)('psql', ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', url, '-c', text]);
let world;
const services = [];

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  world.env.START_TIMEOUT = '120';
});
after(async () => {
  for (const service of services)
    await service.kill('SIGKILL');
  await world?.stop();
});

/** {code, out, error, ms} of a command, whatever its exit code. */
async function run(args, env = {}, base = world.env) {
  const begun = Date.now();
  const child = spawn(fairway, args, { env: { ...base, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '', error = '';
  child.stdout.on('data', data => (out += data));
  child.stderr.on('data', data => (error += data));
  const limit = setTimeout(() => child.kill('SIGKILL'), slower(60_000));
  const code = await new Promise(resolve => child.on('close', resolve));
  clearTimeout(limit);
  return { code, out, error, ms: Date.now() - begun };
}

function serve(env) {
  const service = new Service({ ...world.env, ...env }, world.client);
  services.push(service);
  return service;
}

/** Asserts that the start ends with this exit code and this message, well before START_TIMEOUT. */
async function refused(env, code, words, args = ['serve'], base = world.env) {
  const ended = await run(args, env, base);
  assert.equal(ended.code, code, ended.error);
  assert.match(ended.error, words);
  assert.ok(ended.ms < 60_000, `after ${ended.ms} ms:\n${ended.error}`);
}

for (const [args, words] of [
  [['migrate', 'status'], /fairway migrate: unexpected argument 1\nusage: fairway migrate\n/],
  [['serve', 'now'], /unexpected argument 1\n/],
  [['locks', 'please'], /unexpected argument 1\n/],
  [['keygen', 'one', 'two'], /unexpected argument 2\nusage: fairway keygen FILE\n/],
  [['keygen'], /give the FILE/],
  [['hold', 'the volume', 'was copied'], /unexpected argument 2\n/],
  [['hold'], /give the reason, in quotes\nusage: fairway hold REASON\n/],
  [['hold', ''], /give the reason/],
  [['ensure-accounts', '3', '4'], /unexpected argument 2\n/],
  [['ensure-accounts', '--dry-run=maybe', '3'], /DRY_RUN must be on or off/],
  [['accounts', 'mend', 'G'], /unexpected argument 1\nusage: fairway accounts\n +fairway accounts release ACCOUNT/],
  [['accounts', 'release'], /release needs at least one ACCOUNT/],
  [['accounts', 'retire', 'G123'], /"G123" is not an account address/],
  [['migrate', '--port', '1'], /unknown option --port/],
  [['migrate', '--database-url', 'postgresql://owner:word@db/x'], /^fairway migrate: DATABASE_URL is no flag, because every user of this machine can read a command line(?!.*word@)/],
  [['provide'], /unknown command "provide"/],
])
  test(`refused: fairway ${args.join(' ')}`, TIMEOUT, async () => {
    const file = path.join(world.folder, 'one');
    const { code, out, error } = await run(args.map(text => text === 'one' ? file : text));
    assert.equal(code, 64, out + error);
    assert.match(error, words);
    assert.equal(out, '');
    assert.ok(!fs.existsSync(file), 'nothing was done');
  });

test('fairway --version names version, commit and the newest protocol that it knows', TIMEOUT, async () => {
  const { code, out } = await run(['--version']);
  assert.equal(code, 0);
  const [, known] = /PROTOCOL_KNOWN (\d+)/.exec(fs.readFileSync(new URL('../../include/xdr/types.h', import.meta.url), 'utf8'));
  assert.match(out, new RegExp(`^fairway \\d+\\.\\d+\\.\\d+ \\(commit [^ ,]+, protocol ${known}\\)\\n$`));
});

const optionsOf = text => [...text.matchAll(/^ {2}(?:--([a-z-]+)|([A-Z_]+))/gm)].map(found => found[1] ?? found[2]);

test('serve has no more options and threads than tests/lint/budgets allows', TIMEOUT, async t => {
  const budgets = fs.readFileSync(new URL('../lint/budgets', import.meta.url), 'utf8');
  const compare = async (figure, what) => {
    const limit = Number(new RegExp(`^(\\d+) ${what} \\(tests/e2e/commands\\)$`, 'm').exec(budgets)[1]);
    await until(() => figure() <= limit, 5000, `${what}: ${figure()}, at most ${limit}`); // a connection that is being made has one more
    t.diagnostic(`${what}: ${limit - figure()} below the limit`);
  };
  const help = (await run(['serve', '--help'])).out, url = world.env.RPC_URL;
  await compare(() => optionsOf(help).length, 'options of serve');
  for (const [RPC_URL, what] of [[url, 'threads of serve'], [`${url},${url.replace('127.0.0.1', 'localhost')}`, 'threads of serve with two RPCs']]) {
    const service = serve({ RPC_URL });
    await service.ready();
    await compare(() => fs.readdirSync(`/proc/${service.process.pid}/task`).length, what);
    await service.kill();
  }
});

test('the help of a command shows its usage and the options that it reads', TIMEOUT, async () => {
  const { out: all } = await run(['--help']);
  for (const [command, first, has, lacks] of [
    ['migrate', 'usage: fairway migrate\n', ['DATABASE_URL', 'start-timeout'], ['port', 'RPC_URL', 'MASTER_KEY_FILE', 'state']],
    ['accounts', 'usage: fairway accounts\n', ['RPC_URL', 'MASTER_KEY_FILE'], ['port', 'auth', 'dry-run']],
    ['hold', 'usage: fairway hold REASON\n', ['ledger-seconds'], ['RPC_URL', 'port']],
    ['ensure-accounts', 'usage: fairway ensure-accounts [--dry-run] [N]\n', ['dry-run', 'num-channel-accounts'], ['port']],
    ['serve', 'usage: fairway serve\n', ['port', 'auth', 'lease-retention-days', 'MASTER_KEY_FILE'], ['dry-run', 'state']],
    ['locks', 'usage: fairway locks\n', ['DATABASE_URL'], ['start-timeout', 'RPC_URL']],
    ['keygen', 'usage: fairway keygen FILE\n', ['log-level'], ['DATABASE_URL']],
  ]) {
    const { code, out } = await run([command, '--help'], {}, { PATH: process.env.PATH });
    assert.equal(code, 0);
    assert.ok(out.startsWith(first), out);
    const options = optionsOf(out);
    for (const name of has)
      assert.ok(options.includes(name), `${command} --help has ${name}:\n${out}`);
    for (const name of lacks)
      assert.ok(!options.includes(name), `${command} --help lacks ${name}`);
    for (const name of options)
      assert.ok(optionsOf(all).includes(name), `--help has ${name} of ${command}`);
  }
});

test('docker/options.md has what --help prints', TIMEOUT, async () => {
  const { code, out } = await run(['--help']);
  assert.equal(code, 0);
  const [, options] = /```\n([^]*)```\n$/.exec(fs.readFileSync(new URL('../../docker/options.md', import.meta.url), 'utf8'));
  assert.ok(out.includes(`overrides the variable.\n\n${options}\nExit codes: `), out);
});

test('LOG_LEVEL is accepted in upper and lower case, and TRACE means debug', TIMEOUT, async () => {
  for (const level of ['TRACE', 'Debug', 'INFO', 'warn'])
    assert.equal((await run(['migrate'], { LOG_LEVEL: level })).code, 0);
  await refused({ LOG_LEVEL: 'loud' }, 78, /LOG_LEVEL must be debug, info, warn or error, not "loud"/, ['migrate']);
});

test('LOG_FORMAT is logfmt or json', TIMEOUT, async () => {
  await refused({ LOG_FORMAT: 'xml' }, 78, /LOG_FORMAT must be logfmt or json, not "xml"/, ['migrate']);
});

test('with LOG_FORMAT=json every line of the log is an object, that of the key process too', TIMEOUT, async () => {
  const service = serve({ LOG_FORMAT: 'json', LOG_LEVEL: 'debug' });
  let log = '';
  service.process.stderr.on('data', text => (log += text));
  await service.ready();
  assert.equal((await fetch(`${service.url}/v1/%22%5C"x`)).status, 404);
  const objects = () => log.split('\n').slice(0, -1).map(line => JSON.parse(line));
  const missing = () => objects().find(({ msg, status }) => msg === 'request' && status === 404);
  await until(missing, 10_000, 'the request is logged');
  assert.ok(objects().some(({ msg }) => msg === 'started'));
  for (const { time, level, msg } of objects()) {
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(level, /^(debug|info|warn|error)$/);
    assert.ok(msg.length > 0);
  }
  assert.deepEqual([missing().method, typeof missing().ms, typeof missing().request_id], ['GET', 'number', 'string']);
  // The key process logs nothing while all is well. One with the same command line, but other descriptors, receives nonsense.
  const fds = { socket: 3, 'master-key': 4, 'distribution-seed': 5 };
  const files = ['MASTER_KEY_FILE', 'DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE'].map(name => fs.openSync(world.env[name]));
  const [, ...args] = fs.readFileSync(`/proc/${service.keydPid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  const same = args.map(arg => arg.replace(/\b(socket|master-key|distribution-seed)=\d+/g, (_, name) => `${name}=${fds[name]}`));
  const keyd = spawn(`${fairway}-keyd`, same, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...files] });
  files.forEach(fd => fs.closeSync(fd));
  let error = '';
  keyd.stderr.setEncoding('utf8').on('data', text => (error += text));
  keyd.stdio[3].on('error', () => {}).end('this is no message of the key process\n'.repeat(20));
  await new Promise(resolve => keyd.on('close', resolve));
  assert.match(error, /^\{.*\}\n$/);
  assert.equal(JSON.parse(error).msg, 'protocol violation; the key process exits');
  await service.kill();
  assert.ok(objects().length > 0, 'and while it stops');
});

test('a variable whose name is almost an option is named at start, without its value', TIMEOUT, async () => {
  const { code, error } = await run(['migrate'], { LOG_LEVLE: 'secret', MASTER_KEY_FIEL: 'secret', HTTP_PROXY: 'x', PGHOST: 'x', FAIRWAY_PORT: 'x', NUM_CHANNEL_ACCOUNTS: '3',
    RPC_URL_FILE: '', DATABASE_URL_FILE: '' });
  assert.equal(code, 0, error);
  assert.deepEqual([...error.matchAll(/level=warn msg="an environment variable is no option[^"]*" (.*)/g)].map(([, fields]) => fields),
    ['variable="LOG_LEVLE" option=LOG_LEVEL', 'variable="MASTER_KEY_FIEL" option=MASTER_KEY_FILE']);
  assert.doesNotMatch(error, /secret/);
  const usual = await run(['migrate'], {}, { ...process.env, ...world.env });
  assert.doesNotMatch(usual.error, /is no option/);
});

test('ensure-accounts prints what it will do, and --dry-run does nothing', TIMEOUT, async () => {
  const states = () => world.sql('SELECT state, count(*) FROM fairway.channel_accounts GROUP BY 1 ORDER BY 1');
  const before = await states();
  const { MASTER_KEY_FILE, RPC_URL, ...databaseAlone } = world.env;
  const fewer = await run(['ensure-accounts', '--dry-run', '1'], {}, databaseAlone);
  assert.equal(fewer.code, 0, fewer.error);
  assert.match(fewer.out, /^3 channel accounts are active as of ledger \d+, 1 are wanted: 2 will be retired and merged into the distribution account/);
  const more = await run(['ensure-accounts', '5', '--dry-run']);
  assert.match(more.out, /5 are wanted: 2 will be created/);
  assert.deepEqual(await states(), before);
  const same = await run(['ensure-accounts', String(ACCOUNTS)]);
  assert.equal(same.code, 0, same.error);
  assert.match(same.out, /3 are wanted: none will be created or retired\n3 channel accounts active\n$/);
  const bare = await run(['ensure-accounts'], { NUM_CHANNEL_ACCOUNTS: '1' });
  assert.match(bare.out, /^3 channel accounts are active as of ledger \d+, more than NUM_CHANNEL_ACCOUNTS: fairway ensure-accounts 1 would retire 2\n3 channel accounts active\n$/, bare.out + bare.error);
});

test('hold prints its end', TIMEOUT, async () => {
  const { code, out } = await run(['hold', '--ledger-seconds', '600ms', 'the volume was copied']);
  assert.equal(code, 0);
  assert.match(out, /^no lease is granted until a ledger has closed after 20\d\d-\S+Z \(\d+\)\n$/);
  await world.sql('UPDATE fairway.cursor SET held_until = NULL, hold_reason = NULL');
});

test('a login that the server refuses ends the start at once, with the reason', TIMEOUT, async () => {
  const url = new URL(world.env.DATABASE_URL);
  const password = new URL(url), role = new URL(url), database = new URL(url);
  password.password = 'wrong';
  role.username = 'nobody_has_this_name';
  database.pathname = '/not_there';
  for (const args of [['serve'], ['migrate'], ['accounts'], ['locks'], ['resume']]) {
    await refused({ DATABASE_URL: password.href }, 78, /DATABASE_URL: the server refuses the password \(SQLSTATE 28P01\)/, args);
    await refused({ DATABASE_URL: database.href }, 78, /DATABASE_URL: the server has no such database \(SQLSTATE 3D000\)/, args);
  }
  await refused({ DATABASE_URL: role.href }, 78, /DATABASE_URL: the server (refuses the password|does not admit this user)/);
});

test('a parameter of the URL that libpq does not know is named', TIMEOUT, async () => {
  for (const name of ['search_path', 'pool_max_conns'])
    await refused({ DATABASE_URL: `${world.env.DATABASE_URL}?sslmode=prefer&${name}=x` }, 78, new RegExp(`parameter \\\\?"${name}`));
  const { error } = await run(['serve'], { DATABASE_URL: 'postgresql://user:pass?word=1@127.0.0.1/x', START_TIMEOUT: '1' });
  assert.doesNotMatch(error, /word=|"word/);
});

test('a master key file that is a directory, empty or not set has an error of its own', TIMEOUT, async () => {
  const empty = path.join(world.folder, 'empty');
  fs.writeFileSync(empty, '', { mode: 0o600 });
  await refused({ MASTER_KEY_FILE: world.folder }, 78, /MASTER_KEY_FILE: \S+ is a directory, not a file/);
  await refused({ MASTER_KEY_FILE: empty }, 78, /MASTER_KEY_FILE: \S+ is empty/);
  await refused({ MASTER_KEY_FILE: '' }, 78, /no master key: set MASTER_KEY_FILE/);
  await refused({ DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: '' }, 78, /no distribution account: set DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE/);
});

test('an RPC whose answer is not HTTP is waited for, like one that is unavailable', TIMEOUT, async () => {
  const server = net.createServer(socket => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.6\r\n')).listen(0, '127.0.0.1');
  await new Promise(resolve => server.on('listening', resolve));
  await refused({ RPC_URL: `http://127.0.0.1:${server.address().port}`, START_TIMEOUT: '2' }, 69,
    /cannot start yet; retrying.* the server of RPC_URL does not answer in HTTP/, ['ensure-accounts', '1']);
  server.close();
  const { port } = new URL(world.env.DATABASE_URL);
  const { code, error } = await run(['ensure-accounts', '1'], { RPC_URL: `http://127.0.0.1:${port}`, START_TIMEOUT: '2' });
  assert.equal(code, 69, error);
  assert.match(error, /the server of RPC_URL closed the connection without an answer/);
});

test('serve logs its settings once, without secrets, and warns of a small pool; SIGHUP does not end it', TIMEOUT, async () => {
  const secret = fs.readFileSync(world.env.DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, 'utf8');
  const { DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, ...rest } = world.env;
  const service = new Service({ ...rest, DISTRIBUTION_ACCOUNT_PRIVATE_KEY: secret, NUM_CHANNEL_ACCOUNTS: '4',
    DATABASE_URL: world.superuser }, world.client);
  services.push(service);
  await service.ready();
  const lines = service.log.split('\n').filter(line => line.includes('msg="started"'));
  assert.equal(lines.length, 1, service.log);
  assert.match(lines[0], /version=\d+\.\d+\.\d+ commit=\S+ network="/);
  assert.ok(lines[0].includes(`network="${world.passphrase}"`), lines[0]);
  assert.match(lines[0], / active_accounts=3 options="/);
  for (const option of [`CLIENT_AUTH_PUBLIC_KEYS=${world.client.publicKey()}`, 'LEDGER_SECONDS=1', 'DATABASE_URL=(set)', 'NUM_CHANNEL_ACCOUNTS=4'])
    assert.ok(lines[0].includes(option), lines[0]);
  assert.doesNotMatch(lines[0], /MAX_FEE|MASTER_KEY|PRIVATE_KEY/);
  assert.ok(!service.log.includes(secret) && !service.log.includes(new URL(world.env.DATABASE_URL).password));
  assert.match(service.log, /level=warn msg="fewer channel accounts are active than NUM_CHANNEL_ACCOUNTS[^"]*" active=3 NUM_CHANNEL_ACCOUNTS=4/);
  assert.equal(service.log.split('the database role owns the schema or may write its tables').length, 2, 'one warning of a superuser');
  service.process.kill('SIGHUP');
  await until(() => /msg="clients read again" keys=1 reason=SIGHUP/.test(service.log), 5000, 'it reads the clients again');
  assert.equal((await service.get('/livez')).status, 200);
  assert.deepEqual(await service.kill(), { code: 0, signal: null });
});

/** Starts PgBouncer in front of the world's PostgreSQL and returns its URL, or null where there is none. */
async function startPooler(t, mode) {
  const folder = fs.mkdtempSync(path.join(world.folder, 'pooler-'));
  const port = await freePort();
  const server = new URL(world.env.DATABASE_URL), url = new URL(server);
  url.port = String(port);
  url.hostname = '127.0.0.1';
  fs.writeFileSync(path.join(folder, 'users'), `"${server.username}" "${decodeURIComponent(server.password)}"\n`, { mode: 0o644 });
  fs.writeFileSync(path.join(folder, 'ini'), `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1
listen_port = ${port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = ${folder}/users\nserver_reset_query =\npool_mode = ${mode}\n`, { mode: 0o644 });
  fs.chmodSync(folder, 0o755);
  const child = spawn('pgbouncer', ['-q', ...(process.getuid() === 0 ? ['-u', 'nobody'] : []), path.join(folder, 'ini')], { stdio: 'ignore' });
  const failed = await new Promise(resolve => {
    child.on('error', resolve);
    child.on('spawn', () => resolve(null));
  });
  if (failed)
    return null;
  t.after(() => child.kill('SIGKILL'));
  await until(() => psql(url.href, 'SELECT 1').then(() => true, () => false), 10_000, 'the pooler answers');
  return url.href;
}

for (const mode of ['transaction', 'session'])
  test(`DL13 PgBouncer is refused by name (pool_mode = ${mode})`, TIMEOUT, async t => {
    const url = await startPooler(t, mode);
    if (url === null)
      return t.skip('no pgbouncer');
    const words = /DATABASE_URL leads through a connection pooler \(PgBouncer\?\): set it to the address of PostgreSQL itself/;
    for (const args of [['serve'], ['migrate'], ['ensure-accounts'], ['accounts'], ['locks'], ['resume']])
      await refused({ DATABASE_URL: url }, 78, words, args);
  });
