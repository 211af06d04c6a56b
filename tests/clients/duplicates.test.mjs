// The attack of duplicates: one signed authorization is sent many times at once, by two facilitators of one client that ask two replicas.
// Whoever keeps its guard in a process's memory settles twice, or answers "settled" twice.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertSettled } from '../e2e/harness.mjs';
import { startClients } from './harness.mjs';

const ACCOUNTS = 15, EACH = 40, PRICE = 25_000_000n;
let world, facilitators, shop, transfer, balanceOf, stop;

before(async () => ({ world, services: facilitators, shop, transfer, balanceOf, stop } = await startClients({ accounts: ACCOUNTS, replicas: 2 })));
after(() => stop?.());

const settle = (facilitator, body, key) => facilitator.request('POST', '/v1/submissions?wait=60', body, { 'idempotency-key': key });

for (const round of [1, 2, 3])
  test(`one authorization, sent ${2 * EACH} times at once, is settled once (${round})`, { timeout: 300_000 }, async () => {
    const body = await transfer(PRICE), before = await balanceOf(shop);
    const requests = Array.from({ length: 2 * EACH }, (_, i) => ({ facilitator: facilitators[i % 2], key: crypto.randomUUID() }));
    const answers = await Promise.all(requests.map(({ facilitator, key }) => settle(facilitator, body, key)));
    assert.deepEqual([...new Set(answers.map(({ status, json }) => `${status} ${json.status}`))], ['200 confirmed']);
    assert.equal(new Set(answers.map(({ json }) => json.hash)).size, 1);
    assert.equal(answers.filter(({ json }) => json.first).length, 1);
    assert.equal(await balanceOf(shop) - before, PRICE);
    assert.deepEqual(await world.sql(`SELECT count(*) FROM fairway.leases WHERE hash = '\\x${answers[0].json.hash}'`), [['1']]);

    // An answer that was lost on its way: the repeat of the first request is the first again, at the other replica too; any other is not.
    const first = requests[answers.findIndex(({ json }) => json.first)];
    for (const facilitator of facilitators) {
      const { status, json } = await settle(facilitator, body, first.key);
      assert.deepEqual([status, json.first, json.hash], [200, true, answers[0].json.hash]);
    }
    const late = await settle(facilitators[0], body, crypto.randomUUID());
    assert.deepEqual([late.status, late.json.first, late.json.hash], [200, false, answers[0].json.hash]);
  });

test('no account was leased for a duplicate', { timeout: 300_000 }, async () => {
  assert.deepEqual(await world.sql('SELECT count(*) FROM fairway.leases'), [['3']]);
  await assertSettled(assert, world, facilitators[0], ACCOUNTS);
});
