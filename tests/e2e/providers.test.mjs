// Providers with quotas, and one of two addresses that is sick: neither a client whose calls fail nor such an address delays ledgers or what others
// ask. Takes a minute, because ledgers, quotas and the rests of addresses are seconds long; FAIRWAY_SIZE=long has more of both, and takes ten.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Account, Asset, Keypair, Operation, TransactionBuilder, authorizeEntry, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';
import { slower, sleep, startWorld, until } from './harness.mjs';
import { setResult, stoppedAt } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';
import { authorization, quickSigner } from './token.mjs';

const TIMEOUT = { timeout: 600_000 }, LONG = process.env.FAIRWAY_SIZE === 'long';
const CALLS = LONG ? 30 : 12, LEDGER_MS = 1000;
const keys = { greedy: quickSigner(Keypair.random()), other: quickSigner(Keypair.random()) };
const rpcs = [{}, {}]; // say(call, forward) answers instead
let world, user, shop, clientsFile, elsewhere, number = 0;

const tip = () => world.localnet.chain.history.latest;

/** A transfer that the user has authorized, as {func, auth}. */
async function transfer() {
  const amount = nativeToScVal(BigInt(++number), { type: 'i128' }), address = key => nativeToScVal(key.publicKey(), { type: 'address' });
  const draft = source => new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'transfer',
      args: [address(user), address(shop), amount] })).setTimeout(0).build();
  const { result } = await world.network.simulateTransaction(draft(shop));
  const entry = await authorizeEntry(result.auth[0], user, tip() + 1000, world.passphrase);
  return { func: draft(Keypair.random()).operations[0].func.toXDR('base64'), auth: [entry.toXDR('base64')] };
}

before(async () => {
  world = await startWorld({ accounts: 30, ledgerMs: LEDGER_MS });
  await world.trustValidator();
  elsewhere = await startLocalnet({ port: 0, ledgerMs: 200, passphrase: 'another network' });
  for (const rpc of rpcs)
    Object.assign(rpc, await proxyRpc(world.localnet.url, (call, forward) => (rpc.say ?? ((_, answer) => answer()))(call, forward).catch(() => null)));
  clientsFile = path.join(world.folder, 'clients.json');
  fs.writeFileSync(clientsFile, JSON.stringify(Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, { keys: [key.publicKey()] }]))));
  [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, shop);
});
after(async () => {
  await world?.stop();
  rpcs.forEach(rpc => rpc.close?.());
  elsewhere?.close();
});

/** Starts serve, and waits until it knows when ledgers close. */
async function serve(addresses, env) {
  rpcs.forEach(rpc => (rpc.say = undefined));
  const service = await world.serve({ ...env, CLIENTS_FILE: clientsFile, RPC_URL: rpcs.slice(0, addresses).map(({ url }) => url).join() });
  await sleep(4 * LEDGER_MS);
  return service;
}

function post(service, name, body, target) {
  const text = JSON.stringify(body), key = `key ${number++}`;
  return service.request('POST', target, text, { ...authorization(keys[name], 'POST', target, text, key), 'idempotency-key': key });
}

/** Sends a call until it is confirmed, again after each Retry-After. Returns how long that took. */
async function confirm(service, body) {
  for (const begun = Date.now(); ;) {
    const { status, json, headers } = await post(service, 'other', body, '/v1/submissions?wait=20');
    if (status === 200 && json.status === 'confirmed')
      return Date.now() - begun;
    assert.ok([202, 429, 503].includes(status), JSON.stringify(json));
    await sleep(1000 * Number(headers.get('retry-after') ?? 0));
  }
}

/** Has calls confirmed, one begun each everyMs. Returns how long they took, how many ledgers the database was behind at most, and what /readyz
 *  has said. */
async function observe(service, everyMs) {
  const bodies = await Array.fromAsync({ length: CALLS }, transfer), last = tip(), ready = new Set();
  let over = false, behind = 0;
  await until(() => tip() > last, 5 * LEDGER_MS, 'a ledger closes');
  const watched = (async () => {
    for (; !over; await sleep(100)) {
      behind = Math.max(behind, tip() - await world.cursor());
      ready.add((await service.get('/readyz')).status);
    }
  })();
  const took = await Promise.all(bodies.map(async (body, i) => {
    await sleep(i * everyMs);
    return confirm(service, body);
  })).finally(() => (over = true));
  await watched;
  took.sort((a, b) => a - b);
  return { p50: took[Math.floor(0.5 * (CALLS - 1))], p95: took[Math.floor(0.95 * (CALLS - 1))], behind, ready: [...ready] };
}

/** A provider that allows so many requests in any second. */
function quota(most) {
  const times = [];
  return async (call, forward) => {
    while (times[0] <= Date.now() - 1000)
      times.shift();
    if (times.length >= most)
      return 429;
    times.push(Date.now());
    return forward();
  };
}

/** Sends calls that fail in simulation, as fast as they are answered, until the returned function is called. */
async function flood(service) {
  const { func } = await transfer(), { auth } = await transfer(); // of another one
  let over = false;
  const all = Promise.all(Array.from({ length: 4 }, async () => {
    while (!over)
      assert.notEqual((await post(service, 'greedy', { func, auth }, '/v1/submissions')).status, 202);
  }));
  await sleep(3 * LEDGER_MS);
  return async () => {
    over = true;
    await all;
  };
}

let healthy, allowed; // what they find without a sick address, and without a flood

for (const [addresses, most] of LONG ? [[1, 10], [2, 10], [1, 20]] : [[1, 10]])
  test(`a client whose calls fail, at ${addresses} providers that allow ${most} requests a second: no ledger is late, and others wait little`, TIMEOUT, async t => {
    const service = await serve(addresses);
    rpcs.forEach(rpc => (rpc.say = quota(most)));
    const control = allowed ??= await observe(service, 930), stop = await flood(service), found = await observe(service, 930);
    await stop();
    await service.kill();
    t.diagnostic(JSON.stringify({ control, found }));
    assert.deepEqual(found.ready, [200]);
    assert.ok(found.behind <= slower(1), `${found.behind} ledgers behind`);
    assert.ok(found.p50 <= slower(1.5 * control.p50), `p50 ${found.p50} ms, of the control ${control.p50} ms`);
  });

const sick = {
  'serves another network': async call =>
    (await fetch(elsewhere.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })).json(),
  'hangs': () => () => {},
  'is stale': async (call, forward) => {
    const last = rpcs[0].last ??= tip(), answer = stoppedAt(last)(await forward(), call);
    return answer.result?.latestLedger ? setResult({ latestLedger: last })(answer) : answer;
  },
  'answers 429': () => 429,
  'answers in HTML': () => response => response.end('<html>busy</html>'),
  'drips': () => response => {
    const timer = setInterval(() => response.write(' '), 200);
    response.on('close', () => clearInterval(timer));
  },
};
for (const [name, say] of Object.entries(sick).slice(0, LONG ? undefined : 1))
  test(`the first of two addresses ${name}: it is named, and delays little`, TIMEOUT, async t => {
    const service = await serve(2);
    const control = healthy ??= await observe(service, 400);
    rpcs[0].say = async (call, forward) => say(call, forward);
    await until(() => / is not waited for until it has a ledger in time" rpc=1 /.test(service.log), slower(10 * LEDGER_MS), 'it is named');
    const found = await observe(service, 400);
    await service.kill();
    t.diagnostic(JSON.stringify({ control, found }));
    assert.deepEqual(found.ready, [200]);
    assert.ok(found.behind <= slower(2), `${found.behind} ledgers behind`);
    assert.ok(found.p95 <= slower(1.5 * control.p95), `p95 ${found.p95} ms, of the control ${control.p95} ms`);
  });

for (const [scatterMs, most] of LONG ? [[0, 4], [800, 8]] : [])
  test(`ledgers of 5 s whose close times scatter by ${scatterMs / 2} ms: at most ${most} requests to each address for each, and clients know them at once`, TIMEOUT, async t => {
    await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localnet_upgrade', params: { ledgerMs: 5000 } }) });
    world.localnet.faults.configure({ scatterMs });
    const service = await serve(2, { LEDGER_SECONDS: '5' }), learned = tip() + 10, delays = [];
    await until(() => tip() >= learned, 60_000, 'fairway knows the pace');
    let requests = 0, closed;
    for (const rpc of rpcs)
      rpc.say = (call, forward) => {
        requests += !['simulateTransaction', 'sendTransaction'].includes(call.method);
        return forward();
      };
    world.localnet.chain.on('closed', () => (closed = Date.now()));
    const first = tip();
    while (tip() < first + 20) {
      await confirm(service, await transfer());
      delays.push(Date.now() - closed);
    }
    const each = requests / 2 / (tip() - first);
    await service.kill();
    delays.sort((a, b) => a - b);
    t.diagnostic(JSON.stringify({ each, delays }));
    assert.ok(each <= slower(most), `${each} requests`);
    assert.ok(delays[10] <= slower(100), `p50 ${delays[10]} ms`);
  });
