// The n-th allocation, or the n-th system call, of a request fails. In every case the client gets a clean error, or a right answer, or the
// process ends by itself; nothing is leased that is not recorded, and the service, or the next process, goes on. FAIRWAY_SIZE=long tests
// every n, else some of them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payment, slower, slowerSeconds, startWorld, until, within } from './harness.mjs';

const root = new URL('../..', import.meta.url).pathname;
const library = path.resolve(root, process.env.FAIRWAY_FAIL_SO ?? 'build/release/tests/faults/fail.so');
const isLong = process.env.FAIRWAY_SIZE === 'long';
const ACCOUNTS = 120, POINTS = isLong ? Infinity : 10, LIMIT_MS = isLong ? 7_200_000 : 1_200_000;
const CONNECT_MS = 5000; // connect_timeout_s of include/db/db.h
const MANY = 1_000_000n;
let world, keeper, user, control, keys = 0;

before(async () => {
  assert.ok(fs.existsSync(library), `${library} was built`);
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 500 });
  keeper = await world.serve(); // ingests, and is never harmed
  user = await world.newAccount();
  control = path.join(world.folder, 'fail');
  arm(0n, 0n);
});
after(() => world?.stop());

/** See tests/faults/fail.c. */
function arm(allocations, calls) {
  const numbers = new BigInt64Array([allocations, calls]);
  fs.writeFileSync(control, new Uint8Array(numbers.buffer), { flag: fs.existsSync(control) ? 'r+' : 'w' });
}

const left = () => new BigInt64Array(new Uint8Array(fs.readFileSync(control)).buffer);

const victim = () => world.serve({ LD_PRELOAD: library, FAIRWAY_FAIL: control, LEDGER_SECONDS: '12' });

const transaction = () => payment(world, user, user).toXDR();
const post = (service, body, headers) => service.request('POST', '/v1/transactions', body, headers);

async function leaseToBump() {
  const { status, json } = await post(keeper, { transactionXdr: transaction(), timeoutSeconds: slowerSeconds(20) });
  assert.equal(status, 201);
  const inner = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  inner.sign(user);
  return { ...json, signed: inner.toXDR() };
}

/** Each kind of request: what it needs before, how it is sent, and what a right answer is. */
const kinds = {
  'a lease': {
    send: service => post(service, { transactionXdr: transaction(), timeoutSeconds: 20 }, { 'idempotency-key': `nth-${++keys}` }),
    right: ({ status, json }) => status === 201 && json.hash?.length === 64 && json.transactionXdr?.length > 100,
  },
  'a fee bump': {
    prepare: leaseToBump,
    send: (service, lease) => service.post('/v1/fee-bumps', { transactionXdr: lease.signed }),
    right: ({ status, json }) => status === 200 && json.transactionXdr?.length > 100,
  },
  'a refused request': {
    send: service => post(service, { transactionXdr: 'AAAA' }),
    right: ({ status, json }) => status === 400 && json.code === 'INVALID_TRANSACTION_XDR',
  },
  'a look at a lease': {
    prepare: leaseToBump,
    send: (service, lease) => service.get(`/v1/transactions/${lease.hash}`),
    right: ({ status, json }, lease) => status === 200 && json.hash === lease.hash,
  },
  'a list of accounts': {
    send: service => service.get('/v1/channel-accounts?limit=100'),
    right: ({ status, json }) => status === 200 && json.items?.length === 100,
  },
  'the state of the pool': {
    send: service => service.get('/v1/pool'),
    right: ({ status, json }) => status === 200 && json.accounts?.idle >= 0,
  },
  'readiness': {
    send: service => service.get('/readyz'),
    right: ({ status, json }) => (status === 200 || status === 503) && json.checks?.length > 0,
  },
};

/** Fails unless exactly the accounts of open leases are leased. Returns the hashes of all leases. */
async function leases() {
  const [[bad, all]] = await world.sql(`SELECT
    (SELECT count(*) FROM fairway.channel_accounts a FULL JOIN (SELECT * FROM fairway.lease_history WHERE settled_at IS NULL) l
      ON l.account = a.public_key AND l.hash = a.lease_hash
      WHERE (a.lease_hash IS NOT NULL OR a.public_key IS NULL) AND (l.hash IS NULL OR a.public_key IS NULL)),
    coalesce((SELECT string_agg(encode(hash, 'hex'), ' ') FROM fairway.leases), '')`);
  assert.equal(bad, '0', 'an account is leased exactly when an open lease row names it');
  return new Set(all.split(' '));
}

/** The answer, or why there is none. A request must not wait for ever. */
async function heard(request) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, slower(60_000), new Error('no answer in 60 s'))));
  try {
    return await Promise.race([request.catch(error => ({ none: error })), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Exit codes by which fairway ends itself (sysexits.h): out of memory, a failed system call, the key process. */
const CLEAN_ENDS = [69, 70, 71, 74, 75];

async function assertClean(name, kind, n, service, answer, prepared) {
  const where = `${name}, number ${n}: ${JSON.stringify(answer.none ? String(answer.none.cause ?? answer.none) : answer)}`;
  if (!answer.none && !kind.right(answer, prepared)) {
    assert.ok([400, 413, 500, 503].includes(answer.status), where);
    assert.equal(typeof answer.json?.code, 'string', where);
  }
  const now = await leases();
  if (answer.status === 201)
    assert.ok(now.has(answer.json.hash), where);
  const ended = await within(service.ended, answer.none ? 300 : 0);
  if (ended)
    assert.ok(CLEAN_ENDS.includes(ended.code), `${where}: ended with ${JSON.stringify(ended)}\n${service.log.slice(-2000)}`);
  return ended;
}

/** Sends the request again and again, and lets its n-th call fail, for n up to the number of calls that it makes. */
async function failEverywhere(name, which) {
  const kind = kinds[name], armed = n => arm(...(which === 0 ? [n, 0n] : [0n, n]));
  let service = await victim(), ends = 0, failed = 0;
  const ask = async () => {
    const prepared = await kind.prepare?.();
    return { prepared, answer: await heard(kind.send(service, prepared)) };
  };
  let total = Infinity; // threads of the background call too, so the least of some counts
  for (let i = 0; i < 5; i++) {
    const prepared = await kind.prepare?.();
    armed(MANY);
    await kind.send(service, prepared);
    total = Math.min(total, Number(MANY - left()[which]));
  }
  const step = Math.max(1, total / POINTS);
  for (let at = 1 + Math.random() * (step - 1); at <= total; at += step) {
    const ready = await kind.prepare?.(), n = BigInt(Math.floor(at));
    armed(n);
    const answer = await heard(kind.send(service, ready));
    arm(0n, 0n);
    failed++;
    let ended = await assertClean(name, kind, n, service, answer, ready);
    if (!ended) { // it goes on, or ends soon
      let next = await ask();
      // When the call that sends the first packet of a connection fails, libpq still waits for the server's answer, up to CONNECT_MS.
      for (const end = Date.now() + slower(CONNECT_MS); next.answer.json?.code === 'DATABASE_UNAVAILABLE' && Date.now() < end;)
        next = await ask();
      ended = !kind.right(next.answer, next.prepared) && await within(service.ended, slower(20_000));
      if (!ended)
        assert.ok(kind.right(next.answer, next.prepared), `${name}, after number ${n}: ${JSON.stringify(next.answer)}\n${service.log.slice(-2000)}`);
      else
        assert.ok(CLEAN_ENDS.includes(ended.code), `${name}, after number ${n}: ended with ${JSON.stringify(ended)}\n${service.log.slice(-2000)}`);
    }
    if (ended) {
      ends++;
      service = await victim();
    }
  }
  await service.kill('SIGKILL');
  await leases();
  return `${failed} of ${total} calls failed; the process ended ${ends} times`;
}

for (const name of Object.keys(kinds)) {
  test(`DX5 ${name}: an allocation that fails gives a clean error or ends the process`, { timeout: LIMIT_MS }, async t => {
    t.diagnostic(await failEverywhere(name, 0));
  });
  test(`DX5 ${name}: a system call that fails gives a clean error or ends the process`, { timeout: LIMIT_MS }, async t => {
    t.diagnostic(await failEverywhere(name, 1));
  });
}

test('DX5 signals that interrupt half of the system calls change no answer', { timeout: 600_000 }, async () => {
  const service = await victim();
  const prepared = Object.fromEntries(await Promise.all(Object.entries(kinds).map(async ([name, kind]) => [name, await kind.prepare?.()])));
  arm(0n, -1n);
  for (let i = 0; i < 5; i++)
    for (const [name, kind] of Object.entries(kinds)) {
      const answer = await kind.send(service, prepared[name]);
      assert.ok(kind.right(answer, prepared[name]), `${name}: ${JSON.stringify(answer)}`);
    }
  arm(0n, 0n);
  await service.kill();
});

test('DX5 afterwards every lease ends and every account is idle', { timeout: 600_000 }, async () => {
  arm(0n, 0n);
  await assertSettled(assert, world, keeper, ACCOUNTS);
});
