// A payout: one loop pays, another learns by a cursor what became of each payment, though the leading replica is killed in between.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { payThrough, startWorld } from './harness.mjs';

const PAYMENTS = 60, ACCOUNTS = 20;
let world, replicas, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  replicas = [await world.serve(), await world.serve()];
  users = await Promise.all(Array.from({ length: ACCOUNTS + 1 }, () => world.newAccount()));
});
after(() => world?.stop());

const alive = () => replicas.filter(({ process }) => process.exitCode === null && process.signalCode === null);

/** What a client does not get when a replica is killed: its answer. Any other error is the test's. */
function assertLost(error) {
  if (!(error instanceof TypeError))
    throw error;
  return { status: 0 };
}

/** One page, from any replica: as a client behind a load balancer asks again after an error. */
async function page(cursor, n, query = 'limit=7&wait=5') {
  for (;;) {
    const replica = alive()[n++ % alive().length];
    const answer = await replica.get(`/v1/transactions?after=${cursor}&${query}`).catch(assertLost);
    if (answer.status === 200)
      return answer.json;
    assert.ok([0, 503].includes(answer.status), JSON.stringify(answer.json));
    await new Promise(wake => setTimeout(wake, 200));
  }
}

/** Pays one after the other, again after an error. Only those that were leased count. */
async function pay(from, times, paid) {
  for (let i = 0; i < times;) {
    const replica = alive()[i % alive().length];
    const lease = await payThrough(world, replica, from, users.at(-1)).catch(error => error.answer ? undefined : assertLost(error) && undefined);
    if (lease) {
      paid.add(lease.hash);
      i++;
    }
  }
}

test('60 payments are all in the list, in the order of their ledgers, though the leader is killed', { timeout: 600_000 }, async () => {
  const paid = new Set(), seen = [];
  let { next } = await page('now', 0, 'limit=1');
  const paying = Promise.all(users.slice(0, ACCOUNTS).map(user => pay(user, PAYMENTS / ACCOUNTS, paid)));
  let done = false, killed;
  paying.then(() => (done = true));
  for (let n = 0; !done || ![...paid].every(hash => seen.some(item => item.hash === hash)); n++) {
    const answer = await page(next, n);
    seen.push(...answer.transactions);
    ({ next } = answer);
    if (seen.length > 10 && killed === undefined) {
      killed = replicas.find(({ log }) => log.includes('this replica leads ingestion'));
      await killed.kill('SIGKILL');
    }
  }
  await paying;
  assert.notEqual(killed, undefined);
  assert.equal(paid.size, PAYMENTS);
  assert.equal(new Set(seen.map(({ hash }) => hash)).size, seen.length, 'each end came once');
  assert.ok(seen.every(({ status }) => status !== 'pending'));
  assert.ok(seen.every(({ ledger }, i) => i === 0 || seen[i - 1].ledger <= ledger), 'in the order of their ledgers');
});
