// fairway check: each fault is named by its own line, and no other line says ACT.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { inRole, startWorld } from './harness.mjs';
import { refuse } from './lies.mjs';
import { fastHost } from './sick-server.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

let world, proxy;

before(async () => {
  world = await startWorld({ accounts: 4, ledgerMs: 500 });
});
after(async () => {
  await world?.stop();
  proxy?.close();
});

/** The lines of a check as {name: [mark, text]}, and its exit code. */
async function check(env = {}) {
  const { code, out } = await world.start(['check'], { NUM_CHANNEL_ACCOUNTS: '4', ...env }).ended;
  const lines = {};
  for (const [, mark, name, text] of out.replace(/\n {20}/g, ' ').matchAll(/^(ok {2}|look|ACT ) {2}(.{13}) (.*)$/gm))
    lines[name.trimEnd()] = [mark.trim(), text];
  return { code, out, lines };
}
const acts = lines => Object.keys(lines).filter(name => lines[name][0] === 'ACT');

test('CK1 nothing is wrong', async () => {
  const { code, out, lines } = await check();
  assert.equal(code, 0, out);
  assert.deepEqual(acts(lines), []);
  assert.deepEqual(Object.keys(lines), ['options', 'clients', 'validators', 'key process', 'walls', 'database', 'role',
    'network', 'rpc 1', 'disk', 'clock', 'snapshot', 'keys', 'pool', 'money']);
  assert.match(lines.pool[1], /^4 accounts are active, 4 of them idle$/);
  assert.match(lines.money[1], /^G\w+ can pay for \d+ payments$/);
});

/** The RPC has no method of this name, but what serve does not need is missing, too. */
const lacking = (method, answer) => async () => {
  proxy?.close();
  proxy = await proxyRpc(world.localnet.url, async (call, forward) => call.method === method || call.method === 'getHealth' ? answer(call) : forward());
  return { RPC_URL: proxy.url };
};
test('CK1 an RPC without getHealth is enough', async () => {
  const { code, out } = await check(await lacking('getHealth', () => 404)());
  assert.equal(code, 0, out);
});

const other = name => path.join(world.folder, name);
const faults = {
  'an option is missing': [() => ({ RPC_URL: undefined }), 'options', /RPC_URL is not set/],
  'there is no client': [() => ({ CLIENT_AUTH_PUBLIC_KEYS: undefined }), 'clients', /set CLIENT_AUTH_PUBLIC_KEYS or CLIENTS_FILE/],
  'the secret cannot be read': [() => ({ MASTER_KEY_FILE: other('nothing') }), 'key process', /nothing/],
  'the database is away': [() => ({ DATABASE_URL: 'postgresql://127.0.0.1:1/x' }), 'database', /port 1 failed/],
  'the network is another one': [() => ({ NETWORK_PASSPHRASE: 'elsewhere' }), ['network', 'keys'], /serves the network.*elsewhere/],
  'one of two RPCs is away': [() => ({ RPC_URL: `${world.localnet.url},http://127.0.0.1:1` }), 'rpc 2', /127\.0\.0\.1:1: /],
  'an RPC has no ledgers': [lacking('getLedgers', () => 403), 'rpc 1', /: getLedgers: HTTP status 403/],
  'an RPC cannot simulate': [lacking('simulateTransaction', call => refuse(-32601, 'method not found')(call)), 'rpc 1', /it lacks the method simulateTransaction/],
  'an RPC names no version': [lacking('getVersionInfo', call => refuse(-32601, 'method not found')(call)), 'rpc 1', /it lacks the method getVersionInfo/],
  'the master key is another one': [async () => {
    await world.fairway('keygen', other('other.key'));
    return { MASTER_KEY_FILE: other('other.key') };
  }, 'keys', /master key/],
  'the distribution account is another one': [() => {
    fs.writeFileSync(other('other.seed'), Keypair.random().secret(), { mode: 0o600 });
    return { DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: other('other.seed') };
  }, 'keys', /sponsored by G/],
  'there is little money': [() => ({ LOW_BALANCE_PAYMENTS: '100000000' }), 'money', /can pay for \d+ payments: .*balance is low: fund it/],
  'the pool is small': [() => ({ NUM_CHANNEL_ACCOUNTS: '5' }), 'pool', /4 accounts are active.*ensure-accounts/],
  'no standby is configured': [() => ({ DATABASE_FAILOVER: 'synchronous' }), 'standby', /no synchronous standby is configured/],
  "this host's clock is fast": [() => fastHost(300), 'clock', /this host's clock is (299|30\d) s ahead of the database's/],
};
for (const [name, [bring, line, words]] of Object.entries(faults))
  test(`CK1 ${name}`, async () => {
    const env = await bring();
    const { code, out, lines } = await check(env);
    assert.equal(code, 1, out);
    assert.deepEqual(acts(lines), [line].flat(), out); // the database is of that network, too
    assert.match(lines[[line].flat()[0]][1], words);
  });

test('CK1 the role may write', async () => {
  const { code, out, lines } = await check({ DATABASE_URL: inRole('fairway_owner', world.env.DATABASE_URL) });
  assert.equal(code, 0, out);
  assert.equal(lines.role[0], 'look', out);
});
