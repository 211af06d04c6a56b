// kill -9 of serve under load: nothing leaks, nothing is leased twice, and every account is idle at the end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertSettled, payThrough, sleep, startWorld, until } from './harness.mjs';

const ACCOUNTS = 15;
let world;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
});
after(() => world?.stop());

/** Checks in the service's own rows that leases of one account never overlap in time. */
async function assertNoDoubleLease() {
  const overlaps = await world.sql(`SELECT a.hash, b.hash FROM fairway.lease_history a JOIN fairway.lease_history b
    ON a.account = b.account AND a.hash < b.hash
    AND a.granted_at < coalesce(b.settled_at, 'infinity') AND b.granted_at < coalesce(a.settled_at, 'infinity')`);
  assert.deepEqual(overlaps, []);
  const twice = await world.sql(`SELECT account, sequence FROM fairway.lease_history
    WHERE result IN ('confirmed', 'failed') GROUP BY account, sequence HAVING count(DISTINCT hash) > 1`);
  assert.deepEqual(twice, [], 'no sequence number consumed by two leases');
}

test('serve is killed three times under load, and nothing leaks', { timeout: 600_000 }, async () => {
  const users = await Promise.all(Array.from({ length: 8 }, () => world.newAccount()));
  let service = await world.serve(), running = true, paid = 0;
  const clients = users.map(async (user, i) => {
    while (running) {
      const current = service;
      try {
        await payThrough(world, current, user, users[(i + 1) % users.length], { timeoutSeconds: 20 });
        paid++;
      } catch (error) {
        // an error is expected while the service is down or starts, but never a used sequence number (tx_bad_seq in the SDK's JSON)
        assert.doesNotMatch(error.message, /tx_?bad_?seq/i);
        await sleep(100);
      }
    }
  });
  for (let kills = 0; kills < 3; kills++) {
    await sleep(2500);
    await until(() => paid > 10 * (kills + 1), 60_000, `more than ${10 * (kills + 1)} payments are submitted`);
    const { signal } = await service.kill('SIGKILL');
    assert.equal(signal, 'SIGKILL');
    service = await world.serve();
  }
  await sleep(2500);
  running = false;
  await Promise.all(clients);
  assert.ok(paid > 30, `${paid} payments were submitted`);
  await assertSettled(assert, world, service, ACCOUNTS);
  await assertNoDoubleLease();
});
