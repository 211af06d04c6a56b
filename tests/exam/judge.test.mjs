// A client asks for three leases a second, and somebody asks /readyz four times a second, while faults come and go: what /readyz says is not what
// the client gets for at most 10 s. FAIRWAY_SIZE=long has all faults, each for longer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep, slower } from '../e2e/harness.mjs';
import { restartSick } from '../e2e/sick-server.mjs';
import { Patient } from './patient.mjs';
import { setOptions } from './faults.mjs';

const LONG = process.env.FAIRWAY_SIZE === 'long', FAULT_MS = LONG ? 40_000 : 14_000, WELL_MS = 12_000, WRONG_MS = 10_000;
const one = new Patient(), leases = [], said = [];
let server, over = false, locker;

before(async () => {
  await one.start();
  server = await restartSick(one.world);
});
after(async () => {
  over = true;
  await one.stop();
});

/** A lease that is submitted, so that it ends. */
async function lease() {
  const begun = Date.now(), { status, json } = await one.lease(20).catch(() => ({ status: 0 }));
  leases.push({ begun, granted: status === 201 || json?.code === 'CHANNEL_ACCOUNT_UNAVAILABLE' });
  if (status !== 201)
    return;
  const transaction = TransactionBuilder.fromXDR(json.transactionXdr, one.world.passphrase);
  transaction.sign(one.users[0]);
  const bump = await one.service.post('/v1/fee-bumps', { transactionXdr: transaction.toXDR() }).catch(() => ({}));
  if (bump.status === 200)
    await one.world.network.sendTransaction(TransactionBuilder.fromXDR(bump.json.transactionXdr, one.world.passphrase)).catch(() => {});
}

async function ask() {
  const at = Date.now(), { status } = await fetch(`${one.service.adminUrl}/readyz`).catch(() => ({ status: 0 }));
  said.push({ at, ready: status === 200 });
}

async function every(ms, act) {
  for (const all = new Set(); !over; await sleep(ms)) {
    const acts = act().finally(() => all.delete(acts));
    all.add(acts);
  }
}

/** The longest time for which what was said is not what the leases that began then got, since from. */
function wrongFor(from) {
  let longest = 0, since;
  for (const { at, ready } of said.filter(({ at }) => at >= from).toSorted((a, b) => a.at - b.at)) {
    const got = leases.filter(({ begun }) => begun <= at).toSorted((a, b) => a.begun - b.begun).at(-1);
    since = got === undefined || got.granted === ready ? undefined : since ?? at;
    longest = Math.max(longest, since === undefined ? 0 : at - since);
  }
  return longest;
}

const lock = statement => () => {
  locker = one.world.sql(`BEGIN; ${statement}; SELECT pg_sleep(90); COMMIT`).catch(() => {});
};
const unlock = async () => {
  await one.world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(90)%' AND pid <> pg_backend_pid()");
  await locker;
};
const signer = weight => () => setOptions(one, { medThreshold: 2 * weight, signer: { ed25519PublicKey: one.users[1].publicKey(), weight } }, one.world.distribution);

/** name: [begin, end, only at full size] */
const faults = {
  'the disk is full': [() => server.fill(), () => server.free()],
  'the standby is gone': [() => one.world.setStandby('nobody'), () => one.world.setStandby('')],
  'somebody locks the accounts': [lock('LOCK TABLE fairway.channel_accounts IN EXCLUSIVE MODE'), unlock],
  'nobody may read the accounts': [lock('LOCK TABLE fairway.channel_accounts IN ACCESS EXCLUSIVE MODE'), unlock, true],
  'nobody may write leases': [lock('LOCK TABLE fairway.leases IN EXCLUSIVE MODE'), unlock, true],
  'no key can be kept': [lock('LOCK TABLE fairway.idempotency_keys IN EXCLUSIVE MODE'), unlock],
  'the cursor is locked': [lock('SELECT FROM fairway.cursor FOR UPDATE'), unlock, true],
  'the database is stopped': [() => one.world.postgres('stop', { mode: 'immediate' }), async () => { server = await restartSick(one.world, true); }],
  "the database's clock is fast": [() => server.setClock(60), () => server.setClock(0)],
  'an operator pauses leases': [() => one.world.run('pause', '--reason', 'a test'), () => one.world.run('resume'), true],
  'the signers are changed': [signer(1), signer(0)],
  'the RPC hangs': [() => one.rpc = () => new Promise(() => {}), () => one.rpc = null, true],
  'the RPC answers with errors': [() => one.rpc = async call => ({ jsonrpc: '2.0', id: call.id, error: { code: -32603, message: 'sick' } }), () => one.rpc = null, true],
};

for (const [name, [begin, end, isLong]] of Object.entries(faults))
  test(`EX2 ${name}`, { timeout: 300_000, skip: isLong && !LONG }, async () => {
    if (said.length === 0)
      for (const [ms, act] of [[300, lease], [250, ask]])
        every(ms, act);
    const from = Date.now();
    await sleep(3000);
    await begin();
    await sleep(FAULT_MS);
    await end();
    await sleep(WELL_MS);
    const last = leases.toSorted((a, b) => a.begun - b.begun).at(-1);
    assert.ok(last.granted && said.at(-1).ready, 'all is well again');
    assert.ok(leases.filter(({ begun }) => begun >= from).length > 20 && said.filter(({ at }) => at >= from).length > 20);
    const wrong = wrongFor(from);
    assert.ok(wrong <= slower(WRONG_MS), `wrong for ${wrong} ms`);
    console.log(`${name}: wrong for at most ${wrong} ms`);
  });
