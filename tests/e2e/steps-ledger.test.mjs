// DR1, DR2, DR7: the ledger transaction, killed, cut off or stopped at every point. At every instant that another session can see, a lease is
// closed if and only if its ledger's row and the cursor are committed. Also when a ledger's metadata claims what no transaction explains:
// then the transaction rolls back, an account is read from the RPC, and the transaction runs again.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { ledgerTransaction, points, Stop } from '../faults/stop.mjs';
import { decode, encode } from '../localnet/xdr.mjs';
import { assertSettled, payment, sleep, startWorld, submit, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const ACCOUNTS = 8;
let world, users, service, stop, list, confirmed, rpc;
let invented; // LedgerEntryData that the metadata of every ledger claims; undefined: none
let refused = 0; // reads of accounts that fail before one is answered

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  rpc = await proxyRpc(world.localnet.url, async (call, forward) =>
    call.method === 'getLedgerEntries' && invented && refused > 0 ? [null, 500][refused-- % 2] : claim(await forward()));
  world.env.RPC_URL = rpc.url;
  users = [await world.newAccount(), await world.newAccount()];
  world.localnet.pause();
  stop = new Stop(path.join(world.folder, 'stop'));
  service = await world.serve(stop.env);
});
after(async () => {
  await world?.stop();
  rpc?.close();
});

/** Adds the invented change to the metadata of each ledger that has transactions. */
function claim(answer) {
  for (const ledger of invented ? answer.result?.ledgers ?? [] : []) {
    const meta = decode('LedgerCloseMeta', Buffer.from(ledger.metadataXdr, 'base64'));
    meta.v2.txProcessing.at(-1)?.postTxApplyFeeProcessing.push(
      { type: 1, updated: { lastModifiedLedgerSeq: ledger.sequence, data: invented, ext: { v: 0 } } });
    ledger.metadataXdr = Buffer.from(encode('LedgerCloseMeta', meta)).toString('base64');
  }
  return answer;
}

/** Begins to invent a use of an idle account. */
async function invent() {
  const [[address]] = await world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' ORDER BY slot LIMIT 1");
  const key = encode('LedgerKey', { type: 0, account: { accountId: { type: 0, ed25519: Keypair.fromPublicKey(address).rawPublicKey() } } });
  const answer = await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(
    { jsonrpc: '2.0', id: 1, method: 'getLedgerEntries', params: { keys: [Buffer.from(key).toString('base64')] } }) });
  const data = decode('LedgerEntryData', Buffer.from((await answer.json()).result.entries[0].xdr, 'base64'));
  data.account.seqNum += 1000n;
  invented = data;
}

/** Takes a lease that the next ledger will include. */
async function submitted() {
  const leased = await service.post('/v1/transactions',
    { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: 300 });
  assert.equal(leased.status, 201, JSON.stringify(leased.json));
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(users[0]);
  const bumped = await service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() });
  assert.equal(bumped.status, 200, JSON.stringify(bumped.json));
  await submit(world, bumped.json.transactionXdr);
  return leased.json.hash;
}

const latest = async () => (await world.network.getLatestLedger()).sequence;

/** Checks in one snapshot that lease, account, ledger row and cursor agree; returns {closed, cursor}. */
async function look(hash, ledger) {
  const [[closed, idle, row, cursor]] = await world.sql(`SELECT l.settled_at IS NOT NULL, a.lease_hash IS DISTINCT FROM l.hash,
    EXISTS (SELECT FROM fairway.ledgers WHERE sequence = ${ledger}), c.sequence
    FROM fairway.lease_history l JOIN fairway.channel_accounts a ON a.public_key = l.account, fairway.cursor c
    WHERE l.hash = '\\x${hash}'`);
  assert.equal(closed, idle, 'lease and account');
  assert.equal(closed, row, 'lease and ledger row');
  assert.equal(closed, Number(cursor) >= ledger ? 't' : 'f', 'lease and cursor');
  return { closed: closed === 't', cursor: Number(cursor) };
}

/** Polls until stop() is called, which returns the number of polls. */
function watch(hash, ledger) {
  let stopped = false, looks = 0;
  const watching = (async () => {
    while (!stopped) {
      await look(hash, ledger);
      looks++;
      await sleep(5);
    }
  })();
  return async () => {
    stopped = true;
    await watching;
    return looks;
  };
}

const settled = (hash, ledger) => until(async () => (await look(hash, ledger)).closed, 20_000, `lease ${hash} is closed`);

async function endedOnce(hash, ledger) {
  assert.deepEqual(await world.sql(`SELECT result, ledger FROM fairway.lease_history WHERE hash = '\\x${hash}'`), [['confirmed', String(ledger)]]);
  const numbers = (await world.sql('SELECT sequence FROM fairway.ledgers ORDER BY sequence')).map(([n]) => Number(n));
  assert.deepEqual(numbers, Array.from(numbers, (_, i) => numbers[0] + i), 'no ledger skipped');
}

/** The sequence numbers of the pool, added up. */
const used = async () => Number((await world.sql('SELECT sum(sequence) FROM fairway.channel_accounts'))[0][0]);

/** Closes a ledger by hand; the leader follows. */
async function closeLedger() {
  await world.localnet.closeLedger();
  return latest();
}

test('DR1 the points of the ledger transaction are those of faults/points', { timeout: 600_000 }, async () => {
  const first = await submitted(); // statements are prepared once per session
  await settled(first, await closeLedger());
  const hash = await submitted();
  const lines = await stop.trace(async () => settled(hash, await closeLedger()));
  list = points('ledger', ledgerTransaction(lines));
});

test('DR1 the points of a ledger transaction that has to read an account are those of faults/points', { timeout: 60_000 }, async () => {
  await invent();
  const first = await submitted();
  await settled(first, await closeLedger());
  const hash = await submitted();
  const lines = await stop.trace(async () => settled(hash, await closeLedger()));
  confirmed = points('ledger-confirmed', ledgerTransaction(lines, 2));
  invented = undefined;
});

/** Returns every n-th point, and all points from COMMIT on; with FAIRWAY_SIZE=long, all. */
const sample = (n, all = list) => all.filter((_, i) => process.env.FAIRWAY_SIZE === 'long' || i % n === 0 || i >= all.length - 4);

for (const [action, reads] of [['kill', false], ['cut', false], ['kill', true], ['cut', true]])
  test(`${action === 'kill' ? 'DR1' : 'DR2'} the leader is ${action === 'kill' ? 'killed' : 'cut off'} at every point${
    reads ? ' of a ledger transaction that reads an account' : ''}: no early and no lost release`, { timeout: 600_000 }, async t => {
    let looks = 0, committed = 0;
    const all = reads ? confirmed : list, chosen = reads ? sample(3, all) : action === 'kill' ? all : sample(2);
    if (reads)
      await invent();
    const before = await used();
    for (const [i, { point, count }] of chosen.entries()) {
      const hash = await submitted();
      refused = i % 3; // reads that the RPC does not answer
      stop.arm(action, point, count);
      const ledger = await closeLedger();
      const stopWatching = watch(hash, ledger);
      await stop.reach(point);
      if (action === 'kill') {
        assert.equal((await service.ended).signal, 'SIGKILL');
        committed += (await look(hash, ledger)).closed;
        service = await world.serve(stop.env);
      }
      await settled(hash, ledger);
      looks += await stopWatching();
      await endedOnce(hash, ledger);
    }
    invented = undefined;
    t.diagnostic(`${chosen.length} of ${all.length} points, ${looks} looks: 0 early, 0 lost releases`);
    if (action === 'kill')
      assert.ok(committed > 0 && committed < chosen.length, 'points on both sides of the COMMIT');
    assert.equal(await used(), before + chosen.length, 'each lease used one sequence number, and what was invented counts for nothing');
    assert.deepEqual(await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state <> 'active'"), [['0']]);
  });

test('DR7 a stopped leader that has lost its lock commits nothing when it continues with its old term', { timeout: 600_000 }, async t => {
  const old = service;
  let takeovers = 0;
  for (const { point, count } of sample(3)) {
    const hash = await submitted();
    stop.arm('stop', point, count);
    const ledger = await closeLedger();
    const stopWatching = watch(hash, ledger);
    await stop.reach(point);
    await sleep(100);
    const [[term]] = await world.sql('SELECT term FROM fairway.cursor');
    // the server releases the stopped leader's locks, as it does by itself after the idle timeout
    await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway ingest'");
    service = await world.serve();
    await settled(hash, ledger);
    // after COMMIT the lease is closed already, and the young one may not lead yet
    await until(async () => Number((await world.sql('SELECT term FROM fairway.cursor'))[0][0]) > Number(term), 20_000, 'the term is another one');
    const next = await submitted();
    old.process.kill('SIGCONT');
    const nextLedger = await closeLedger();
    await settled(next, nextLedger);
    await stopWatching();
    await endedOnce(hash, ledger);
    await endedOnce(next, nextLedger);
    await service.kill('SIGKILL');
    service = old;
    takeovers++;
  }
  t.diagnostic(`${takeovers} takeovers, 0 regressions`);
});

test('DR1 at the end every account is idle, at the sequence number that the network has', { timeout: 600_000 }, async () => {
  world.localnet.resume();
  await assertSettled(assert, world, service, ACCOUNTS);
});
