// import-accounts: each line of the input is decided by the network and the pool, no seed is ever printed, what was taken can be leased and
// keeps its balance and sponsor, and a run that was killed is repeated.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, fairway, payThrough, sleep, slower, startWorld, submit, until } from './harness.mjs';

const TIMEOUT = { timeout: 600_000 };
const docker = new URL('../../docker/', import.meta.url);
let world, service, giver, users;

/** Has the giver's account execute operations, signed by these keys too. */
async function execute(operations, ...signers) {
  const builder = new TransactionBuilder(await world.network.getAccount(giver.publicKey()), { fee: '100000', networkPassphrase: world.passphrase });
  operations.forEach(operation => builder.addOperation(operation));
  const transaction = builder.setTimeout(60).build();
  transaction.sign(giver, ...signers);
  await submit(world, transaction.toXDR());
  const hash = Buffer.from(transaction.hash()).toString('hex');
  await until(async () => (await world.network.getTransaction(hash)).status === 'SUCCESS', 20_000, 'it is in a ledger');
}

/** New accounts with this balance each: by default what their reserve is. */
async function create(count, startingBalance = '1') {
  const keys = Array.from({ length: count }, () => Keypair.random());
  for (let i = 0; i < count; i += 100)
    await execute(keys.slice(i, i + 100).map(key => Operation.createAccount({ destination: key.publicKey(), startingBalance })));
  return keys;
}

/** A new account without a balance, which the giver sponsors. */
async function createSponsored() {
  const key = Keypair.random(), source = key.publicKey();
  await execute([Operation.beginSponsoringFutureReserves({ sponsoredId: source }),
    Operation.createAccount({ destination: source, startingBalance: '0' }), Operation.endSponsoringFutureReserves({ source })], key);
  return key;
}

const seedsOf = keys => keys.map(key => `${key.secret()}\n`).join('');
const start = (input, env) => world.start(['import-accounts'], env, input);
async function importing(input) {
  const ended = await start(input).ended;
  assert.doesNotMatch(ended.out, /\bS[A-Z2-7]{30}/, 'a seed is in the output');
  return ended;
}
const rows = () => world.sql(`SELECT public_key, slot, encode(sealed_seed, 'hex'), key_id, state
  FROM fairway.channel_accounts ORDER BY 1`);
/** The account on the network: its balance in stroops and its sponsor. */
function onNetwork(key) {
  const raw = Buffer.from(key.rawPublicKey()).toString('hex');
  const { balance, sponsor } = [...world.localnet.chain.state.values()].find(({ kind, id }) => kind === 'account' && id === raw);
  return { balance, sponsor };
}

before(async () => {
  world = await startWorld({ accounts: 0, ledgerMs: 300 });
  giver = await world.newAccount();
  users = [await world.newAccount(), await world.newAccount()];
});
after(() => world?.stop());

test('each line is decided, the accounts that were taken are leased, and nothing changes on the network', TIMEOUT, async () => {
  const [plain, other] = await create(2), [rich, signed, locked, trusting, sponsoring, ahead, immutable] = await create(7, '10'), sponsored = await createSponsored();
  const foreign = Keypair.random(), source = key => ({ source: key.publicKey() });
  const asset = new Asset('USD', users[0].publicKey());
  await execute([Operation.setOptions({ ...source(signed), signer: { ed25519PublicKey: foreign.publicKey(), weight: 1 } }),
    Operation.setOptions({ ...source(locked), highThreshold: 2 }),
    Operation.changeTrust({ ...source(trusting), asset }),
    Operation.beginSponsoringFutureReserves({ ...source(sponsoring), sponsoredId: giver.publicKey() }),
    Operation.changeTrust({ asset }), Operation.endSponsoringFutureReserves({}),
    Operation.bumpSequence({ ...source(ahead), bumpTo: String(2n ** 62n) })], signed, locked, trusting, sponsoring, ahead);
  const { state } = world.localnet.chain; // the local network has no operation that sets flags
  state.add({ ...state.peek(Buffer.from(immutable.rawPublicKey()).toString('hex')), flags: 4 });
  const typo = plain.secret().slice(0, -1) + (plain.secret().endsWith('A') ? 'B' : 'A');
  const taken = [plain, other, sponsored], held = taken.map(onNetwork);
  const lines = [plain.secret(), '', `\t${other.secret()} \r`, typo, plain.secret(), foreign.secret(), signed.secret(),
    locked.secret(), trusting.secret(), foreign.secret(), sponsoring.secret(), ahead.secret(), world.distribution.secret(),
    sponsored.publicKey(), 'S'.repeat(500), sponsored.secret(), immutable.secret(), rich.secret()];
  const { code, out } = await importing(lines.join('\n'));
  assert.equal(code, 1, out);
  assert.deepEqual(out.split('\n').filter(line => /^(G|line )/.test(line)), [
    `${plain.publicKey()} accepted`,
    `${other.publicKey()} accepted`,
    'line 4 refused: not a secret seed (S...)',
    `${plain.publicKey()} already in the pool: an earlier line has it`,
    `${foreign.publicKey()} refused: this network has no such account`,
    `${signed.publicKey()} refused: its master key alone does not control it: remove its other signers, or lower its thresholds`,
    `${locked.publicKey()} refused: its master key alone does not control it: remove its other signers, or lower its thresholds`,
    `${trusting.publicKey()} refused: it has trustlines, offers, data or signers, or sponsors something: remove these first`,
    `${foreign.publicKey()} refused: this network has no such account`,
    `${sponsoring.publicKey()} refused: it has trustlines, offers, data or signers, or sponsors something: remove these first`,
    `${ahead.publicKey()} refused: its sequence number is ahead of the network's, so it could not be merged`,
    `${world.distribution.publicKey()} refused: it is the distribution account`,
    'line 14 refused: not a secret seed (S...)',
    'line 15 refused: not a secret seed (S...)',
    `${sponsored.publicKey()} accepted`,
    `${immutable.publicKey()} refused: it has the flag AUTH_IMMUTABLE, so it could not be merged`,
    `${rich.publicKey()} refused: it could pay fees, so its transactions need no fee bump: send what is above its reserve away first`,
  ]);
  assert.match(out, /^3 accepted, 1 already in the pool, 13 refused\n3 channel accounts active/m);

  const before = await rows();
  assert.deepEqual(before.map(row => row[0]).sort(), taken.map(key => key.publicKey()).sort());
  const again = await importing(seedsOf(taken));
  assert.equal(again.code, 0, again.out);
  assert.match(again.out, /^0 accepted, 3 already in the pool, 0 refused$/m);
  assert.deepEqual(await rows(), before);

  service = await world.serve();
  const leases = await Promise.all(taken.map(() => payThrough(world, service, ...users)));
  assert.deepEqual(leases.map(lease => lease.channelAccount).sort(), before.map(row => row[0]));
  await assertSettled(assert, world, service, taken.length);
  assert.deepEqual(taken.map(onNetwork), held);
});

test('an account is stored only while grants are allowed, as of a ledger that is not before the last committed one', TIMEOUT, async () => {
  const [key] = await create(1), stored = ledger => world.sql(`SELECT fairway.store_accounts(ARRAY['${key.publicKey()}'],
    ARRAY[decode(repeat('00', 72), 'hex')], ARRAY[m.key_id], ARRAY[1], ${ledger}) FROM fairway.cursor c, fairway.master_keys m`);
  assert.deepEqual(await stored('c.sequence - 1'), [['f']]);
  await world.sql("UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'ledgers are missing'");
  assert.deepEqual(await stored('c.sequence'), [['f']]);
  await world.sql('UPDATE fairway.cursor SET grants_allowed = true, grants_reason = NULL');
  assert.equal((await rows()).some(row => row[0] === key.publicKey()), false);
  const { code, out } = await importing(seedsOf([key]));
  assert.equal(code, 0, out);
});

test('it waits for longer than START_TIMEOUT while another command changes the pool', TIMEOUT, async t => {
  const [key] = await create(1), release = await world.holdProvisioning(), seconds = Math.ceil(slower(3000) / 1000);
  t.after(release);
  const child = start(seedsOf([key]), { START_TIMEOUT: String(seconds) });
  await until(() => /import-accounts is waiting/.test(child.said()), 30_000, 'it waits');
  await sleep(1000 * (seconds + 1));
  release();
  const { code, out } = await child.ended;
  assert.equal(code, 0, out);
});

/** Runs while an INSERT, or the COMMIT after it, of an account in this slot or a later one does not return. */
async function stopped(slot, atCommit, run) {
  await world.sql(`CREATE OR REPLACE FUNCTION public.stop_here() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$`);
  await world.sql(`CREATE ${atCommit ? 'CONSTRAINT' : ''} TRIGGER stop_here AFTER INSERT ON fairway.channel_accounts
    ${atCommit ? 'DEFERRABLE INITIALLY DEFERRED' : ''} FOR EACH ROW WHEN (NEW.slot >= ${slot}) EXECUTE FUNCTION public.stop_here()`);
  const waiting = () => world.sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name LIKE 'fairway%'");
  try {
    return await run(() => until(async () => (await waiting()).length > 0, 30_000, 'an account is being stored'));
  } finally {
    for (const [pid] of await waiting())
      await world.sql(`SELECT pg_terminate_backend(${pid})`);
    await world.sql('DROP TRIGGER stop_here ON fairway.channel_accounts');
  }
}

for (const atCommit of [false, true])
  test(`killed in the second batch, ${atCommit ? 'at COMMIT' : 'at an INSERT'}: the next run takes the rest`, TIMEOUT, async () => {
    const keys = await create(203), count = async () => (await rows()).length, begun = await count();
    await stopped(begun + 200, atCommit, async reached => {
      const child = start(seedsOf(keys));
      await reached();
      assert.equal(await count(), begun + 200);
      child.process.kill('SIGKILL');
      await child.ended;
    });
    assert.equal(await count(), begun + 200);
    const { code, out } = await importing(seedsOf(keys));
    assert.equal(code, 0, out);
    assert.match(out, /^3 accepted, 200 already in the pool, 0 refused$/m);
    assert.equal(await count(), begun + 203);
    assert.deepEqual(await world.sql('SELECT count(*), max(slot) FROM fairway.channel_accounts'), [[String(begun + 203), String(begun + 202)]]);
  });

test('ensure-accounts merges imported accounts like its own, and a merged one cannot join again', TIMEOUT, async () => {
  await world.sql("UPDATE fairway.channel_accounts SET state = 'retired', slot = NULL WHERE slot >= 8");
  const [key] = await create(1), funds = () => BigInt(onNetwork(world.distribution).balance), held = funds();
  const first = await importing(seedsOf([key]));
  assert.equal(first.code, 0, first.out);
  await world.fairway('accounts', 'retire', key.publicKey());
  const { code, out } = await world.run('ensure-accounts', '8');
  assert.equal(code, 0, out);
  assert.equal(funds() > held, true, 'its balance went to the distribution account');
  await execute([Operation.createAccount({ destination: key.publicKey(), startingBalance: '5' })]);
  const again = await importing(seedsOf([key]));
  assert.equal(again.code, 1);
  assert.match(again.out, new RegExp(`^${key.publicKey()} refused: it has left this pool`, 'm'));
});

test('input that is too long is refused whole, and no input changes nothing', TIMEOUT, async () => {
  const before = await rows(), { code, out } = await importing('x\n'.repeat(10_001));
  assert.equal(code, 78, out);
  assert.match(out, /more than 10000 seeds/);
  assert.deepEqual((await importing('')).code, 0);
  assert.deepEqual(await rows(), before);
});

/** The lines of keys.md that import, by what they begin with. */
const recipes = fs.readFileSync(new URL('keys.md', docker), 'utf8').split('\n')
  .filter(line => /^ {4,}\S.*\| fairway import-accounts$/.test(line)).map(line => line.trim());
const recipe = begin => recipes.find(line => line.startsWith(begin));

/** A seed as wallet-backend and the Disbursement Platform store it. */
function encrypted(text, passphrase) {
  const nonce = crypto.randomBytes(12), key = crypto.createHash('sha256').update(passphrase).digest().subarray(0, 16);
  const cipher = crypto.createCipheriv('aes-128-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

test('the recipes of keys.md import from the fixtures of other services', TIMEOUT, async () => {
  assert.equal(recipes.length, 3);
  const folder = fs.mkdtempSync(path.join(world.folder, 'recipes-')), write = (name, text) => fs.writeFileSync(path.join(folder, name), text);
  fs.symlinkSync(new URL('seeds.mjs', docker), path.join(folder, 'seeds.mjs'));
  const keys = await create(6), passphrase = Keypair.random().secret(), old = new URL(world.superuser);
  write('.env', ['# Seeds of this server', 'NETWORK=stellar:testnet', `FACILITATOR_STELLAR_PRIVATE_KEY="${keys[0].secret()}"`,
    `CHANNEL_1=${keys[1].secret()} # spare`, `PAY_TO=${keys[5].publicKey()}`, ''].join('\n'));
  write('passphrase', `${passphrase}\n`);
  write('raw-keys', `${Buffer.from(keys[4].rawSecretKey()).toString('hex')}\n`);
  await world.sql('CREATE DATABASE old');
  old.pathname = '/old';
  await promisify(execFile)('psql', ['-Xqc', `CREATE TABLE channel_accounts (public_key varchar(64) PRIMARY KEY, encrypted_private_key varchar(256));
    INSERT INTO channel_accounts
    VALUES ${keys.slice(2, 4).map(key => `('${key.publicKey()}', '${encrypted(key.secret(), passphrase)}')`)}`, old.href]);
  const env = { ...world.env, PATH: `${path.dirname(fairway)}:${path.dirname(process.execPath)}:${process.env.PATH}`, OLD_DATABASE_URL: old.href,
    PASSPHRASE_FILE: 'passphrase' };
  for (const [begin, expected] of [['grep', keys.slice(0, 2)], ['psql', keys.slice(2, 4)], ['node', keys.slice(4, 5)]]) {
    const { stdout } = await promisify(execFile)('sh', ['-c', recipe(begin)], { cwd: folder, env });
    assert.deepEqual(stdout.match(/^G.*$/gm).sort(), expected.map(key => `${key.publicKey()} accepted`).sort());
  }
});
