// ensure-accounts of one world, behind a proxy that can answer in place of the network, and the checks after each run: table and network
// agree, and no key is lost.
import assert from 'node:assert/strict';
import { StrKey } from '@stellar/stellar-sdk';
import { startWorld } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

/** Possible answers of an RPC to sendTransaction, for onSend. */
export const answers = {
  'PENDING, but lost': () => ({ status: 'PENDING' }),
  'DUPLICATE': () => ({ status: 'DUPLICATE' }),
  'TRY_AGAIN_LATER': () => ({ status: 'TRY_AGAIN_LATER' }),
  'ERROR txBAD_SEQ': () => ({ status: 'ERROR', errorResultXdr: Buffer.from('0000000000000064fffffffb00000000', 'hex').toString('base64') }),
  'no answer, not included': () => 'hang up',
  'no answer, but included': async forward => (await forward(), 'hang up'),
  'ERROR, but included': async forward => (await forward(),
    { status: 'ERROR', errorResultXdr: Buffer.from('0000000000000064fffffffd00000000', 'hex').toString('base64') }),
  'sent twice': async forward => (await forward(), null),
};

/** A proxy in front of the network. `onCall` sees each call first and may return 'hang up'; `onSend` may answer sendTransaction in its
 *  place, and `refuse` any call with a JSON-RPC error. Returning null forwards the call. */
async function startProxy(target) {
  const proxy = { onSend: () => null, refuse: () => null, onCall: async () => {}, sent: 0 };
  return Object.assign(proxy, await proxyRpc(target, async (call, forward) => {
    if (await proxy.onCall(call) === 'hang up')
      return null;
    const error = proxy.refuse(call);
    if (error !== null)
      return { jsonrpc: '2.0', id: call.id, error };
    let answer = null;
    if (call.method === 'sendTransaction') {
      proxy.sent++;
      answer = await proxy.onSend(forward, call);
    }
    if (answer === null)
      return forward().catch(() => ({}));
    return answer === 'hang up' ? null
      : { jsonrpc: '2.0', id: call.id, result: { latestLedger: 1, latestLedgerCloseTime: '1', hash: '0'.repeat(64), ...answer } };
  }));
}

/** A world without accounts: {world, proxy} and the functions below. */
export async function startProvisioning(options = {}) {
  const world = await startWorld({ accounts: 0, ledgerMs: 300, ...options });
  const proxy = await startProxy(world.localnet.url);
  world.env.RPC_URL = proxy.url;

  const start = (args, env) => world.start(args, env);
  const ensure = (count, env) => start(['ensure-accounts', String(count)], env).ended;

  /** All accounts of the network, from its own state: address -> {sequence, sponsor}. A call of the RPC for each of 1,000 rows takes seconds. */
  const accounts = () => new Map([...world.localnet.chain.state.values()].filter(({ kind }) => kind === 'account')
    .map(account => [StrKey.encodeEd25519PublicKey(Buffer.from(account.id, 'hex')), account]));

  /** The sorted addresses of the accounts that the distribution account sponsors. */
  function sponsored(all = accounts()) {
    const sponsor = Buffer.from(world.distribution.rawPublicKey()).toString('hex');
    return [...all].filter(([, account]) => account.sponsor === sponsor).map(([address]) => address).sort();
  }

  const exists = address => accounts().has(address);

  /** Table and network agree on exactly `count` accounts; `foreign` of them were created by somebody else. */
  async function assertExactly(count, foreign = []) {
    const rows = await world.sql('SELECT public_key, state, sequence FROM fairway.channel_accounts ORDER BY public_key');
    const active = rows.filter(([, state]) => state === 'active').map(([key]) => key), all = accounts();
    assert.equal(active.length, count, 'active rows');
    assert.deepEqual(rows.filter(([, state]) => state === 'retiring' || state === 'quarantined'), []);
    assert.deepEqual(sponsored(all), active.filter(key => !foreign.includes(key)), 'what the network has is what the table has');
    for (const [key, state, sequence] of rows)
      if (state === 'active')
        assert.equal(String(all.get(key).sequence), sequence);
      else
        assert.equal(all.has(key), false, `${key} is ${state}`);
    assert.deepEqual(await world.sql("SELECT 1 FROM fairway.provisioning WHERE state = 'pending'"), []);
  }

  async function ensureExactly(count, env) {
    const { code, out } = await ensure(count, env);
    assert.equal(code, 0, out);
    assert.match(out, new RegExp(`^${count} channel accounts active$`, 'm'));
    await assertExactly(count);
  }

  async function stop() {
    proxy.close();
    await world.stop();
  }
  return { world, proxy, start, ensure, sponsored, exists, assertExactly, ensureExactly, stop };
}
