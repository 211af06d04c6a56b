// What an RPC can do by lying when it is the only one, by method and field: docker/security.md says the same in its table. While it lies, a live
// lease stays open, and its account stays leased; when it stops lying, everything is as before. The last test shows the two lies that are
// believed.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { slowerSeconds, payment, sleep, slower, startWorld, submit, until, within } from './harness.mjs';
import { claimRemoved, dropped, eachAccount, eachLedger, eachMeta, failedResult, forged, missing, outside, setResult, stoppedAt } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const LIE_MS = 2000; // in which several ledgers close
const ACCOUNTS = 14;
let world, service, users, node;
let lies = {}; // method -> function of the true answer and the call, which returns what is said instead
let told = new Set(); // the methods about which a lie was told
let live; // the lease of which nothing may end

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  node = await proxyRpc(world.localnet.url, async (call, forward) => {
    const answer = await forward();
    if (lies[call.method] === undefined)
      return answer;
    told.add(call.method);
    return lies[call.method](answer, call);
  });
  Object.assign(world.env, { START_TIMEOUT: '4', RPC_URL: node.url });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(async () => {
  lies = {};
  await world?.stop();
  node?.close();
});
beforeEach(async () => {
  if (live === undefined || Number(live.maxTime) - Date.now() / 1000 < 200)
    live = await lease();
});

async function lease(timeoutSeconds = 300) {
  return until(async () => { // a balance that a lie has made too low is read again after 5 s
    const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds });
    assert.ok(status === 201 || json.code === 'DISTRIBUTION_ACCOUNT_UNDERFUNDED', JSON.stringify(json));
    return status === 201 && json;
  }, 20_000, 'a lease');
}
const statusOf = async ({ hash }) => (await service.get(`/v1/transactions/${hash}`)).json.status;

/** Pays for a lease. Returns the ledger that has it. */
async function pay({ transactionXdr }) {
  const inner = TransactionBuilder.fromXDR(transactionXdr, world.passphrase);
  inner.sign(users[0]);
  const { json } = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  await submit(world, json.transactionXdr);
  return (await until(async () => {
    const found = await world.network.getTransaction(json.hash);
    return found.status === 'SUCCESS' && found;
  }, 30_000, 'the payment is in a ledger')).ledger;
}

/** Asserts that the live lease is open, that its account is leased, and that no account is quarantined. */
async function untouched(what) {
  assert.equal(await statusOf(live), 'pending', what);
  assert.deepEqual(await world.sql(`SELECT encode(lease_hash, 'hex') FROM fairway.channel_accounts WHERE public_key = '${live.channelAccount}'`), [[live.hash]], what);
  assert.deepEqual((await world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'quarantined' ORDER BY 1")).flat(), [], what);
}
const follows = async what => {
  const start = await world.cursor();
  await until(async () => await world.cursor() > start + 2, 60_000, `ledgers are followed ${what}:\n${service.log.slice(-2000)}`);
};

/** Tells the truth again, after each method of the lies was called. */
async function truth(what) {
  assert.deepEqual([...told].sort(), Object.keys(lies).sort(), `${what}: each method was called`);
  lies = {};
}
const lie = says => {
  told = new Set();
  lies = says;
};
const idle = async () => (await world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL ORDER BY slot")).flat();

// ---- getLedgers, which serve calls for each ledger: tests/integration/test_feed_faults.c and tests/unit/rpc/test_ledgers.c have more lies

const stops = true; // ingestion stops, and says so in the log and in /readyz; leases stay open

for (const [name, says, cost] of [
  ['hash: another', eachLedger(ledger => (ledger.hash = 'ab'.repeat(32))), stops],
  ['latestLedger: far ahead', setResult({ latestLedger: 4000000000 }), !stops],
  ['error: a gap', outside(900000, 900010), stops],
])
  test(`DR4 getLedgers ${name}: ${cost === stops ? 'ingestion stops' : 'nothing'}`, { timeout: 240_000 }, async () => {
    lie({ getLedgers: says });
    await until(() => told.has('getLedgers'), 60_000, 'the lie is told'); // ledgers of true answers are committed by then
    const start = await world.cursor();
    if (cost === stops) {
      await sleep(LIE_MS);
      const end = await world.cursor();
      assert.ok(end <= start + 2, `${end - start} ledgers were committed`);
    } else
      await follows(`during "${name}"`);
    await untouched(name);
    await truth(name);
    await follows(`after "${name}"`);
    await untouched(name);
  });

test('DR4 getLedgers transactions: one that is left out does not make its lease expire', { timeout: 240_000 }, async () => {
  const short = await lease(slowerSeconds(20));
  lie({ getLedgers: eachMeta(meta => {
    meta.txProcessing = [];
    meta.txSet.v1TxSet.phases.forEach(phase => phase.v0Components?.splice(0));
  }) });
  const ledger = await pay(short);
  await until(() => /ingestion stopped/.test(service.log.slice(-2000)), 30_000, 'ingestion stops');
  await sleep(LIE_MS);
  assert.ok(await world.cursor() < ledger);
  assert.equal(await statusOf(short), 'pending');
  await truth('a transaction left out');
  await until(async () => await statusOf(short) === 'confirmed', 60_000, 'the payment is confirmed');
  await untouched('a transaction left out');
});

// ---- entries of accounts in the metadata, which no hash covers

test('DR4 getLedgers entries: removed accounts cost nothing', { timeout: 240_000 }, async () => {
  const [other] = await idle();
  lie({ getLedgers: claimRemoved(live.channelAccount, other) });
  await follows('while entries are invented');
  await truth('invented entries');
  await untouched('invented entries');
});

// ---- a gap: getTransaction. tests/integration/test_gap_faults.c has lies of getNetwork and getLedgerEntries

/** Pays for a lease in a ledger that getLedgers then says it has dropped. Returns the lease. */
async function gap(says) {
  const paid = await lease();
  lie({ getLedgers: stoppedAt(await world.cursor()) });
  const ledger = await pay(paid);
  await until(async () => (await world.network.getLatestLedger()).sequence > ledger, 10_000, 'a ledger after it');
  lie({ ...says, getLedgers: dropped(ledger) });
  return { ...paid, ledger };
}

for (const [name, says, label] of [
  ['ledger: before the gap', { getTransaction: setResult({ ledger: 2 }) }, 'consumed'],
  ['status and resultXdr: failed', { getTransaction: setResult({ status: 'FAILED', resultXdr: failedResult }) }, 'failed'],
])
  test(`DR5 after a gap, ${Object.keys(says)[0]} ${name}: the lease that ended is ${label}`, { timeout: 240_000 }, async () => {
    const paid = await gap(says);
    await until(async () => await statusOf(paid) !== 'pending', 60_000, 'the gap is recovered');
    assert.equal(await statusOf(paid), label);
    await untouched(name);
    await truth(name);
    await follows(`after "${name}"`);
    await untouched(name);
  });

// ---- commands: getLedgerEntries. sendTransaction decides nothing: tests/e2e/provisioning-*.test.mjs

for (const [name, says, code, why] of [
  ['getLedgerEntries entries: none', { getLedgerEntries: setResult({ entries: [] }) }, 78, /does not exist on this network: create and fund it/],
  ['getLedgerEntries balance: 0', { getLedgerEntries: eachAccount(account => ({ ...account, balance: 0n })) }, 78, /fund it/],
  ['getLedgerEntries latestLedger: old', { getLedgerEntries: setResult({ latestLedger: 1 }) }, 75, /Stellar RPC is at ledger 1/],
  ['getLedgerEntries latestLedger: far ahead', { getLedgerEntries: setResult({ latestLedger: 4000000000 }) }, undefined, /ledger 4000000000 has closed, and the process that leads ingestion has committed ledger/],
])
  test(`ensure-accounts, ${name}: ${code === undefined ? 'it waits' : `it ends with ${code}`}, and creates nothing`, { timeout: 240_000 }, async () => {
    lie(says);
    const { said, ended } = world.start(['ensure-accounts', String(ACCOUNTS + 1)]);
    if (code === undefined)
      await until(() => why.test(said()), 60_000, `it says what it waits for:\n${said()}`);
    const result = await within(ended, code === undefined ? 6000 : slower(60_000)); // six seconds are longer than START_TIMEOUT
    assert.equal(result?.code, code, result?.out);
    assert.match(said(), why);
    assert.deepEqual(await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active'"), [[String(ACCOUNTS)]]);
    await truth(name);
    await untouched(name);
    assert.equal((await within(ended, slower(60_000)))?.code, code ?? 0, said()); // what waited goes on
  });

test('Z6 accounts retire, getLedgerEntries without the account: an open lease keeps it, and no other account is touched', { timeout: 240_000 }, async () => {
  lie({ getLedgerEntries: missing(live.channelAccount) });
  const { code, out } = await world.run('accounts', 'retire', live.channelAccount);
  assert.equal(code, 75, out);
  assert.match(out, /its lease is open until a ledger ends it/);
  await truth('retire');
  await untouched('retire');
});

test('accounts release and retire believe the RPC: an account gets a wrong sequence number, or is given up', { timeout: 240_000 }, async () => {
  const [first, second] = await idle();
  await world.sql(`UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'test' WHERE public_key = '${first}'`);
  lie({ getLedgerEntries: eachAccount((account, address) => address === first ? { ...account, seqNum: account.seqNum + 5n } : account) });
  const released = await world.run('accounts', 'release', first);
  assert.equal(released.code, 0, released.out);
  await truth('release');
  const again = await world.run('accounts', 'retire', first); // a correct read, of a sequence number that is lower, is no obstacle
  assert.equal(again.code, 0, again.out); // now no audit finds the wrong number and quarantines the account
  lie({ getLedgerEntries: missing(second) });
  const retired = await world.run('accounts', 'retire', second);
  assert.equal(retired.code, 0, retired.out);
  await truth('retire');
  await untouched('release and retire');
});

// ---- what is believed when nobody contradicts

/** A ledger closes later. */
const invented = later_s => (answer, call) => answer.result?.ledgers?.[0].sequence === call.params.startLedger
  ? forged((meta, header) => (header.scpValue.closeTime += later_s))(answer) : answer;

test('what an only RPC says consistently is believed: a gap with accounts, and whole ledgers, end a live lease', { timeout: 600_000 }, async () => {
  lie({ getLedgers: stoppedAt(await world.cursor()) });
  await until(async () => (await world.network.getLatestLedger()).sequence > await world.cursor() + 2, 30_000, 'ledgers close');
  lie({ getLedgers: dropped(await world.cursor() + 1),
    getLedgerEntries: eachAccount((account, address) => address === live.channelAccount ? { ...account, seqNum: account.seqNum + 1n } : account) });
  await until(async () => await statusOf(live) === 'consumed', 60_000, 'the lease ends although its transaction can be included');
  await truth('a gap and accounts');
  await follows('after the gap');

  if (process.env.FAIRWAY_TRUSTED)
    return; // no invented ledger is believed: tests/e2e/trusted-validators.test.mjs
  const short = await lease(20);
  lie({ getLedgers: invented(25n) });
  await until(async () => await statusOf(short) === 'expired', 30_000, 'the lease expires although its transaction can be included');
  await truth('an invented ledger');
  await until(() => /it does not follow from the last committed one/.test(service.log), 30_000, 'the ledgers of the network do not follow from it');
  const stuck = await world.cursor();
  await sleep(LIE_MS);
  assert.equal(await world.cursor(), stuck);
  lie({ getLedgers: dropped(stuck + 1) }); // as every RPC does in time
  await follows('as after a gap');
  lies = {};
});
