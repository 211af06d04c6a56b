// A client asks for three leases a second, and somebody asks /readyz four times a second, while faults come and go: what /readyz says is not what
// the client gets for at most 10 s. FAIRWAY_SIZE=long has all faults, each for longer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep, slower, until } from '../e2e/harness.mjs';
import { flip } from '../e2e/lies.mjs';
import { fastHost, restartSick } from '../e2e/sick-server.mjs';
import { Patient } from './patient.mjs';
import { setOptions } from './faults.mjs';

const LONG = process.env.FAIRWAY_SIZE === 'long', FAULT_MS = 20_000, WELL_MS = 3000, WRONG_MS = 10_000;
const one = new Patient(), leases = [], said = [];
let server, over = false, locker, stuck, ending, first;

before(async () => {
  await one.start({ rpcs: 2 });
  server = await restartSick(one.world);
});
after(async () => {
  over = true;
  await one.stop();
});

/** A lease and its fee bump, which is submitted, so that it ends. */
async function lease() {
  const begun = Date.now(), { status, json } = await one.lease(20).catch(() => ({ status: 0 }));
  if (status !== 201) {
    leases.push({ begun, granted: json?.code === 'CHANNEL_ACCOUNT_UNAVAILABLE' ? undefined : false });
    return;
  }
  const transaction = TransactionBuilder.fromXDR(json.transactionXdr, one.world.passphrase);
  transaction.sign(one.users[0]);
  const bump = await one.service.post('/v1/fee-bumps', { transactionXdr: transaction.toXDR() }).catch(() => ({}));
  leases.push({ begun, granted: bump.status === 200 });
  if (bump.status === 200)
    await one.world.network.sendTransaction(TransactionBuilder.fromXDR(bump.json.transactionXdr, one.world.passphrase)).catch(() => {});
}

async function ask() {
  const at = Date.now(), { status } = await fetch(`${one.service.adminUrl}/readyz`, { signal: AbortSignal.timeout(3000) }).catch(() => ({ status: 0 }));
  said.push({ at, ready: status === 200 });
}

async function every(ms, act) {
  for (const all = new Set(); !over; await sleep(ms)) {
    const acts = act().finally(() => all.delete(acts));
    all.add(acts);
  }
}

/** The longest time for which what was said is not what the leases that began then got, since from: [ms, what was said]. */
function wrongFor(from) {
  let longest = [0], since;
  for (const { at, ready } of said.filter(({ at }) => at >= from).toSorted((a, b) => a.at - b.at)) {
    const got = leases.filter(({ begun }) => begun <= at).toSorted((a, b) => a.begun - b.begun).at(-1);
    since = got?.granted === undefined || got.granted === ready ? undefined : since ?? at;
    if (since !== undefined && at - since > longest[0])
      longest = [at - since, `ready: ${ready}`];
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
const signer = (weight, ...signers) => () => setOptions(one, { lowThreshold: 2 * weight, signer: { ed25519PublicKey: one.users[1].publicKey(), weight } },
  one.world.distribution, ...signers.map(i => one.users[i]));

const sql = (begin, end) => [() => one.world.sql(begin), () => one.world.sql(end)];
const locked = (table, mode = 'EXCLUSIVE') => [lock(`LOCK TABLE fairway.${table} IN ${mode} MODE`), unlock];
const rpc = (say, ...which) => [() => one.rpc = async (call, forward, i) => which.length === 0 || which.includes(i) ? say(call, forward) : forward(), () => one.rpc = null];
const lies = settings => [() => one.world.localnet.faults.configure(settings), () => one.world.localnet.faults.configure({ reset: true })];
const END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fairway'";
const onRole = (begin, end) => sql(`ALTER ROLE fairway ${begin}; ${END_SESSIONS}`, `ALTER ROLE fairway ${end}; ${END_SESSIONS}`);
const onLease = body => sql(`CREATE FUNCTION public.test_fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$;
  CREATE TRIGGER fault BEFORE INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.test_fault()`, 'DROP FUNCTION public.test_fault CASCADE');
const failed = (call, message) => ({ jsonrpc: '2.0', id: call.id, error: { code: -32600, message } });
const slow = ms => async (call, forward) => (await sleep(ms), forward());
/** name: [begin, end]; those at full size alone come after the empty name */
const faults = {
  'the disk is full': [() => server.fill(), () => server.free()],
  'the standby is gone': [() => one.world.setStandby('nobody'), () => one.world.setStandby('')],
  'somebody locks the accounts': locked('channel_accounts'),
  'no key can be kept': locked('idempotency_keys'),
  'the database is stopped': [() => one.world.postgres('stop', { mode: 'immediate' }), async () => { server = await restartSick(one.world, true); }],
  'no session of ours may write': onRole('SET default_transaction_read_only = on', 'RESET default_transaction_read_only'),
  "the database's clock is fast": [() => server.setClock(60), () => server.setClock(0)],
  'the signers are changed': [signer(1), signer(0, 1)],
  'all RPCs hang': rpc(() => new Promise(() => {})),
  'RPC 2 answers 429': rpc(() => 429, 1),
  'the key process stands still': [() => process.kill(one.service.keydPid, 'SIGSTOP'), async () => one.service = await one.world.serve(one.env)], // fairway has ended
  "the host's clock is fast": [async () => [first, one.service] = [one.service, await one.world.serve({ ...one.env, ...fastHost(300) }, [], false)],
    async () => { await one.service.kill(); one.service = first; }],
  '': [],
  'nobody may read the accounts': locked('channel_accounts', 'ACCESS EXCLUSIVE'),
  'nobody may write leases': locked('leases'),
  'nobody may write bids': locked('fee_bumps'),
  'nobody may write ledgers': locked('ledgers'),
  'the cursor is locked': [lock('SELECT FROM fairway.cursor FOR UPDATE'), unlock],
  'a lease takes three seconds': onLease('PERFORM pg_sleep(3)'),
  'the database refuses leases': onLease("RAISE 'no'"),
  'our role may have no session': onRole('CONNECTION LIMIT 0', 'CONNECTION LIMIT -1'),
  'our role may not log in': onRole('NOLOGIN', 'LOGIN'),
  'sessions end each second': [() => ending = setInterval(() => one.world.sql(END_SESSIONS).catch(() => {}), 1000), () => clearInterval(ending)],
  'our role may not write leases': sql('REVOKE INSERT, UPDATE ON fairway.leases FROM fairway', 'GRANT INSERT, UPDATE ON fairway.leases TO fairway'),
  'a table has another name': sql('ALTER TABLE fairway.leases RENAME TO other', 'ALTER TABLE fairway.other RENAME TO leases'),
  "the database's clock is slow": [() => server.setClock(-60), () => server.setClock(0)],
  "the network's clock is fast": lies({ jump: 1, jumpSeconds: 60 }),
  'an operator pauses leases': [() => one.world.run('pause', '--reason', 'a test'), () => one.world.run('resume')],
  'an operator holds grants': [() => one.world.run('hold', 'a test'), () => sleep(1000)],
  'all accounts are quarantined': sql("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'a test'",
    "UPDATE fairway.channel_accounts SET state = 'active', quarantine_reason = NULL"),
  'no submission is included': lies({ loseSubmission: 1 }),
  'no node has room': lies({ tryAgainLater: 1 }),
  'half of the answers of RPCs are lost': lies({ loseAnswer: 0.5 }),
  'RPCs have internal errors': lies({ internalError: 1 }),
  'RPCs are far behind': lies({ lagLedgers: 40 }),
  'all RPCs answer 429': rpc(() => 429),
  'all RPCs close connections': rpc(() => null),
  'all RPCs answer after a second': rpc(slow(1000)),
  'all RPCs answer after four seconds': rpc(slow(4000)),
  'all RPCs have no ledger from now on': rpc(async (call, forward) => call.method === 'getLedgers' ? failed(call, 'no history') : forward()),
  'RPC 1 hangs': rpc(() => new Promise(() => {}), 0),
  'RPC 2 lies': rpc(async (call, forward) => call.method === 'getLedgers' ? flip(400)(await forward()) : forward(), 1),
  'RPC 1 is stuck': rpc(async (call, forward) => {
    stuck ??= (await forward()).result?.latestLedger;
    return call.method === 'getLedgers' ? failed(call, `start ledger (${call.params.startLedger}) must be between the oldest ledger: 2 and the latest ledger: ${stuck} for this rpc instance.`) : forward();
  }, 0),
};
const names = Object.keys(faults), quick = names.splice(0, names.indexOf(''));

for (const name of [...quick, ...LONG ? names.slice(1) : []])
  test(`EX2 ${name}`, { timeout: 300_000 }, async () => {
    const [begin, end] = faults[name];
    if (said.length === 0)
      for (const [ms, act] of [[300, lease], [250, ask]])
        every(ms, act);
    const from = Date.now();
    await sleep(3000);
    await begin();
    await sleep(FAULT_MS);
    await end();
    const ended = Date.now(), isWell = () => said.at(-1).ready && leases.some(({ begun, granted }) => granted && begun > ended);
    await until(isWell, 120_000, 'all is well again');
    await sleep(WELL_MS);
    assert.ok(leases.filter(({ begun }) => begun >= from).length > 20 && said.filter(({ at }) => at >= from).length > 20);
    const [ms, words] = wrongFor(from);
    if (process.env.SHOW) console.log(name, ms, words);
    assert.ok(ms <= slower(WRONG_MS), `wrong for ${ms} ms: ${words}`);
    console.log(`${name}: wrong for at most ${ms} ms`);
  });
