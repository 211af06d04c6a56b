// Every point of a grant and of a fee bump (tests/faults/points): the process is killed there, or stopped until its account is leased again. In each
// case there is either a lease row and a leased account, or neither. tests/integration/test_lease_faults.c has statements that fail and cut connections.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { authorize } from '../faults/duplicates.mjs';
import { points, Stop } from '../faults/stop.mjs';
import { assertSettled, payment, sleep, slowerSeconds, startWorld, submit, until } from './harness.mjs';

const ACCOUNTS = 320; // leases that nobody submits hold theirs until their max time
const TIMEOUT_S = slowerSeconds(20); // one for all requests: a retry has the same body
let world, keeper, user, keys = 0, stalled = [];

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  Object.assign(world.env, { ENGINE_THREADS: '1' });
  keeper = await world.serve(); // ingests, and is never harmed
  user = await world.newAccount();
  stalled = await stallEverywhere(); // their time passes while the other tests run
});
after(() => world?.stop());

const ask = (service, headers = {}) => service.request('POST', '/v1/transactions',
  { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: TIMEOUT_S }, headers);
/** The response, or undefined when the service ended or cut the connection. */
const heard = request => request.catch(() => undefined);

/** Hashes of all leases. Fails unless exactly the accounts of open leases are leased. One statement, and so one snapshot. */
async function leases() {
  const [[bad, all]] = await world.sql(`SELECT
    (SELECT count(*) FROM fairway.channel_accounts a FULL JOIN (SELECT * FROM fairway.lease_history WHERE settled_at IS NULL) l
      ON l.account = a.public_key AND l.hash = a.lease_hash AND octet_length(l.envelope) > 0
      WHERE (a.lease_hash IS NOT NULL OR a.public_key IS NULL) AND (l.hash IS NULL OR a.public_key IS NULL)),
    coalesce((SELECT string_agg(encode(hash, 'hex'), ' ') FROM fairway.lease_history), '')`);
  assert.equal(bad, '0', 'an account is leased exactly when an open lease row names it');
  return new Set(all.split(' ').filter(hash => hash !== ''));
}

const fresh = (now, earlier) => [...now].filter(hash => !earlier.has(hash));

/** Waits until the transactions of a dead process have ended. */
const sessionsEnded = name => until(async () =>
  (await world.sql(`SELECT count(*) FROM pg_stat_activity WHERE application_name = '${name}' AND xact_start IS NOT NULL`))[0][0] === '0',
8000, `transactions of ${name} end`); // the server ends those of a stopped process after 5 s

/** Returns the points that a request passes, until its response and `sendings` to the network are sent; those come last in the list. What is sent
 *  again, because ledgers have closed meanwhile, is not in it. */
async function traced(stop, work, sendings = 0) {
  const mine = lines => lines.filter(line => !/^fairway (ingest|watch|listen|start|submit|answers)/.test(line));
  const all = mine(await stop.trace(work, lines => mine(lines).filter(line => / sent$/.test(line)).length > sendings));
  const toNetwork = line => line.startsWith('rpc: ');
  return [...all.filter(line => !toNetwork(line)), ...all.filter(toNetwork).slice(0, 2 * sendings)];
}

let folders = 0;
const newStop = () => new Stop(path.join(world.folder, `stop-${folders++}`));

/** A service that has completed a request, so its sessions are open. */
async function warm(stop) {
  const service = await world.serve(stop.env);
  await traced(stop, async () => assert.equal((await ask(service, { 'idempotency-key': `warm-${keys++}` })).status, 201));
  return service;
}

/**
 * Kills a service at each point of a request. request: sends a new request to a service. bounds: {never, always}, two positions in the list
 * of points: nothing is committed when the service is killed at or before the first, and everything is from the second on.
 */
async function killEverywhere(name, request, bounds, { look, check = () => {}, sendings }) {
  const stop = newStop();
  let service = await warm(stop);
  const lines = points(name, await traced(stop, () => request(service), sendings)), { never, always } = bounds(lines);
  let done = 0;
  for (const [i, { point, count: pass }] of lines.entries()) {
    const earlier = await look();
    stop.arm('kill', point, pass);
    const answer = await heard(request(service));
    await stop.reach(point).catch(error => assert.fail(`${error.message}; the answer: ${JSON.stringify(answer)}`));
    assert.equal((await service.ended).signal, 'SIGKILL');
    await sessionsEnded('fairway grant');
    await sessionsEnded('fairway api');
    const added = fresh(await look(), earlier);
    if (i <= never)
      assert.deepEqual(added, [], `killed at "${point}" (${pass}): nothing is left`);
    if (i >= always)
      assert.equal(added.length, 1, `killed at "${point}" (${pass}): what was committed stays`);
    if (answer?.json.hash !== undefined)
      assert.deepEqual(added, [answer.json.hash], `killed at "${point}": the returned lease is recorded`);
    await check(added);
    done++;
    service = await warm(stop);
  }
  await service.kill('SIGKILL');
  assert.equal(done, lines.length);
  return `${done} of ${lines.length} points`;
}

/** COMMIT takes effect when the server reads it: never before it is sent, always once the server has responded. */
const byCommit = lines => {
  const at = lines.findLastIndex(({ point }) => point.endsWith(': COMMIT'));
  return { never: at, always: at + 2 };
};

test('DL2 a grant killed at any point leaves an idle account or a complete lease', { timeout: 600_000 }, async t => {
  t.diagnostic(await killEverywhere('grant', ask, byCommit, { look: leases }));
});

test('DL2 DL9 after a grant with a key was killed at any point, its retry gets the recorded lease, or a first one', { timeout: 600_000 }, async t => {
  const request = service => ask(service, { 'idempotency-key': `killed-${++keys}` });
  const check = async added => {
    const retry = await ask(keeper, { 'idempotency-key': `killed-${keys}` });
    assert.equal(retry.status, added.length > 0 ? 200 : 201);
    assert.equal(retry.json.first, added.length === 0);
    if (added.length > 0)
      assert.equal(retry.json.hash, added[0]);
  };
  t.diagnostic(await killEverywhere('grant-with-key', request, byCommit, { look: leases, check }));
});

test('H4 what policy refuses reaches neither database nor key process, unless it may repeat an earlier request by its key', { timeout: 600_000 }, async () => {
  const stop = newStop(), service = await warm(stop);
  const bad = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(Operation.bumpSequence({ bumpTo: '1' })) // of the channel account
    .setTimeout(0).build().toXDR();
  const refused = headers => traced(stop, async () => {
    const { status } = await service.request('POST', '/v1/transactions', { transactionXdr: bad }, headers);
    assert.equal(status, 400);
  });
  assert.deepEqual(await refused({}), ['reply 400', 'reply 400 sent']);
  assert.ok((await refused({ 'idempotency-key': `refused-${++keys}` })).length > 2);
  await service.kill('SIGKILL');
});

test('DL2 a refused grant killed at any point leaves nothing', { timeout: 600_000 }, async t => {
  const [[member]] = await world.sql('SELECT public_key FROM fairway.channel_accounts LIMIT 1');
  const request = service => service.post('/v1/transactions', { transactionXdr: payment(world, { publicKey: () => member }, user).toXDR() });
  assert.equal((await request(keeper)).status, 400);
  t.diagnostic(await killEverywhere('grant-refused', request, lines => ({ never: lines.length, always: lines.length }), { look: leases }));
});

test('DL2 a fee bump killed at any point is recorded or was not returned', { timeout: 600_000 }, async t => {
  const leased = await keeper.post('/v1/transactions', { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: 300 });
  const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
  inner.sign(user);
  let fee = 20_000; // another one each time: the same fee bump is recorded once
  const bump = service => service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR(), maxFee: String(++fee) });
  const bumps = async () => new Set((await world.sql("SELECT encode(hash, 'hex') FROM fairway.fee_bumps")).flat());
  t.diagnostic(await killEverywhere('fee-bump', bump, byCommit, { look: bumps }));
  assert.ok((await leases()).has(leased.json.hash));
  const bumped = await bump(keeper);
  assert.equal(bumped.status, 200);
  await submit(world, bumped.json.transactionXdr);
});

/** Bids are never forgotten: the leases that have one. */
const sentLeases = async () => new Set((await world.sql("SELECT DISTINCT encode(lease_hash, 'hex') FROM fairway.fee_bumps")).flat());
const confirmed = async added => {
  for (const hash of added)
    assert.equal((await keeper.get(`/v1/transactions/${hash}?wait=60`)).json.status, 'confirmed');
};

/** Sends what fairway submits, and closes no ledger until the answer: else it would have the transaction already, now and then. */
async function beforeTheLedger(send) {
  world.localnet.pause();
  try {
    return await send();
  } finally {
    world.localnet.resume();
  }
}

test('DL16 a submission killed at any point is not recorded, or another replica sends it', { timeout: 600_000 }, async t => {
  const request = async service => {
    const leased = await keeper.post('/v1/transactions', { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: 60 });
    const inner = TransactionBuilder.fromXDR(leased.json.transactionXdr, world.passphrase);
    inner.sign(user);
    return beforeTheLedger(() => service.post('/v1/submissions', { transactionXdr: inner.toXDR() }));
  };
  t.diagnostic(await killEverywhere('submission', request, byCommit, { look: sentLeases, check: confirmed, sendings: 1 }));
});

test('DL16 DL9 after one call was killed at any point, its retry is the first one, and one transaction is confirmed', { timeout: 600_000 }, async t => {
  let retry;
  const shop = await world.newAccount();
  await createContract(world.network, world.passphrase, shop);
  const request = async service => {
    const body = await authorize(world, user, shop), headers = { 'idempotency-key': `call-${++keys}` };
    const call = to => to.request('POST', '/v1/submissions', body, headers);
    retry = () => call(keeper);
    return beforeTheLedger(() => call(service));
  };
  const check = async added => {
    await confirmed(added);
    const { status, json } = await retry();
    assert.ok(status < 300 && json.first && (added.length === 0 || added[0] === json.hash), JSON.stringify(json));
    await confirmed([json.hash]);
  };
  t.diagnostic(await killEverywhere('one-call', request, byCommit, { look: sentLeases, check, sendings: 1 }));
});

/**
 * Stops a service at each point after a claim, a new one for each. What libpq has not sent stays unsent. PostgreSQL does not count a
 * session that waits for the rest of a pipeline as "idle in transaction", so no timeout of the server would end it.
 */
async function stallEverywhere() {
  const first = newStop(), one = await warm(first);
  const lines = points('grant', await traced(first, () => ask(one)));
  await one.kill('SIGKILL');
  const from = lines.findIndex(({ point }) => point === 'keyd: leases'), stopped = [];
  for (const { point, count } of lines.slice(from).filter(({ point }) => !point.endsWith(' sent'))) {
    const stop = newStop(), service = await warm(stop);
    stop.arm('pause', point, count);
    const answer = heard(ask(service));
    await stop.reach(point);
    stopped.push({ point, service, answer });
  }
  return stopped;
}

test('DL3 a process stopped after its claim until the account is leased again cannot record, return a live signature or release',
  { timeout: 600_000 }, async t => {
    const [[bound]] = await world.sql('SELECT max(max_time) FROM fairway.lease_history WHERE settled_at IS NULL');
    await until(async () => (await world.sql(`SELECT close_time > ${bound} FROM fairway.cursor`))[0][0] === 't', 60_000, 'the max time of every lease has passed');
    await assertSettled(assert, world, keeper, ACCOUNTS);
    const again = [];
    while (again.length < ACCOUNTS)
      again.push(...await Promise.all(Array.from({ length: 20 }, () => ask(keeper))));
    assert.deepEqual(again.map(({ status }) => status), again.map(() => 201), 'every account is leased again');
    const held = await leases();
    for (const { service } of stalled)
      service.process.kill('SIGCONT');
    for (const { point, answer } of stalled) {
      const late = await answer;
      if (late?.status === 201) // committed in time but answered too late: no ledger can include this envelope any more
        assert.ok(held.has(late.json.hash) && BigInt(late.json.maxTime) <= BigInt(bound), `${point}: the late signature is dead`);
    }
    await sleep(300);
    assert.deepEqual(fresh(await leases(), held), [], 'nothing was recorded late');
    const open = new Set((await world.sql("SELECT encode(hash, 'hex') FROM fairway.lease_history WHERE settled_at IS NULL")).flat());
    assert.deepEqual([...open].sort(), again.map(({ json }) => json.hash).sort(), 'nothing was released late');
    for (const { point, service } of stalled) {
      assert.equal((await heard(service.get('/livez')))?.status, 200, `${point}: the service continues`);
      await service.kill('SIGKILL');
    }
    t.diagnostic(`${stalled.length} stalls, 0 late writes accepted`);
  });

test('DL2 at the end every remaining lease is ended by a ledger', { timeout: 600_000 }, () => assertSettled(assert, world, keeper, ACCOUNTS));
