// fairway status and the page /status: what an operator asks first, from one source, also without the database.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { after, before, test } from 'node:test';
import { Service, payment, sleep, slower, startWorld, until } from './harness.mjs';

const TIMEOUT = { timeout: 180_000 }, ACCOUNTS = 15, MANY = 20_000, LEASES = 6;
let world, service, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 1000 });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
  for (let i = 0; i < LEASES; i++)
    await service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 300 });
});
after(() => world?.stop());

const read = async (from = service) => (await fetch(`${from.adminUrl}/status.json`)).json();
const answers = status => Object.fromEntries(status.answers.map(({ question, level, answer }) => [question, [level, answer]]));
const status = (...args) => world.start(['status', ...args], { ADMIN_PORT: new URL(service.adminUrl).port }).ended;
/** The page's text, after its script has run in Chromium. */
async function page() {
  const { stdout } = await promisify(execFile)('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=3000', '--dump-dom',
    `${service.adminUrl}/status`], { timeout: slower(60_000), env: { ...process.env, HOME: world.folder } });
  return stdout;
}

test('ST1 the status agrees with /v1/pool and the database, in JSON and in text', TIMEOUT, async () => {
  const json = await read(), { json: pool } = await service.get('/v1/pool');
  assert.deepEqual(json.accounts, pool.accounts);
  assert.equal(json.leases, true);
  const [[ledger]] = await world.sql('SELECT sequence FROM fairway.cursor');
  assert.ok(Number(ledger) - json.ledgers[0].sequence <= 2);
  const { 'Is there room?': room, 'Who leads?': leads, 'Which part is sick?': sick, 'Is it fast?': fast } = answers(json);
  assert.match(room.join(' '), new RegExp(`^ok ${ACCOUNTS - LEASES} idle of ${ACCOUNTS} active accounts; 0 quarantined.* 0 requests wait; client ${world.client.publicKey().slice(0, 24)}\\.\\.\\. holds ${LEASES}$`));
  assert.deepEqual([leads[1], sick], ['this replica', ['ok', 'none']]);
  assert.match(fast[1], /^\d+\.\d leases a second; half of the requests wait at most \d+ ms/);
  assert.deepEqual(json.answers.map(({ code }) => code), ['leases', 'room', 'ledgers', 'ends', 'speed', 'money', 'parts', 'leader']);
  const { code, out } = await status();
  assert.equal(code, 0);
  assert.match(out, new RegExp(`^fairway \\S+, ${world.passphrase}, 20\\S+Z\n`));
  assert.match(out, /^ok {4}May I lease\? +yes$/m);
  assert.match(out, /^ok {4}Is there money\? +\d+(\.\d+)? XLM, for \d+ payments$/m); // and for how long, when the last hour is known
  const raw = await status('--json');
  assert.deepEqual([raw.code, Object.keys(JSON.parse(raw.out))], [0, Object.keys(json)]);
});

test('ST1 quarantined accounts have their reasons, on a screen of 80 columns', TIMEOUT, async () => {
  const rows = await world.sql(`SELECT public_key FROM fairway.channel_accounts WHERE lease_hash IS NULL ORDER BY public_key LIMIT 2`);
  const reasons = ['its signers or thresholds were changed', 'its sealed seed does not open'];
  for (const [i, [key]] of rows.entries())
    await world.sql(`SELECT fairway.quarantine_accounts('{${key}}', '${reasons[i]}')`);
  const { 'Is there room?': [, room] } = answers(await read());
  assert.match(room, new RegExp(`2 quarantined \\(${rows.map(([key], i) => `${key.slice(0, 8)}\\.\\.\\. ${reasons[i]}`).join('; ')}\\)`));
  for (const args of [['status'], ['check']]) {
    const { out } = await world.start(args, { ADMIN_PORT: new URL(service.adminUrl).port }).ended;
    assert.deepEqual(out.split('\n').filter(line => line.length > 80), []);
  }
  await world.sql("UPDATE fairway.channel_accounts SET state = 'active', quarantine_reason = NULL WHERE state = 'quarantined'");
});

test('ST1 a ledger that does not come is named before leases are refused', TIMEOUT, async () => {
  const ledgers = async () => answers(await read())['Do leases end?'].join(' ');
  assert.match(await ledgers(), /^ok ledger \d+ /);
  world.localnet.pause();
  await until(async () => /^warn ledger .* closed \d s before the database's clock, so the next one is late; /.test(await ledgers()), 20_000, 'it is named');
  world.localnet.resume();
  await until(async () => /^ok /.test(await ledgers()), 20_000, 'ledgers come again');
});

test('ST1 a CLIENTS_FILE that is wrong is named until it is right', TIMEOUT, async () => {
  const file = path.join(world.folder, 'clients.json'), right = JSON.stringify({ wallet: { keys: [world.client.publicKey()] } });
  fs.writeFileSync(file, right);
  const { CLIENT_AUTH_PUBLIC_KEYS: _, ...env } = world.env, other = new Service({ ...env, CLIENTS_FILE: file }, world.client);
  await other.ready();
  const sick = async () => answers(await read(other))['Which part is sick?'].join(' ');
  assert.equal(await sick(), 'ok none');
  fs.writeFileSync(file, '{');
  await until(async () => /^bad CLIENTS_FILE is wrong, so the earlier clients stay/.test(await sick()), 10_000, 'it is named');
  assert.equal((await other.get('/readyz')).status, 200);
  fs.writeFileSync(file, right);
  await until(async () => await sick() === 'ok none', 10_000, 'it is right again');
  await other.kill();
});

test('ST2 ends, events and a pause are shown; text of operators is text', TIMEOUT, async () => {
  await world.run('pause', '--reason', '<i id="x">late</i> \u001b[31m');
  const { code, out } = await status();
  assert.equal(code, 1);
  assert.match(out.replace(/\n {28}/g, ' '), /^ACT {3}May I lease\? +no: an operator has paused leases: <i id="x">late<\/i> \?\[31m$/m);
  const dom = await page();
  assert.match(dom, /class="bad"><span class="mark">act<\/span><span>no: an operator has paused leases: &lt;i id="x"&gt;late/);
  assert.match(dom, /leases are paused: &lt;i id="x"&gt;late/);
  assert.doesNotMatch(dom, /<i id="x">/);
  await world.run('resume');
  assert.equal((await status()).code, 0);
});

/** Calls look() while clients lease and sessions of the service are cut; returns how many leases were granted meanwhile. */
async function inStorm(look) {
  let over = false, granted = 0;
  const client = async () => {
    for (; !over; await sleep(20)) {
      const { status } = await service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 20 });
      granted += status === 201;
    }
  };
  const cut = async () => {
    for (; !over; await sleep(200))
      await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fairway%' ORDER BY random() LIMIT 1");
  };
  const all = [client(), client(), client(), cut()];
  await look().finally(() => (over = true));
  await Promise.all(all);
  return granted;
}

/** The page answers every question, in a storm too, and counts this pool. */
async function pageOf(accounts) {
  for (let i = 0; i < 5; i++) {
    const dom = await page();
    assert.match(dom, /May I lease\?.*Is it fast\?.*Which part is sick\?.*Who leads\?/s);
    const [, idle, active, quarantined] = /(\d+) idle of (\d+) active accounts; (\d+) quarantined/.exec(dom) ?? [];
    if (idle === undefined)
      continue; // the session that it was read in had been cut
    assert.equal(Number(active) + Number(quarantined), accounts);
    assert.ok(idle === '0' || dom.includes(`>${idle} idle<`));
    return;
  }
  assert.fail('no page has counted the accounts');
}

test('ST3 the page shows a pool of 15 and one of 20,000 while leases are granted and sessions are cut', TIMEOUT, async () => {
  assert.ok(await inStorm(() => pageOf(ACCOUNTS)) > 0);
  await world.sql(`WITH copied AS (SELECT * FROM fairway.channel_accounts LIMIT 1)
    INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)
    SELECT 'G' || translate(lpad(to_hex(n), 55, '0'), '0189abcdef', 'QRSTABCDEF'), n, sealed_seed, key_id, sequence, sequence_ledger, 'active'
    FROM copied, generate_series(${ACCOUNTS}, ${MANY - 1}) n`);
  await inStorm(() => pageOf(MANY)); // their seeds do not open, so accounts that are taken are quarantined
});

test('ST4 without the database the status says so, and what the replica knows', TIMEOUT, async () => {
  await world.postgres('stop', { mode: 'immediate' });
  await until(async () => (await read()).leases === false, 30_000, 'the status has noticed');
  const shown = answers(await read());
  assert.deepEqual(shown['May I lease?'], ['bad', 'no: the database does not answer']);
  assert.match(shown['Which part is sick?'].join(' '), /^bad the database does not answer: /);
  assert.match((await page()), /no: the database does not answer/);
});
