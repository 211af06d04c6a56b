// Limits of clients: each is reached, is named in a 429 whose Retry-After is when it allows again, and holds nobody else up.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Operation, TransactionBuilder, authorizeEntry, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { assertSettled, payment, sleep, slowerSeconds, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';
import { authorization, quickSigner } from './token.mjs';

const TIMEOUT = { timeout: 600_000 }, ACCOUNTS = 20, LEASES = '/v1/transactions';
const names = ['open', 'share', 'calls', 'bumps', 'requests', 'free'];
const keys = Object.fromEntries(names.map(name => [name, quickSigner(Keypair.random())]));
const limits = {
  open: { openLeases: 3 }, share: { poolPercent: 20 }, calls: { poolPercent: 50, contractPercent: 15 },
  bumps: { feeBumps: 3 },
  requests: { requestsPerSecond: 10 }, free: { waits: 100 },
};
let world, clientsFile, replicas, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  clientsFile = path.join(world.folder, 'clients', 'clients.json');
  fs.mkdirSync(path.dirname(clientsFile));
  fs.writeFileSync(clientsFile, JSON.stringify(Object.fromEntries(names.map(name =>
    [name, { keys: [keys[name].publicKey()], limits: limits[name] }]))));
  replicas = [await world.serve({ CLIENTS_FILE: clientsFile }), await world.serve({ CLIENTS_FILE: clientsFile })];
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(() => world?.stop());

const as = (name, method, target, body, service = replicas[0]) =>
  service.request(method, target, body, authorization(keys[name], method, target, body));
const lease = (name, service, timeoutSeconds = slowerSeconds(20)) => as(name, 'POST', LEASES,
  JSON.stringify({ transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds }), service);
const usage = async name => Number((await world.sql(`SELECT open_leases FROM fairway.client_usage WHERE client = '${name}'`))[0]?.[0]);
const open = async name => Number((await world.sql(
  `SELECT count(*) FROM fairway.channel_accounts WHERE lease_client = '${name}'`))[0][0]);

function assertLimited({ status, json, headers }, limit, retryAfter = '1') {
  assert.deepEqual([status, json.code, json.limit, headers.get('retry-after')], [429, 'LIMIT_EXCEEDED', limit, retryAfter], JSON.stringify(json));
}

/** Signs and submits the payment of a client's lease. */
async function pay(name, { transactionXdr }) {
  const inner = TransactionBuilder.fromXDR(transactionXdr, world.passphrase);
  inner.sign(users[0]);
  assert.equal((await as(name, 'POST', '/v1/submissions', JSON.stringify({ transactionXdr: inner.toXDR() }))).status, 202);
}

/** A client waits for the end of a lease of its own by `count` requests, of which `refused` are refused. While the others wait, meanwhile() runs;
 *  then the lease ends. Returns all answers. */
async function waitFor(name, { count, refused, service, meanwhile = () => {} }) {
  const { json } = await lease(name, undefined, 300);
  let done = 0;
  const answers = Array.from({ length: count }, () =>
    as(name, 'GET', `${LEASES}/${json.hash}?wait=60`, undefined, service).finally(() => done++));
  await until(() => done === refused, 20_000, `${refused} of ${count} requests are refused`);
  await meanwhile();
  await pay(name, json);
  return Promise.all(answers);
}

for (const [name, limit, most] of [['open', 'openLeases', 3], ['share', 'poolPercent', ACCOUNTS / 5]])
  test(`${limit}: a client has at most ${most} open leases, in all replicas together`, TIMEOUT, async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => lease(name, replicas[i % 2])));
    assert.equal(answers.filter(({ status }) => status === 201).length, most,
      JSON.stringify(answers.map(({ status, json }) => [status, json.detail])));
    answers.filter(({ status }) => status !== 201).forEach(answer => assertLimited(answer, limit));
    assert.deepEqual([await open(name), await usage(name)], [most, most]);
    assert.equal((await lease('free')).status, 201, 'another client gets a lease meanwhile');
  });

/** A transfer of XLM by its contract: a whole transaction of the user, and one that the user's authorization alone asks for, as {func, auth} too. */
async function transfer() {
  const [from, to] = users, address = key => nativeToScVal(key.publicKey(), { type: 'address' });
  const call = { contract: Asset.native().contractId(world.passphrase), function: 'transfer', args: [address(from), address(to), nativeToScVal(1n, { type: 'i128' })] };
  const draft = (operation, source = to) => new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(operation).setTimeout(0).build();
  const { result } = await world.network.simulateTransaction(draft(Operation.invokeContractFunction(call)));
  const auth = [await authorizeEntry(result.auth[0], from, (await world.network.getLatestLedger()).sequence + 100, world.passphrase)];
  const unprepared = draft(Operation.invokeContractFunction({ ...call, auth })), { func } = unprepared.operations[0];
  const sourced = Operation.invokeContractFunction({ ...call, source: from.publicKey() });
  return { whole: { transactionXdr: (await world.network.prepareTransaction(draft(sourced, from))).toXDR() },
    unprepared: { transactionXdr: unprepared.toXDR() }, parts: { func: func.toXDR('base64'), auth: auth.map(entry => entry.toXDR('base64')) } };
}

test('contractPercent: so many open leases call one contract, however they were asked for; others do not count', TIMEOUT, async () => {
  await createContract(world.network, world.passphrase, users[1]);
  const ask = (target, body) => as('calls', 'POST', target, JSON.stringify({ ...body, timeoutSeconds: 20 }));
  const kinds = ['whole', 'unprepared', 'parts'];
  for (const kind of kinds) {
    const { status, json } = await ask(LEASES, (await transfer())[kind]);
    assert.equal(status, 201, JSON.stringify(json));
  }
  for (const kind of kinds)
    assertLimited(await ask(LEASES, (await transfer())[kind]), 'contractPercent');
  assertLimited(await ask('/v1/submissions', (await transfer()).parts), 'contractPercent');
  assert.equal((await lease('calls')).status, 201, 'a payment');
  assert.deepEqual([await open('calls'), await usage('calls')], [4, 4]);
  await until(async () => await open('calls') === 0, 120_000, 'its leases have expired');
  const { status, json } = await ask('/v1/submissions?wait=30', (await transfer()).parts);
  assert.deepEqual([status, json.status], [200, 'confirmed'], JSON.stringify(json));
  assert.deepEqual(await world.sql("SELECT client FROM fairway.client_usage WHERE client LIKE '%/%'"), []);
  const info = await as('calls', 'GET', '/v1/info');
  assert.deepEqual(info.json.client.limits, { ...limits.calls, feeBumps: 50 });
});

test('requestsPerSecond: a client sends so many requests a second to a replica, fewer with large bodies', TIMEOUT, async () => {
  const look = () => as('requests', 'GET', '/v1/pool');
  const begun = Date.now();
  const answers = await Promise.all(Array.from({ length: 40 }, look));
  const taken = answers.filter(({ status }) => status === 200).length, most = 11 + (Date.now() - begun) / 100;
  assert.ok(taken >= 10 && taken <= most, `${taken}, at most ${most}`);
  answers.filter(({ status }) => status !== 200).forEach(answer => assertLimited(answer, 'requestsPerSecond'));
  assert.equal((await as('requests', 'GET', '/v1/pool', undefined, replicas[1])).status, 200, 'each replica counts for itself');
  await sleep(1100);
  const asked = Date.now();
  const large = await as('requests', 'POST', LEASES, JSON.stringify({ transactionXdr: 'A'.repeat(60 * 4096) })); // as many as 61 requests
  assert.equal(large.status, 400, JSON.stringify(large.json));
  const next = await look(), wait = Number(next.headers.get('retry-after')), passed = (Date.now() - asked) / 1000;
  assertLimited(next, 'requestsPerSecond', String(wait));
  assert.ok(wait <= 6 && wait >= Math.ceil(5.2 - passed), `Retry-After ${wait}, after ${passed} s`);
  assert.equal((await as('free', 'GET', '/v1/pool')).status, 200);
});

test('requestsInFlight: one of several clients has at most half of the connections; waits: and half of what may wait', TIMEOUT, async () => {
  const PLACES = 24, service = await world.serve({ CLIENTS_FILE: clientsFile, MAX_CONNECTIONS: String(PLACES) });
  const answers = await waitFor('free', { count: PLACES / 2 + 4, refused: 4, service, meanwhile: async () => {
    assertLimited(await as('free', 'GET', '/v1/pool', undefined, service), 'requestsInFlight');
    assert.equal((await as('bumps', 'GET', '/v1/pool', undefined, service)).status, 200, 'another client is answered');
  } });
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 4);
  refused.forEach(answer => assertLimited(answer, 'requestsInFlight'));
  const waits = await waitFor('bumps', { count: PLACES / 4 + 2, refused: 2, service });
  waits.filter(({ status }) => status !== 200).forEach(answer => assertLimited(answer, 'waits'));
  assert.equal((await as('free', 'GET', '/v1/pool', undefined, service)).status, 200, 'they are over');
  await service.kill();
});

test('while accounts are short clients take turns', TIMEOUT, async () => {
  const idle = () => world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL");
  await until(async () => Number((await idle())[0][0]) === ACCOUNTS, 120_000, 'all accounts are idle');
  const held = await Promise.all(Array.from({ length: ACCOUNTS }, () => lease('free', undefined, 300))), answered = [];
  const target = `${LEASES}?wait=60`;
  const ask = async name => {
    const { json } = await as(name, 'POST', target, JSON.stringify({ transactionXdr: payment(world, ...users).toXDR() }));
    answered.push(name);
    await pay(name, json);
  };
  const wait = count => until(async () => Number((await world.sql('SELECT coalesce(sum(waiting), 0) FROM fairway.waiting_now'))[0][0]) === count, 20_000, `${count} wait`);
  const many = Array.from({ length: ACCOUNTS + 10 }, () => ask('free'));
  await wait(ACCOUNTS + 10);
  const one = ask('bumps');
  await wait(ACCOUNTS + 11);
  await Promise.all(held.map(({ json }) => pay('free', json)));
  await Promise.all([one, ...many]);
  assert.ok(answered.indexOf('bumps') < ACCOUNTS, `the last one to come is answered after ${answered.indexOf('bumps')}`);
});

test('while one client has the RPC read the signers of many transactions, another one is answered', TIMEOUT, async () => {
  const OPEN = 80; // reads at the same time, of one address
  const FLOOD = OPEN + 24;
  let reads, held;
  const rpc = await proxyRpc(world.localnet.url, async (call, forward) => {
    if (call.method === 'getLedgerEntries') {
      reads.push(call.params.keys[0]);
      await held.promise;
    }
    return forward();
  });
  const service = await world.serve({ CLIENTS_FILE: clientsFile, RPC_URL: rpc.url });
  const bodyOf = source => { // not while tokens expire: to sign takes milliseconds
    const [channel, stranger] = [Keypair.random(), Keypair.random()];
    const invented = new TransactionBuilder(new Account(channel.publicKey(), '1'), { fee: '100', networkPassphrase: world.passphrase })
      .addOperation(Operation.bumpSequence({ source: source.publicKey(), bumpTo: '0' })).setTimeout(60).build();
    invented.sign(channel, stranger);
    return JSON.stringify({ transactionXdr: invented.toXDR() });
  };
  const bid = (name, body) => as(name, 'POST', '/v1/fee-bumps', body, service);
  /** Of one flood: the number of requests that came to the RPC, the codes of the other client's answers, and the place of its last read. */
  const flood = async () => {
    [reads, held] = [[], Promise.withResolvers()];
    const bodies = Array.from({ length: FLOOD }, () => bodyOf(users[0])), otherBodies = Array.from({ length: 3 }, () => bodyOf(users[1]));
    const answers = bodies.map(body => bid('open', body));
    await until(() => reads.length >= OPEN, 2000, 'the flood has come').catch(() => {});
    await sleep(50); // and what waits
    const others = otherBodies.map(body => bid('free', body));
    await sleep(50);
    held.resolve();
    const codes = (await Promise.all(others)).map(({ json }) => json.code);
    await Promise.all(answers);
    return { read: reads.length, codes, last: reads.findLastIndex(key => key !== reads[0]) };
  };
  // A request waits at most 1 s for others, and then 2 s for the RPC. On a busy machine that may pass before the other client has sent
  // its requests; then not all are read, and the flood says nothing.
  let result;
  for (let tries = 0; tries < 30 && result?.read !== FLOOD + 3; tries++)
    result = await flood();
  assert.deepEqual([result.read, result.codes], [FLOOD + 3, Array(3).fill('ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED')]);
  assert.ok(result.last < OPEN + 2 * 3 + 8, `the other client's last read was number ${result.last + 1}`);
  await service.kill();
  rpc.close();
});

test('when all leases have ended, nothing is counted as open', TIMEOUT, async () => {
  await assertSettled(assert, world, { get: target => as('free', 'GET', target) }, ACCOUNTS);
  assert.deepEqual(await world.sql('SELECT client, open_leases FROM fairway.client_usage WHERE open_leases <> 0'), []);
});
