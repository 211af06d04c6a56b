// DS6: after payments, refusals and a broken seed, no secret is in the memory of fairway, in its log, in a response, or in a file of
// the database, in any usual form; and in the key process only the master key and the distribution seed are, in guarded pages.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { assertSettled, keydOf, payThrough, payment, startWorld, until } from './harness.mjs';
import { unseal } from './unseal.mjs';

const ACCOUNTS = 3, PASSPHRASE = 'a passphrase of this test only';
let world, service, byEnvironment, heard = '', secrets;

/** The forms in which a secret of 32 bytes could be found. The address form's ends depend on its kind and checksum. */
function formsOf(seed, strkey) {
  return {
    raw: seed,
    hex: Buffer.from(seed.toString('hex')),
    HEX: Buffer.from(seed.toString('hex').toUpperCase()),
    base64: Buffer.from(seed.toString('base64').slice(0, 42)),
    ...(strkey && { base32: Buffer.from(strkey.slice(4, 52)) }),
  };
}

async function ask(method, route, body) {
  const answer = await service.request(method, route, body);
  heard += JSON.stringify(answer.json) + JSON.stringify([...answer.headers]);
  return answer;
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  const master = fs.readFileSync(world.env.MASTER_KEY_FILE), networkId = crypto.createHash('sha256').update(world.passphrase).digest();
  const rows = await world.sql("SELECT public_key, key_id, encode(sealed_seed, 'hex') FROM fairway.channel_accounts");
  secrets = { 'the master key': formsOf(master.length === 32 ? master : Buffer.from(master.toString().trim(), 'hex')),
    'the distribution seed': formsOf(world.distribution.rawSecretKey(), world.distribution.secret()) };
  for (const [publicKey, keyId, box] of rows) {
    const key = unseal({ masterKey: secrets['the master key'].raw, publicKey, keyId, box: Buffer.from(box, 'hex'), networkId });
    secrets[`the seed of ${publicKey}`] = formsOf(key.rawSecretKey(), key.secret());
  }
  const [from, to] = [await world.newAccount(), await world.newAccount()];
  byEnvironment = await world.serve({ DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: '', DISTRIBUTION_ACCOUNT_PRIVATE_KEY: world.distribution.secret(),
    CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE: PASSPHRASE });
  heard += JSON.stringify(await payThrough(world, byEnvironment, from, to));
  for (let i = 0; i < 2 * ACCOUNTS; i++)
    heard += JSON.stringify(await payThrough(world, service, from, to));
  await assertSettled(assert, world, service, ACCOUNTS);
  for (const body of ['{', '{}', { transactionXdr: 'AAAA' }, { transactionXdr: payment(world, from, to).toXDR(), timeoutSeconds: 1 }])
    for (const route of ['/v1/transactions', '/v1/fee-bumps'])
      assert.equal((await ask('POST', route, body)).status, 400);
  await world.sql('UPDATE fairway.channel_accounts SET sealed_seed = set_byte(sealed_seed, 40, get_byte(sealed_seed, 40) # 1)');
  await ask('POST', '/v1/transactions', { transactionXdr: payment(world, from, to).toXDR() });
  await until(async () => (await service.get('/v1/pool')).json.accounts.quarantined === ACCOUNTS, 20_000, 'the broken accounts are found');
  for (const route of ['/v1/pool', '/v1/channel-accounts', '/readyz', '/nowhere'])
    await ask('GET', route);
});
after(() => world?.stop());

/** Calls found(what, form) for each secret that the bytes contain. */
function search(bytes, found) {
  for (const [what, forms] of Object.entries(secrets))
    for (const [form, needle] of Object.entries(forms))
      if (bytes.includes(needle))
        found(what, form);
}

/** The readable parts of a process's memory, one at a time: [bytes, whether the pages are locked and not in core dumps]. */
function* memory(pid) {
  const file = fs.openSync(`/proc/${pid}/mem`, 'r');
  const parts = fs.readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  for (const part of parts) {
    const [, from, to, readable] = /^([0-9a-f]+)-([0-9a-f]+) (.)/.exec(part);
    if (readable !== 'r' || /\[v(var|syscall|dso)/.test(part))
      continue;
    const bytes = Buffer.alloc(Number(BigInt(`0x${to}`) - BigInt(`0x${from}`)));
    try {
      yield [bytes.subarray(0, fs.readSync(file, bytes, 0, bytes.length, Number(`0x${from}`))), /^VmFlags:.* lo\b/m.test(part) && /^VmFlags:.* dd\b/m.test(part)];
    } catch {} // guard pages
  }
  fs.closeSync(file);
}

test('no secret is in the log or in a response', () => {
  search(Buffer.from(service.log + byEnvironment.log + heard), (what, form) => assert.fail(`${what} as ${form}`));
  assert.ok(heard.length > 1000 && service.log.length > 1000);
});

test('a seed that was given as an argument by mistake is not in the error', async () => {
  const { code, out } = await world.start(['import-accounts', world.distribution.secret()]).ended;
  search(Buffer.from(out), (what, form) => assert.fail(`${what} as ${form}`));
  assert.equal(code, 64);
  assert.match(out, /unexpected argument 1\n/);
});

test('no secret is in a file of the database', async () => {
  await world.sql('CHECKPOINT');
  const folder = path.dirname(fs.realpathSync(path.join(world.folder, 'postgres/data')));
  let searched = 0;
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile())
      continue;
    const bytes = fs.readFileSync(path.join(entry.parentPath, entry.name));
    searched += bytes.length;
    search(bytes, (what, form) => assert.fail(`${what} as ${form} in ${path.join(entry.parentPath, entry.name)}`));
  }
  assert.ok(searched > 20e6, `${searched} bytes`);
});

const root = { skip: process.geteuid() !== 0 && 'only root can read the memory of these processes' };

/** Fails when a secret is in the memory, the environment or the command line of the process. */
function assertNowhere(pid) {
  let searched = 0;
  const found = (what, form) => assert.fail(`${what} as ${form}`);
  for (const [bytes] of memory(pid)) {
    searched += bytes.length;
    search(bytes, found);
  }
  assert.ok(searched > 1e6, `${searched} bytes`);
  for (const file of ['environ', 'cmdline'])
    search(fs.readFileSync(`/proc/${pid}/${file}`), found);
}

/** What the key process has, and where. */
function foundIn(pid) {
  const found = new Set();
  for (const [bytes, guarded] of memory(pid))
    search(bytes, (what, form) => found.add(`${what} as ${form}${guarded ? '' : ' in ordinary memory'}`));
  for (const file of ['environ', 'cmdline'])
    search(fs.readFileSync(`/proc/${pid}/${file}`), (what, form) => found.add(`${what} as ${form} in its ${file}`));
  return [...found].sort();
}

const OWN = ['the distribution seed as raw', 'the master key as raw'];

test('DS6 no secret is in the memory of fairway', root, () => assertNowhere(service.process.pid));

test('DS6 the memory of the key process has its own two secrets, in guarded pages and in no other form', root, () => {
  assert.deepEqual(foundIn(service.keydPid), OWN);
});

test('DS6 secrets that the environment gave are in no environment and no memory of fairway', root, () => {
  const text = Buffer.from(PASSPHRASE);
  secrets['the passphrase'] = { raw: text, hex: Buffer.from(text.toString('hex')), base64: Buffer.from(text.toString('base64').slice(0, 38)) };
  try {
    assertNowhere(byEnvironment.process.pid);
    assert.deepEqual(foundIn(byEnvironment.keydPid), OWN); // the passphrase is wiped when the keys are loaded
  } finally {
    delete secrets['the passphrase'];
  }
});

test('DS6 a seed that import-accounts was given is nowhere when it is stored, and never in the memory of fairway', root, async () => {
  const keys = [await world.newAccount(), await world.newAccount()], { state } = world.localnet.chain;
  for (const key of keys) {
    secrets[`the given seed of ${key.publicKey()}`] = formsOf(Buffer.from(key.rawSecretKey()), key.secret());
    state.add({ ...state.peek(Buffer.from(key.rawPublicKey()).toString('hex')), balance: 10_000_000n }); // its reserve
  }
  await world.sql('CREATE FUNCTION public.stop_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$');
  await world.sql('CREATE TRIGGER stop_here AFTER INSERT ON fairway.channel_accounts FOR EACH STATEMENT EXECUTE FUNCTION public.stop_here()');
  const child = world.start(['import-accounts'], {}, keys.map(key => key.secret()).join('\n'));
  try {
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name LIKE 'fairway%'";
    await until(async () => (await world.sql(waiting)).length > 0, 30_000, 'the accounts are being stored');
    assertNowhere(child.process.pid);
    assert.deepEqual(foundIn(keydOf(child.process)), OWN);
  } finally {
    child.process.kill('SIGKILL');
    await child.ended;
  }
});
