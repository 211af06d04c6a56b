// ensure-accounts with seeds that cannot be opened and accounts that cannot be merged: each is named and set aside, and the pool reaches its
// size. Also keys that were stored for accounts that are not needed any more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StrKey } from '@stellar/stellar-sdk';
import { startProvisioning } from './provisioning.mjs';

const REASON = 'its sealed seed does not open';
let provisioning, world, proxy, start, ensure, exists, assertExactly, ensureExactly;

before(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy, start, ensure, exists, assertExactly, ensureExactly } = provisioning);
});
after(() => provisioning?.stop());

const accounts = (...args) => start(['accounts', ...args]).ended;
const keys = async (state, order = 'slot') => (await world.sql(
  `SELECT public_key FROM fairway.channel_accounts WHERE state = '${state}' ORDER BY ${order}`)).flat();
const row = key => world.stateOf(key);

/** Damages a sealed seed; a second call repairs it. */
const damage = key => world.sql(`UPDATE fairway.channel_accounts
  SET sealed_seed = set_byte(sealed_seed, 40, get_byte(sealed_seed, 40) # 1) WHERE public_key = '${key}'`);

/** The run ends with `count` active accounts and names those set aside; a second run changes nothing. */
async function endsAt(count, aside) {
  const { code, out } = await ensure(count);
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`^${count} channel accounts active$`, 'm'));
  for (const key of aside) {
    assert.equal(out.split('\n').filter(line => line.includes('channel account quarantined') && line.includes(key)).length, 1, out);
    assert.deepEqual(await row(key), ['quarantined', REASON]);
  }
  const stands = await world.sql('SELECT public_key, state, slot FROM fairway.channel_accounts ORDER BY public_key');
  assert.equal(stands.filter(([, state]) => state === 'active').length, count);
  assert.equal(stands.filter(([, state]) => state === 'retiring').length, 0);
  const { sent } = proxy;
  const again = await ensure(count);
  assert.equal(again.code, 0, again.out);
  assert.deepEqual(await world.sql('SELECT public_key, state, slot FROM fairway.channel_accounts ORDER BY public_key'), stands);
  assert.equal(proxy.sent, sent, 'nothing is left to do');
}

test('shrinking: retiring accounts with broken seeds are quarantined, and the others of their batch are merged', { timeout: 600_000 }, async () => {
  await ensureExactly(6);
  const active = await keys('active'), broken = [active[2], active[4]];
  for (const key of broken)
    await damage(key);
  await endsAt(1, broken);
  for (const key of active.slice(1))
    assert.equal(exists(key), broken.includes(key));
  await endsAt(3, []);
  for (const key of broken)
    await damage(key);
  const { code, out } = await accounts('release', ...broken);
  assert.equal(code, 0, out);
  await ensureExactly(5);
  await ensureExactly(1);
});

test('accounts that cannot be merged are set aside with the reason, and the others of their transaction are merged', { timeout: 600_000 }, async () => {
  await ensureExactly(5);
  const active = await keys('active'), [ahead, trusting] = active.slice(2);
  const { state } = world.localnet.chain, idOf = key => Buffer.from(StrKey.decodeEd25519PublicKey(key)).toString('hex');
  const change = (key, fields) => state.add({ ...state.peek(idOf(key)), ...fields });
  const { sequence } = state.peek(idOf(ahead));
  change(ahead, { sequence: 2n ** 62n });
  change(trusting, { subEntries: 1 });
  const asked = await accounts('retire', trusting);
  assert.match(asked.out, new RegExp(`^${trusting} refused: it has trustlines`, 'm'), asked.out);
  const { code, out } = await ensure(1);
  assert.equal(code, 0, out);
  for (const [key, reason] of [[ahead, "its sequence number is ahead of the network's, so it could not be merged"],
    [trusting, 'it has trustlines, offers, data or signers, or sponsors something: remove these first']]) {
    assert.ok(out.includes(`channel account quarantined" account=${key} reason="${reason}"`), out);
    assert.deepEqual(await row(key), ['quarantined', reason]);
  }
  assert.deepEqual(active.map(exists), [true, false, true, true, false]);
  const refused = await accounts('release', ahead);
  assert.equal(refused.code, 1, refused.out);
  assert.match(refused.out, /refused: its sequence number is ahead/);
  change(ahead, { sequence });
  change(trusting, { subEntries: 0 });
  const released = await accounts('release', ahead, trusting);
  assert.equal(released.code, 0, released.out);
  await ensureExactly(1);
});

test('growing: a stored key with a broken seed is set aside, does not count, and can be retired', { timeout: 600_000 }, async () => {
  await ensureExactly(1);
  assert.equal((await ensure(90000)).code, 78, 'the distribution account cannot pay; the keys stay stored');
  const [first, second, third] = await keys('creating');
  await damage(first);
  await damage(third);
  await endsAt(4, [first, third]);
  assert.deepEqual(await row(second), ['active', '']);
  const released = await accounts('release', first);
  assert.equal(released.code, 1, released.out);
  assert.match(released.out, /refused: the network has no such account; retire it/);
  const { code, out } = await accounts('retire', first, third);
  assert.equal(code, 0, out);
  await assertExactly(4);
});

test('Z6: stored keys that are not needed any more are retired by hand, and their seeds stay', { timeout: 600_000 }, async () => {
  const left = await keys('creating');
  assert.ok(left.length > 10);
  const { code, out } = await accounts('retire', left[0], left[1]);
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`^${left[1]} retired: the network has no such account$`, 'm'));
  assert.deepEqual(await world.sql(`SELECT state, slot, octet_length(sealed_seed) FROM fairway.channel_accounts
    WHERE public_key = '${left[0]}'`), [['retired', '', '72']]);
  await ensureExactly(6);
  assert.equal((await keys('creating')).length, left.length - 4, 'the others are used when the pool grows');
});
