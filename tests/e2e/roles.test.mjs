// The two roles of docker/roles.sql: `fairway migrate` runs as the owner of the schema, everything else as a role that owns nothing. All
// that fairway does must work so, also housekeeping, and the role must not be able to change the schema or its guards.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { payThrough, payment, sleep, startWorld, until } from './harness.mjs';

const run = promisify(execFile);
const TIMEOUT = { timeout: 600_000 };
const ACCOUNTS = 3;
let world, service, users, superuser, owner;

const psql = (url, ...args) => run('psql', ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', url, ...args]);
const asSuperuser = async text => (await psql(superuser.href, '-c', text)).stdout.trim();
const inRole = name => Object.assign(new URL(superuser), { username: name, password: passwordOf(name) });

// What docker/secrets.sh makes for compose.yaml. docker/passwords.sql gives the roles the same passwords.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-roles-'));
const secret = name => fs.readFileSync(path.join(folder, 'secrets', name), 'utf8');
const serviceFiles = { fairway: 'pg_service.conf', fairway_owner: 'pg_service_owner.conf' };
/** The roles of roles.sql have these passwords, other roles of this test their name. */
const passwordOf = role => role in serviceFiles ? /^password=(.+)$/m.exec(secret(serviceFiles[role]))[1] : role;
const inDocker = file => new URL(`../../docker/${file}`, import.meta.url).pathname;
const inTests = file => new URL(`../${file}`, import.meta.url).pathname;

async function cannotMake(url) {
  for (const statement of ['CREATE TEMPORARY TABLE mine ()', 'CREATE TYPE pg_temp.mine AS ()', 'CREATE TABLE public.mine ()'])
    await assert.rejects(psql(url, '-c', statement), ({ stderr }) => /permission denied/.test(stderr), statement);
}

async function makePasswords() {
  fs.copyFileSync(inDocker('secrets.sh'), path.join(folder, 'secrets.sh'));
  await run('sh', [path.join(folder, 'secrets.sh')]);
  const env = { ...process.env, POSTGRES_PASSWORD: secret('database.password') };
  await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', inDocker('passwords.sql'), superuser.href], { env });
}

before(async () => {
  world = await startWorld({ accounts: 0 });
  // A second database of a server whose first one has the roles.
  const first = new URL(world.superuser);
  await psql(first.href, '-c', 'CREATE DATABASE separate');
  superuser = Object.assign(new URL(first), { pathname: '/separate' });
  await psql(superuser.href, '-f', inDocker('roles.sql'));
  await makePasswords();
  owner = inRole('fairway_owner').href;
  world.env.DATABASE_URL = owner;
  await world.fairway('migrate');
  world.env.DATABASE_URL = inRole('fairway').href;
  await world.fairway('ensure-accounts', String(ACCOUNTS));
  service = await world.serve();
  users = [await world.newAccount(), await world.newAccount()];
});
after(async () => {
  await world?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

test('a service file of secrets.sh has the password of its own role alone', () => {
  assert.notEqual(passwordOf('fairway'), passwordOf('fairway_owner'));
  for (const [role, file] of Object.entries(serviceFiles)) {
    assert.deepEqual(secret(file).match(/^(\[|user=|password=).*$/gm), [`[${role}]`, `user=${role}`, `password=${passwordOf(role)}`]);
    assert.ok(!secret(file).includes(secret('database.password')), 'the password of the superuser');
  }
});

test('the role cannot make a live lease expire by a ledger that does not exclude it', TIMEOUT, async () => {
  const { json: { hash, channelAccount } } = await service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds: 300 });
  const expire = ledger => psql(world.env.DATABASE_URL, '-c', `SELECT fairway.settle_accounts(ARRAY[a.public_key::text], ARRAY[a.state],
    ARRAY[a.sequence], ARRAY[a.sequence_ledger], ARRAY[NULL], ARRAY['expired'], ARRAY[NULL], ARRAY[${ledger}],
    ARRAY[NULL::bytea], ARRAY[0], ARRAY[NULL::bytea], ARRAY[NULL::bytea])
    FROM fairway.channel_accounts a, fairway.cursor c WHERE a.public_key = '${channelAccount}'`);
  for (const ledger of ['c.sequence', 'c.sequence + 1', '1'])
    await assert.rejects(expire(ledger), ({ stderr }) => /no committed ledger excludes the lease/.test(stderr), ledger);
  assert.equal((await service.get(`/v1/transactions/${hash}`)).json.status, 'pending');
});

test('every command but migrate works without owning anything', TIMEOUT, async () => {
  const lease = await payThrough(world, service, ...users);
  assert.equal((await service.get(`/v1/transactions/${lease.hash}?wait=60`)).json.status, 'confirmed');
  const rows = (await world.fairway('accounts')).stdout.trim().split('\n');
  const [address] = /G[A-Z2-7]{55}/.exec(rows.find(row => row.includes('idle')));
  await world.fairway('accounts', 'retire', address);
  await world.fairway('ensure-accounts', String(ACCOUNTS));
  await world.fairway('hold', 'a test of roles');
  assert.equal((await service.get('/v1/pool')).json.grants.reason, 'a test of roles');
  await world.fairway('locks');
});

test('roles.sql runs twice for an administrator who is no superuser, as managed PostgreSQL has, and what it makes migrates and serves', TIMEOUT, async () => {
  const { stdout } = await run('sh', [inTests('integration/support/pg.sh'), 'start', path.join(world.folder, 'managed'), String(process.pid)]);
  const server = new URL(stdout.trim());
  const as = (username, database = 'managed') => Object.assign(new URL(server), { username, pathname: `/${database}` }).href;
  await psql(server.href, '-c', `CREATE ROLE admin LOGIN CREATEROLE CREATEDB PASSWORD '${server.password}'`);
  await psql(as('admin', 'postgres'), '-c', 'CREATE DATABASE managed');
  await psql(as('superuser'), '-c', 'GRANT CREATE ON SCHEMA public TO PUBLIC'); // as before PostgreSQL 15
  const env = { ...process.env, FAIRWAY_OWNER_PASSWORD: server.password, FAIRWAY_PASSWORD: server.password };
  for (let times = 0; times < 2; times++)
    await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', inDocker('roles.sql'), as('admin')], { env });
  assert.equal((await world.start(['migrate'], { DATABASE_URL: as('fairway_owner') }).ended).code, 0);
  assert.equal((await psql(as('fairway'), '-c', 'SELECT fairway.take_lead(-1) IS NULL')).stdout, '');
  await cannotMake(as('fairway'));
});

test('the container that waits in kubernetes.yaml fails until the owner has migrated', TIMEOUT, async () => {
  const [, args] = /name: wait-for-schema\n.*\n +args: \[(.*)\]/.exec(fs.readFileSync(inDocker('kubernetes.yaml'), 'utf8'));
  const wait = () => world.fairway(...args.split(', '));
  const used = world.env.DATABASE_URL;
  const inFresh = url => Object.assign(new URL(url), { pathname: '/fresh' }).href;
  await asSuperuser('CREATE DATABASE fresh');
  await psql(inFresh(superuser), '-f', inDocker('roles.sql'));
  try {
    world.env.DATABASE_URL = inFresh(used);
    await assert.rejects(wait(), ({ code, stderr }) => code === 78 && /run fairway migrate/.test(stderr));
    world.env.DATABASE_URL = inFresh(owner);
    await world.fairway('migrate');
    world.env.DATABASE_URL = inFresh(used);
    await wait();
  } finally {
    world.env.DATABASE_URL = used;
  }
});

test('housekeeping makes and drops partitions', TIMEOUT, async t => {
  if (await asSuperuser("SELECT count(*) FROM pg_proc WHERE proname = 'add_partitions' AND pronamespace = 'fairway'::regnamespace") === '0')
    return t.skip('this schema has no partitions');
  const partitionsOf = day => asSuperuser(`SELECT count(*) FROM pg_class WHERE relnamespace = 'fairway'::regnamespace AND relkind = 'r'
    AND relname LIKE '%' || to_char((now() AT TIME ZONE 'UTC')::date + ${day}, '_YYYYMMDD')`);
  const made = await partitionsOf(3);
  assert.notEqual(made, '0');
  await asSuperuser('SELECT fairway.add_partitions(current_date - 30, current_date - 30)');
  for (const table of (await asSuperuser(`SELECT oid::regclass FROM pg_class WHERE relnamespace = 'fairway'::regnamespace AND relkind = 'r'
      AND relname LIKE '%' || to_char((now() AT TIME ZONE 'UTC')::date + 3, '_YYYYMMDD')`)).split('\n'))
    await asSuperuser(`DROP TABLE ${table}`);
  await until(async () => await partitionsOf(3) === made, 60_000, `the partitions of a day ahead are made:\n${service.log}`);
  await until(async () => await partitionsOf(-30) === '0', 60_000, `the partitions of an old day are dropped:\n${service.log}`);
});

test('DX9 an old snapshot of another role is measured and warned of', TIMEOUT, async () => {
  const oldest = async () => (await service.metrics()).fairway_oldest_snapshot_seconds;
  const report = spawn('psql', ['-X', '-q', superuser.href], { stdio: ['pipe', 'ignore', 'inherit'], env: { ...process.env, PGAPPNAME: 'a "long" report' } });
  report.stdin.write('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n');
  const pid = await until(() => asSuperuser("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'a%report' AND backend_xmin IS NOT NULL"),
    20_000, 'the snapshot is taken');
  await asSuperuser("UPDATE fairway.ledgers SET committed_at = committed_at - interval '400 s'");
  const age = await oldest();
  assert.ok(age >= 400 && age < 10_000, `${age}`);
  const warning = new RegExp('level=warn msg="an old snapshot prevents vacuum from removing dead rows; the table of accounts grows until that snapshot ends" '
    + `holder="session" name="a \\\\"long\\\\" report" user="superuser" pid=${pid} age_s=4\\d\\d remedy="end its transaction`);
  await until(() => warning.test(service.log), 60_000, 'it is warned of');
  report.stdin.end();
  await until(async () => await oldest() === 0, 20_000, 'the snapshot is gone');
  await until(() => /vacuum can remove dead rows again/.test(service.log), 60_000, 'the end is logged');
});

test('migrate in the role that serves says which role it needs', TIMEOUT, async () => {
  await asSuperuser('CREATE DATABASE another');
  const another = role => Object.assign(inRole(role), { pathname: '/another' }).href;
  const migrate = role => world.start(['migrate'], { DATABASE_URL: another(role) }).ended;
  const refused = async () => {
    const { code, out } = await migrate('fairway');
    assert.equal(code, 78, out);
    assert.match(out, /msg="migrate failed" error=\S+ detail="fairway migrate needs the owner's role \(fairway_owner in docker\/roles\.sql\), not fairway: [^"]*42501 /);
  };
  await refused(); // without a schema
  await psql(Object.assign(new URL(superuser), { pathname: '/another' }).href, '-f', inDocker('roles.sql'));
  assert.equal((await migrate('fairway_owner')).code, 0);
  assert.deepEqual(await migrate('fairway').then(({ code, out }) => [code, out]), [0, 'schema is up to date: 0 files applied\n']);
  await psql(another('fairway_owner'), '-c', "UPDATE fairway.functions SET digest = 'older'");
  await refused();
});

test('the role cannot change the schema or turn off its guards', TIMEOUT, async () => {
  for (const statement of [
    'CREATE TABLE fairway.more (x int)',
    'CREATE FUNCTION fairway.more() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'ALTER TABLE fairway.channel_accounts DISABLE TRIGGER ALL',
    'ALTER TABLE fairway.leases ADD COLUMN x int',
    'DROP TABLE fairway.cursor',
    'TRUNCATE fairway.channel_accounts CASCADE',
    'SET session_replication_role = replica',
    'SET ROLE fairway_owner',
    'CREATE SCHEMA mine',
  ])
    await assert.rejects(psql(world.env.DATABASE_URL, '-c', statement),
      ({ stderr }) => /permission denied|must be owner/.test(stderr), statement);
});

// A cast of its own table's column, which a trigger function with the rights of the owner applied, was the owner's code.
const capture = `CREATE TYPE pg_temp.bait AS (x int);
  CREATE FUNCTION pg_temp.spring(pg_temp.bait) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    UPDATE fairway.channel_accounts SET sealed_seed = decode(repeat('00', 72), 'hex'); RETURN true; END $$;
  CREATE CAST (pg_temp.bait AS boolean) WITH FUNCTION pg_temp.spring(pg_temp.bait) AS ASSIGNMENT;
  CREATE TEMPORARY TABLE trap AS SELECT NULL::bigint AS term, NULL::text AS paused, NULL::bigint AS held_until, NULL::text AS hold_reason,
    NULL::text AS grants_reason, ROW(1)::pg_temp.bait AS grants_allowed;
  CREATE TRIGGER trap AFTER UPDATE ON trap FOR EACH ROW EXECUTE FUNCTION fairway.note_cursor();
  UPDATE trap SET term = 1`;

test('the role cannot run code of its own with the rights of the owner, nor make any', TIMEOUT, async () => {
  const seals = () => asSuperuser('SELECT sealed_seed FROM fairway.channel_accounts ORDER BY public_key');
  const before = await seals();
  await asSuperuser('GRANT TEMPORARY ON DATABASE separate TO fairway');
  await assert.rejects(psql(world.env.DATABASE_URL, '-c', capture), ({ stderr }) => /permission denied for table channel_accounts/.test(stderr));
  await asSuperuser('REVOKE TEMPORARY ON DATABASE separate FROM fairway');
  await cannotMake(world.env.DATABASE_URL);
  assert.equal(await seals(), before);
});

test('a role that may only read history can neither make nor drop partitions', TIMEOUT, async () => {
  await asSuperuser("CREATE ROLE reader LOGIN PASSWORD 'reader'");
  await asSuperuser('GRANT USAGE ON SCHEMA fairway TO reader');
  await asSuperuser('GRANT SELECT ON ALL TABLES IN SCHEMA fairway TO reader');
  const reader = inRole('reader').href;
  await psql(reader, '-c', 'SELECT count(*) FROM fairway.lease_history');
  for (const call of ["drop_history('0')", 'add_partitions(current_date, current_date)'])
    await assert.rejects(psql(reader, '-c', `SELECT fairway.${call}`), ({ stderr }) => /permission denied/.test(stderr), call);
});

test('the role can drop no history that is needed, and makes partitions near today only', TIMEOUT, async () => {
  const days = () => asSuperuser("SELECT count(*) FROM fairway.partitions WHERE day >= current_date - 1");
  await asSuperuser('SELECT fairway.add_partitions(current_date - 1, current_date)');
  const before = await days();
  await psql(world.env.DATABASE_URL, '-c', "SELECT fairway.drop_history('-100 years') FROM generate_series(1, 20)");
  assert.equal(await days(), before);
  for (const days of ['current_date, current_date + 10', 'current_date - 33, current_date', 'current_date - 3000, current_date - 3000', "'-infinity', 'infinity'"])
    await assert.rejects(psql(world.env.DATABASE_URL, '-c', `SELECT fairway.add_partitions(${days})`), ({ stderr }) => /too far from today/.test(stderr), days);
});

test('the role writes no table but by functions', TIMEOUT, async () => {
  const tables = (await asSuperuser(`SELECT oid::regclass FROM pg_class WHERE relnamespace = 'fairway'::regnamespace AND relkind IN ('r', 'p')`)).split('\n');
  assert.ok(tables.length > 10);
  const column = table => asSuperuser(`SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 1 LIMIT 1`);
  for (const table of tables)
    for (const statement of [`DELETE FROM ${table}`, `UPDATE ${table} SET ${await column(table)} = NULL`, `INSERT INTO ${table} DEFAULT VALUES`,
      `TRUNCATE ${table}`, `SELECT FROM ${table} FOR UPDATE`])
      await assert.rejects(psql(world.env.DATABASE_URL, '-c', statement), ({ stderr }) => /permission denied/.test(stderr), statement);
});

test('no function is for PUBLIC; one with the rights of the owner is no trigger, fixes search_path, and takes built-in types only', TIMEOUT, async () => {
  assert.equal(await asSuperuser(`SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'fairway'::regnamespace
    AND (has_function_privilege('public', p.oid, 'EXECUTE') OR p.prosecdef AND (p.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype)
      OR coalesce(array_to_string(p.proconfig, ' '), '') !~ 'search_path=pg_catalog, pg_temp'
      OR EXISTS (SELECT FROM pg_type t WHERE t.oid = ANY (p.proargtypes) AND (t.typnamespace <> 'pg_catalog'::regnamespace OR t.typtype = 'p'))))`), '');
});

test('no statement of fairway was refused', TIMEOUT, async () => {
  await sleep(11_000); // a round of housekeeping
  assert.doesNotMatch(service.log, /permission denied|must be owner|housekeeping failed|owns the schema or may write/);
  const log = fs.readFileSync(path.join(world.folder, 'postgres', 'log'), 'utf8');
  const refused = [...log.matchAll(/ERROR: +(?:permission denied|must be owner).*\n.*STATEMENT: +(.*)/g)].map(([, statement]) => statement);
  for (const statement of refused) // those that a test above expects; a file of migrate begins with a comment
    assert.match(statement, /^(-- |CREATE|ALTER|DROP|TRUNCATE|SET|INSERT|UPDATE|DELETE|SELECT FROM \S+ FOR UPDATE$|SELECT fairway\.\w+\()/, statement);
});
