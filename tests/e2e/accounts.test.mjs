// accounts release and retire when it is unknown whether a COMMIT took effect, or when the RPC fails to read an account: the output says
// so, and the accounts after it are processed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { startProvisioning } from './provisioning.mjs';
import { sleep } from './harness.mjs';

let provisioning, world, proxy, start, keys;

before(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy, start } = provisioning);
  await provisioning.ensureExactly(3);
  keys = (await world.sql('SELECT public_key FROM fairway.channel_accounts ORDER BY slot')).flat();
  await world.sql("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'test'");
});
after(() => provisioning?.stop());

const states = async () => new Set((await world.sql('SELECT state FROM fairway.channel_accounts')).flat());

/** Runs a command while every COMMIT waits for a standby that does not exist; `end` ends its wait. */
async function whileWaiting(end, ...args) {
  let over = false;
  await world.setStandby('nobody');
  const ending = (async () => {
    while (!over) {
      await world.sql(`SELECT ${end}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
      await sleep(50);
    }
  })();
  const ended = await start(['accounts', ...args]).ended;
  over = true;
  await ending;
  await world.setStandby('');
  return ended;
}

for (const [name, end, verb, state] of [
  ['a standby that a COMMIT did not wait for', 'pg_cancel_backend', 'release', 'active'],
  ['a COMMIT without a response', 'pg_terminate_backend', 'retire', 'retiring'],
])
  test(`${verb}: ${name} leaves the outcome open, exit 75; a second run reports it`, { timeout: 600_000 }, async () => {
    const { code, out } = await whileWaiting(end, verb, ...keys);
    assert.equal(code, 75, out);
    assert.doesNotMatch(out, /unchanged/);
    for (const key of keys)
      assert.match(out, new RegExp(`^${key} may have changed; repeat the command to find out: .`, 'm'));
    assert.deepEqual(await states(), new Set([state]));
    const again = await start(['accounts', verb, ...keys]).ended;
    assert.equal(again.code, 0, again.out);
    assert.equal(again.out.match(/ already/g).length, keys.length);
  });

/** The error of a healthy stellar-rpc whose captive core has not published the snapshot of the latest ledger. */
const noSnapshot = { code: -32603, message: 'could not query captive core: http request failed with non-200 status code (404)' };

/** An account's ledger key in base64 begins with the type and contains the raw public key. */
const asksFor = ({ method, params }, key) => method === 'getLedgerEntries' &&
  params.keys.some(text => Buffer.from(text, 'base64').includes(Keypair.fromPublicKey(key).rawPublicKey()));

test('an account that the RPC fails to read does not change, and the list continues: exit 75', { timeout: 600_000 }, async () => {
  await world.sql("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'test'");
  const [first, ...others] = keys;
  proxy.refuse = call => asksFor(call, first) ? noSnapshot : null;
  const { code, out } = await start(['accounts', 'release', ...keys]).ended;
  proxy.refuse = () => null;
  assert.equal(code, 75, out);
  assert.match(out, new RegExp(`^${first} unchanged; repeat the command: getLedgerEntries: error -32603 could not query captive core`, 'm'));
  for (const key of others)
    assert.match(out, new RegExp(`^${key} `, 'm'));
  assert.deepEqual(await world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'quarantined'"), [[first]]);
});

test('what a captured process writes into a reason does not reach the terminal', { timeout: 600_000 }, async () => {
  const [first] = keys;
  await world.sql(`UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = E'a\\x1b]52;c;eA==\\x07\\u009b2Jö' WHERE public_key = '${first}'`);
  const { out } = await start(['accounts']).ended;
  assert.match(out, new RegExp(`^${first} quarantined .*reason "a\\?]52;c;eA==\\?\\?2Jö"$`, 'm'));
});

test('an unavailable database or RPC ends the command, which reports that later accounts did not change', { timeout: 600_000 }, async () => {
  proxy.onCall = async ({ method }) => method === 'getLedgerEntries' && 'hang up';
  const { code, out } = await start(['accounts', 'release', ...keys]).ended;
  assert.equal(code, 69, out);
  assert.match(out, new RegExp(`${keys[1]} and the accounts after it are unchanged`));
});
