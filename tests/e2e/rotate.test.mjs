// rotate-master-key: every seed is sealed again while replicas serve, a run that was killed is repeated, and afterwards the old key opens
// nothing. Only the owner's role may do it, and the old seals are kept until the end.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { fairway, inRole, payThrough, sleep, slower, startWorld, until } from './harness.mjs';
import { unseal } from './unseal.mjs';

const TIMEOUT = { timeout: 600_000 }, ACCOUNTS = 270, BATCH = 256;
let world, users, oldKey, newKey, both; // both: environment with both keys

const run = promisify(execFile), page = fs.readFileSync(new URL('../../docker/keys.md', import.meta.url), 'utf8');
const key = file => fs.readFileSync(file);
const id = text => text.match(/master key ([0-9a-f]{16})/)[1];
const rows = () => world.sql("SELECT public_key, key_id, encode(sealed_seed, 'hex') FROM fairway.channel_accounts ORDER BY public_key");
const count = async from => Number((await world.sql(`SELECT count(*) FROM fairway.${from}`))[0][0]);
const rotate = () => world.start(['rotate-master-key'], both);
const asRole = (role, text) => run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', inRole(role, world.env.DATABASE_URL), '-c', text]);

/** The accounts whose seeds this key file opens. */
async function openedBy(file) {
  const networkId = crypto.createHash('sha256').update(world.passphrase).digest();
  return (await rows()).filter(([publicKey, keyId, box]) => {
    try {
      return unseal({ masterKey: key(file), networkId, publicKey, keyId, box: Buffer.from(box, 'hex') });
    } catch {
      return false;
    }
  }).map(([publicKey]) => publicKey);
}

/** Runs while the second batch, or its COMMIT, does not return. */
async function killedInTheSecondBatch(atCommit) {
  const [last] = (await rows()).at(-1);
  await world.sql(`CREATE OR REPLACE FUNCTION public.stop_here() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$`);
  await world.sql(`CREATE ${atCommit ? 'CONSTRAINT' : ''} TRIGGER stop_here AFTER UPDATE ON fairway.channel_accounts
    ${atCommit ? 'DEFERRABLE INITIALLY DEFERRED' : ''} FOR EACH ROW
    WHEN (NEW.key_id <> OLD.key_id AND NEW.public_key = '${last}') EXECUTE FUNCTION public.stop_here()`);
  const stopped = () => world.sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name LIKE 'fairway%'");
  const child = rotate();
  try {
    await until(async () => (await stopped()).length > 0, 30_000, 'the second batch is being stored');
  } finally {
    child.process.kill('SIGKILL');
    await child.ended;
    for (const [pid] of await stopped())
      await world.sql(`SELECT pg_terminate_backend(${pid})`);
    await world.sql('DROP TRIGGER stop_here ON fairway.channel_accounts');
  }
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  users = [await world.newAccount(), await world.newAccount()];
  oldKey = world.env.MASTER_KEY_FILE;
  newKey = path.join(world.folder, 'new.key');
  await world.fairway('keygen', newKey);
  both = { MASTER_KEY_FILE: newKey, OLD_MASTER_KEY_FILE: oldKey };
});
after(() => world?.stop());

test('a replica with both keys stores no key, so that replicas with the old one can still start', TIMEOUT, async () => {
  const service = await world.serve(both);
  assert.equal(await count('master_keys'), 1);
  await payThrough(world, service, ...users);
  await service.kill();
  await (await world.serve()).kill();
});

test('the role of serve can change no seal, nor what rotation keeps', TIMEOUT, async () => {
  const before = await rows();
  const refused = await world.start(['rotate-master-key'], { ...both, DATABASE_URL: world.env.DATABASE_URL }).ended;
  assert.equal(refused.code, 78, refused.out);
  assert.match(refused.out, /needs the owner's role/);
  const call = `SELECT fairway.reseal_accounts(ARRAY['${before[0][0]}'], ARRAY[decode('${before[0][2]}', 'hex')],
    ARRAY[decode('${'00'.repeat(72)}', 'hex')], '${before[0][1]}')`;
  for (const text of [call, `SELECT fairway.end_rotation('${before[0][1]}')`])
    await assert.rejects(asRole('fairway', text), ({ stderr }) => /permission denied/.test(stderr), text);
  await asRole('fairway_owner', call.replace(before[0][2], before[1][2])); // not the seal that the account has
  assert.deepEqual(await rows(), before);
  assert.deepEqual([await count('old_seals'), await count('master_keys')], [0, 1]);
});

test('killed in a batch and at its COMMIT while replicas serve: old seals are kept, and the owner can put them back', TIMEOUT, async () => {
  const before = await rows(), withBoth = await world.serve(both);
  await killedInTheSecondBatch(false);
  assert.equal((await openedBy(newKey)).length, BATCH);
  assert.equal((await openedBy(oldKey)).length, ACCOUNTS - BATCH);
  assert.equal(await count('old_seals'), BATCH);
  assert.equal(await count('master_keys'), 2);
  await Promise.all(Array.from({ length: 8 }, () => payThrough(world, withBoth, ...users)));
  assert.equal(await count("channel_accounts WHERE state = 'quarantined'"), 0);
  const [, undo] = /^( {4}UPDATE [^]*?;)\n\n/m.exec(page);
  const [[fresh]] = await world.sql('SELECT key_id FROM fairway.channel_accounts WHERE key_id NOT IN (SELECT key_id FROM fairway.old_seals) LIMIT 1');
  await asRole('fairway_owner', undo.replaceAll('NEW_KEY_ID', fresh));
  assert.deepEqual(await rows(), before);
  assert.equal(await count('master_keys'), 1);
  await killedInTheSecondBatch(true);
  assert.equal((await openedBy(newKey)).length, BATCH);
  await withBoth.kill();
});

test('a seal that does not open keeps both keys', TIMEOUT, async () => {
  const [publicKey] = (await rows()).at(-1);
  const flip = () => world.sql(`UPDATE fairway.channel_accounts
    SET sealed_seed = set_byte(sealed_seed, 40, get_byte(sealed_seed, 40) # 1) WHERE public_key = '${publicKey}'`);
  await flip();
  const { code, out } = await rotate().ended;
  assert.equal(code, 1, out);
  assert.match(out, new RegExp(`does not open.*account=${publicKey}`));
  assert.match(out, new RegExp(`^1 of ${ACCOUNTS} sealed seeds do not open`, 'm'));
  assert.equal(await count('master_keys'), 2);
  assert.equal(await count('old_seals'), ACCOUNTS - 1);
  await flip();
});

test('a seed that a failover gave its old seal back, behind the command, keeps the rotation from ending: repeat it', TIMEOUT, async () => {
  await world.sql(`CREATE FUNCTION public.forget_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
    CREATE TRIGGER forgotten BEFORE UPDATE ON fairway.channel_accounts FOR EACH ROW
    WHEN (NEW.key_id <> OLD.key_id) EXECUTE FUNCTION public.forget_it()`);
  const { out } = await rotate().ended;
  await world.sql('DROP TRIGGER forgotten ON fairway.channel_accounts');
  assert.match(out, /repeat the command.*seeds are still sealed under another master key/);
});

test('the next run ends it: the new key opens every seed, the old one none, and replicas change over without a stop', TIMEOUT, async () => {
  const service = await world.serve(both);
  const { code, out } = await rotate().ended;
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`level=info msg="seeds are sealed under the new master key" key=[0-9a-f]{16} done=${ACCOUNTS} left=0`));
  assert.match(out, new RegExp(`^all ${ACCOUNTS} seeds are sealed under master key`, 'm'));
  assert.deepEqual(await openedBy(oldKey), []);
  assert.equal((await openedBy(newKey)).length, ACCOUNTS);
  assert.deepEqual([await count('old_seals'), await count('master_keys')], [0, 1]);
  await payThrough(world, service, ...users);
  const next = await world.serve({ MASTER_KEY_FILE: newKey });
  await payThrough(world, next, ...users);
  const late = await world.start(['serve']).ended;
  assert.equal(late.code, 78, late.out);
  assert.match(late.out, new RegExp(`MASTER_KEY_FILE does not hold master key ${id(out)}`));
  for (const each of [service, next])
    await each.kill();
  const again = await rotate().ended;
  assert.equal(again.code, 0, again.out);
  assert.match(again.out, new RegExp(`^nothing to do: all ${ACCOUNTS} seeds are sealed under master key`, 'm'));
  assert.deepEqual(await world.sql("SELECT count(*) FROM fairway.events WHERE what = 'the master key was replaced'"), [['1']]);
});

test('a replica that was given the two keys in the other order leases after the rotation', TIMEOUT, async () => {
  const service = await world.serve(both), { code, out } = await world.start(['rotate-master-key'], { OLD_MASTER_KEY_FILE: newKey }).ended;
  assert.equal(code, 0, out);
  await payThrough(world, service, ...users);
  await service.kill();
});

test('from a key file to a passphrase and back', TIMEOUT, async () => {
  const passphrase = { CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE: 'a passphrase of this test only' };
  for (const env of [{ ...passphrase, MASTER_KEY_FILE: '', OLD_MASTER_KEY_FILE: oldKey }, { ...passphrase, MASTER_KEY_FILE: oldKey }]) {
    const { code, out } = await world.start(['rotate-master-key'], env).ended;
    assert.equal(code, 0, out);
    assert.equal(await count('master_keys'), 1);
  }
  assert.equal((await openedBy(oldKey)).length, ACCOUNTS);
});

test('a rotation waits for a replica that lacks the new key; one that it did not see is not ready afterwards', TIMEOUT, async () => {
  const service = await world.serve(), timeout = String(Math.ceil(slower(2000) / 1000));
  const { code, out } = await world.start(['rotate-master-key'], { ...both, START_TIMEOUT: timeout }).ended;
  assert.equal(code, 75, out);
  assert.match(out, /1 of the replicas lack master key [0-9a-f]{16}: give it to them as MASTER_KEY_FILE beside the old one, and restart them/);
  assert.deepEqual([(await openedBy(oldKey)).length, await count('master_keys')], [ACCOUNTS, 1]);
  service.process.kill('SIGSTOP');
  await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fairway%'");
  const ended = await rotate().ended;
  assert.equal(ended.code, 0, ended.out);
  service.process.kill('SIGCONT');
  const keys = await until(async () => (await service.get('/readyz')).json.checks.find(({ name, ok }) => name === 'keys' && !ok), 30_000, 'it is not ready');
  assert.equal(keys.reason, 'this replica lacks a master key that sealed seeds need');
  await service.kill();
  assert.equal((await world.start(['rotate-master-key'], { OLD_MASTER_KEY_FILE: newKey }).ended).code, 0);
});

test('of two rotations to different keys one waits for longer than START_TIMEOUT, and is refused before it changes anything', TIMEOUT, async t => {
  const third = path.join(world.folder, 'third.key'), release = await world.holdProvisioning(), seconds = Math.ceil(slower(3000) / 1000);
  t.after(release);
  await world.fairway('keygen', third);
  const commands = [newKey, third].map(file => world.start(['rotate-master-key'],
    { MASTER_KEY_FILE: file, OLD_MASTER_KEY_FILE: oldKey, START_TIMEOUT: String(seconds) }));
  await until(() => commands.every(({ said }) => /rotate-master-key is waiting/.test(said())), 30_000, 'both wait');
  await sleep(1000 * (seconds + 1));
  assert.equal(await count('master_keys'), 1);
  release();
  const ended = await Promise.all(commands.map(command => command.ended)), won = ended.findIndex(({ code }) => code === 0);
  assert.notEqual(won, -1, JSON.stringify(ended));
  assert.equal(ended[1 - won].code, 78, ended[1 - won].out);
  assert.match(ended[1 - won].out, /cannot rotate.*a master key is stored that this process lacks/);
  assert.equal((await openedBy([newKey, third][won])).length, ACCOUNTS);
  const back = await world.start(['rotate-master-key'], { OLD_MASTER_KEY_FILE: [newKey, third][won] }).ended;
  assert.equal(back.code, 0, back.out);
});

const hasSystemd = process.geteuid() === 0 && ['systemd-creds', 'systemd-analyze'].every(name => fs.existsSync(`/usr/bin/${name}`));

test('the recipes of systemd: a credential has the key under its own name, an init step writes it, and the units are valid',
  { ...TIMEOUT, skip: !hasSystemd && 'needs root and systemd' }, async () => {
    const folder = fs.mkdtempSync(path.join(world.folder, 'systemd-')), plain = path.join(folder, 'decrypted');
    const env = { PATH: process.env.PATH, SYSTEMD_CREDENTIAL_SECRET: path.join(folder, 'host.secret') };
    fs.copyFileSync(oldKey, path.join(folder, 'master.key'));
    const encrypt = /^ {4}(systemd-creds encrypt .*)$/m.exec(page)[1].replace('/etc/fairway/', `${folder}/`);
    await run('sh', ['-c', encrypt], { cwd: folder, env });
    const sealed = path.join(folder, 'master.key.cred');
    const decrypt = name => run('systemd-creds', ['decrypt', `--name=${name}`, sealed, plain], { env });
    assert.equal(key(sealed).includes(key(oldKey)), false);
    await assert.rejects(decrypt('distribution.seed'));
    await decrypt('master.key');
    fs.chmodSync(plain, 0o400);
    const [creds, keysUnit, keysDropIn] = page.match(/(?:^ {4}.*\n)+/gm).filter(text => text.includes('[Service]'))
      .map(text => text.replaceAll(/^ {4}/gm, ''));
    const made = path.join(folder, 'made.key'), digits = `od -An -v -tx1 ${oldKey} | tr -d ' \n'`; // in the place of Vault
    await run('sh', ['-c', `umask ${/^UMask=(\d+)$/m.exec(keysUnit)[1]}
      ${/^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(keysUnit)[1].replace(/^vault .*(?= >)/, digits).replace('/run/fairway-keys/master.key', made)}`]);
    for (const MASTER_KEY_FILE of [plain, made]) {
      const service = await world.serve({ MASTER_KEY_FILE });
      await payThrough(world, service, ...users);
      await service.kill();
    }
    const unit = fs.readFileSync(new URL('../../docker/fairway.service', import.meta.url), 'utf8');
    fs.writeFileSync(path.join(folder, 'fairway.service'), unit.replace(/^ExecStart=\S+/m, `ExecStart=${fairway}`));
    fs.mkdirSync(path.join(folder, 'fairway.service.d'));
    fs.writeFileSync(path.join(folder, 'fairway-keys.service'), keysUnit);
    for (const dropIn of [creds, keysDropIn]) {
      assert.match(dropIn, /^LoadCredential=$/m);
      fs.writeFileSync(path.join(folder, 'fairway.service.d/keys.conf'), dropIn);
      const { stderr } = await run('systemd-analyze', ['verify', path.join(folder, 'fairway.service')],
        { env: { ...env, SYSTEMD_UNIT_PATH: `${folder}:` } });
      assert.doesNotMatch(stderr, /fairway|keys\.conf/);
    }
  });

test('false rows of the role of serve: no third master key; false seals delay a rotation until the owner gives them up', TIMEOUT, async () => {
  const [[keyId]] = await world.sql('SELECT key_id FROM fairway.master_keys'), account = world.client.publicKey();
  const call = text => asRole('fairway', `SELECT fairway.${text}`);
  await call(`store_accounts(ARRAY['${account}'], ARRAY[decode(repeat('00', 72), 'hex')], ARRAY['${keyId}'], NULL, NULL)`);
  await call("store_master_key('ffffffffffffffff', NULL, NULL)");
  await assert.rejects(call("store_master_key('fffffffffffffffe', NULL, NULL)"), ({ stderr }) => /has not ended/.test(stderr));
  assert.match((await rotate().ended).out, /does not hold master key ffffffffffffffff/);
  await asRole('fairway_owner', "DELETE FROM fairway.master_keys WHERE key_id = 'ffffffffffffffff'");
  const { code, out } = await rotate().ended;
  assert.equal(code, 1, out);
  assert.match(out, new RegExp(`^1 of ${ACCOUNTS + 1} sealed seeds do not open`, 'm'));
  const [[fresh]] = await world.sql(`SELECT key_id FROM fairway.master_keys WHERE key_id <> '${keyId}'`);
  await asRole('fairway_owner', /^ {7}(UPDATE .*)$/m.exec(page)[1].replace('NEW_KEY_ID', fresh).replace('G...', account));
  const again = await rotate().ended;
  assert.equal(again.code, 0, again.out);
  assert.equal(await count('master_keys'), 1);
});
