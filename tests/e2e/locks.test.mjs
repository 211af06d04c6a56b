// Locks of whole processes: every session limits its waits, even when the defaults of its role do not; `locks` shows who blocks
// whom; and when everything runs at the same time there is no deadlock.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { payThrough, sleep, startWorld, until } from './harness.mjs';

const psql = (url, text) => promisify(execFile)('psql', ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', url, '-c', text]);
let world, superuser, service, users;

// Logs the settings of each session as they are inside its statements on fairway's tables: row security calls this function for each row
// that a statement reads or writes. It writes to the server's log, because that survives a rollback.
const note = `CREATE FUNCTION public.note() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE settings text := concat_ws(' ', current_setting('lock_timeout'), current_setting('statement_timeout'),
  current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit'), replace(current_setting('transaction_isolation'), ' ', '_'),
  current_setting('TimeZone'), replace(current_setting('search_path'), ' ', ''));
BEGIN
  IF current_setting('test.noted', true) IS DISTINCT FROM settings THEN
    PERFORM set_config('test.noted', settings, false);
    RAISE LOG 'noted|%|%|%', current_setting('application_name'), pg_backend_pid(), settings;
  END IF;
  RETURN true;
END $$;
DO $$ DECLARE t regclass; BEGIN
  FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'fairway'::regnamespace AND c.relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY noted ON %s USING (public.note())', t);
  END LOOP;
END $$`;

const hostile = { lock_timeout: '0', statement_timeout: '0', idle_in_transaction_session_timeout: '0', synchronous_commit: 'off',
  default_transaction_isolation: 'serializable', timezone: 'America/New_York', search_path: 'nowhere', datestyle: 'SQL, DMY',
  log_statement: 'all' };

before(async () => {
  world = await startWorld({ accounts: 0, ledgerMs: 300 });
  superuser = world.superuser;
  await psql(superuser, "ALTER SYSTEM SET log_line_prefix = '%p '");
  await psql(superuser, "CREATE ROLE hostile LOGIN PASSWORD 'x'");
  for (const [name, value] of Object.entries(hostile))
    await psql(superuser, `ALTER ROLE hostile SET ${name} = ${value.includes(',') ? value : `'${value}'`}`);
  await psql(superuser, 'CREATE DATABASE hostile OWNER hostile');
  await psql(superuser, 'SELECT pg_reload_conf()');
  const url = new URL(superuser);
  Object.assign(url, { username: 'hostile', password: 'x', pathname: '/hostile' });
  superuser = superuser.replace(/postgres$/, 'hostile');
  Object.assign(world.env, { DATABASE_URL: url.href });
  await world.fairway('migrate');
  await psql(superuser, note);
  await psql(superuser, 'ALTER FUNCTION public.note() OWNER TO hostile');
  await world.fairway('ensure-accounts', '12');
  service = await world.serve();
  users = await Promise.all(Array.from({ length: 8 }, () => world.newAccount()));
});
after(() => world?.stop());

const run = (...args) => world.run(...args);
const rows = async text => (await psql(superuser, text)).stdout.split('\n').filter(line => line !== '');

test('DL12 every session of every process sets lock and statement timeouts, whatever the defaults of its role are', { timeout: 600_000 }, async t => {
  const sessions = new Map();
  let over = false;
  t.after(() => (over = true));
  const watching = (async () => {
    for (; !over; await sleep(20))
      for (const line of await rows("SELECT pid || '|' || application_name FROM pg_stat_activity WHERE application_name LIKE 'fairway%'").catch(() => []))
        sessions.set(...line.split('|'));
  })();
  const lease = await payThrough(world, service, users[0], users[1]);
  assert.equal((await service.get(`/v1/transactions/${lease.hash}?wait=20`)).json.status, 'confirmed');
  await service.get(`/v1/transactions/${lease.hash}?wait=1`); // ingestion answered the first one; the watch reads for this one
  await service.get('/v1/pool');
  assert.equal((await run('migrate')).code, 0);
  assert.equal((await run('ensure-accounts', '13')).code, 0);
  assert.equal((await run('accounts')).code, 0);
  const [idle] = await rows("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' ORDER BY slot DESC LIMIT 1");
  assert.equal((await run('accounts', 'retire', idle)).code, 0);
  assert.equal((await run('ensure-accounts', '12')).code, 0);
  assert.equal((await run('locks')).code, 0);
  over = true;
  await watching;
  const log = fs.readFileSync(path.join(world.folder, 'postgres/log'), 'utf8');
  const noted = [...log.matchAll(/noted\|(.*?)\|(\d+)\|(.*)/g)].map(([, name, pid, settings]) => ({ name, pid, settings: settings.split(' ') }));
  for (const { name, settings: [lock, statement, idleInTransaction, synchronous, isolation, ...others] } of noted.filter(({ name }) => name.startsWith('fairway'))) {
    const migrates = name === 'fairway migrate', janitor = name === 'fairway janitor';
    assert.equal(lock, janitor ? '200ms' : '2s', name);
    assert.equal(statement, migrates ? '10min' : janitor ? '1s' : '5s', name);
    assert.equal(idleInTransaction, '5s', name);
    assert.equal(synchronous, 'on', name);
    assert.equal(isolation, 'read_committed', name);
    assert.deepEqual(others, ['UTC', 'pg_catalog,pg_temp'], name);
  }
  const names = new Set(noted.map(({ name }) => name.replace(/( [0-9a-f]{8})+$/, ''))); // the watch's has master keys
  for (const name of ['accounts', 'api', 'grant', 'ingest', 'janitor', 'migrate', 'provision', 'start', 'watch'])
    assert.ok(names.has(`fairway ${name}`), `${name} was seen in its own statements`);
  // sessions that read no table: the settings that they made when they connected are in the log
  const seen = new Set(noted.map(({ pid }) => pid));
  const quiet = [...sessions].filter(([pid]) => !seen.has(pid));
  for (const [pid, name] of quiet) {
    const settings = new RegExp(`^${pid} .*set_config\\('statement_timeout', \\$1, false\\).*'lock_timeout'.*'idle_in_transaction_session_timeout'.*\\n${pid} DETAIL: +[Pp]arameters: \\$1 = '(\\d+)', \\$2 = '(\\d+)', \\$3 = '(\\d+)'`, 'm').exec(log);
    assert.ok(settings, `${name} (${pid}) set its limits`);
    assert.ok(settings.slice(1).every(ms => Number(ms) > 0 && Number(ms) <= 5000), `${name}: ${settings.slice(1)}`);
  }
});

test('locks: no waits, exit 0; a wait beyond lock_timeout with both sides, exit 1; the leader\'s lock', { timeout: 600_000 }, async () => {
  const quiet = await run('locks');
  assert.equal(quiet.code, 0, quiet.out);
  assert.match(quiet.out, /^ {2}ingestion leader \(ExclusiveLock\): \d+ "fairway ingest" \(hostile, 127/m);
  assert.match(quiet.out, /^Snapshots: none is old/m);
  const session = (name, sql) => {
    const child = spawn('psql', ['-X', '-q', superuser], { env: { ...process.env, PGAPPNAME: name }, stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.write(sql);
    return child;
  };
  const [key] = await rows('SELECT public_key FROM fairway.channel_accounts LIMIT 1');
  const statement = `UPDATE fairway.channel_accounts SET locked_at = locked_at WHERE public_key = '${key}'`;
  const first = session('somebody', `BEGIN; ${statement};\n`);
  await until(async () => (await rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'somebody' AND state = 'idle in transaction'")).length, 10_000, 'held');
  const second = session('nobody', `${statement};\n`);
  const blocked = await until(async () => {
    const { code, out } = await run('locks');
    return code === 1 && out;
  }, 20_000, 'locks exits with 1');
  assert.match(blocked, /^ {2}for \d+\.\d s: row of fairway\.channel_accounts \(ShareLock\)\n {4}waiter: {2}\d+ "nobody" .*\n {6}.*\n {4}blocker: \d+ "somebody" /m);
  first.kill();
  second.kill();
  await Promise.all([first, second].map(child => new Promise(resolve => child.exitCode !== null || child.signalCode ? resolve() : child.on('exit', resolve))));
  assert.equal((await run('locks', 'please')).code, 64);
  const away = world.env.DATABASE_URL;
  world.env.DATABASE_URL = 'postgresql://nobody@127.0.0.1:9/none';
  assert.equal((await run('locks')).code, 69);
  world.env.DATABASE_URL = away;
});

test('grants, ledgers, resizing, retire, release and readers at once: no deadlock and no leaked account', { timeout: 600_000 }, async () => {
  const deadlocks = () => rows("SELECT deadlocks FROM pg_stat_database WHERE datname = 'hostile'");
  const before = await deadlocks();
  const second = await world.serve();
  let over = false;
  const forever = work => (async () => {
    let count = 0;
    for (; !over; count++)
      await work(count);
    return count;
  })();
  const wanted = process.env.FAIRWAY_SIZE === 'long' ? 60_000 : 12_000;
  const workers = [
    ...users.map((user, i) => forever(n => payThrough(world, n % 2 ? service : second, user, users[(i + 1) % users.length], { timeoutSeconds: 20 })
      .catch(error => assert.ok(error.answer?.status === 503, error.message)))),
    forever(async n => {
      const { code, out } = await run('ensure-accounts', String([9, 13, 11][n % 3]));
      assert.equal(code, 0, out);
    }),
    forever(async () => {
      const [key] = await rows("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' ORDER BY random() LIMIT 1");
      const { code, out } = await run('accounts', 'retire', key);
      assert.ok(code === 0 || code === 75, out);
      await sleep(500);
    }),
    forever(async () => {
      const [key] = await rows("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'test' WHERE public_key ="
        + " (SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' ORDER BY random() LIMIT 1) RETURNING public_key");
      await until(async () => {
        const { code, out } = await run('accounts', 'release', key);
        assert.ok(code === 0 || code === 75 || /refused: it is retir(ing|ed)/.test(out), out); // the other operator was faster
        return code !== 75;
      }, 30_000, `${key} is released`);
    }),
    forever(async () => {
      assert.equal((await service.get('/v1/pool')).status, 200);
      assert.equal((await run('accounts')).code, 0);
      assert.notEqual((await run('locks')).code, 70);
    }),
  ];
  await Promise.race([sleep(wanted), ...workers]);
  over = true;
  const counts = await Promise.all(workers);
  assert.ok(counts.every(count => count > 0), `each did something: ${counts}`);
  const ensured = await run('ensure-accounts', '12');
  assert.equal(ensured.code, 0, ensured.out);
  await until(async () => (await rows('SELECT 1 FROM fairway.lease_history WHERE settled_at IS NULL')).length === 0, 60_000, 'every lease ends');
  assert.deepEqual(await rows("SELECT state, count(*) FROM fairway.channel_accounts WHERE state <> 'retired' GROUP BY 1"), ['active|12']);
  for (const line of await rows("SELECT public_key || '|' || sequence FROM fairway.channel_accounts WHERE state = 'active'")) {
    const [key, sequence] = line.split('|');
    assert.equal((await world.network.getAccount(key)).sequenceNumber(), sequence);
  }
  await sleep(600); // PostgreSQL sends statistics when a session has been idle for a while
  assert.deepEqual(await deadlocks(), before);
  assert.doesNotMatch(fs.readFileSync(path.join(world.folder, 'postgres/log'), 'utf8'), /deadlock detected/);
});
