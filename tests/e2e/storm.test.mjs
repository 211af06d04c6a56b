// The storm at its quick size; `make soak` runs it at full size. STORM_SEED gives the same faults and clients; their interleaving depends on
// the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Storm } from '../faults/storm.mjs';
import { describe } from '../oracle/judge.mjs';

const seed = process.env.STORM_SEED ?? String(Math.floor(Math.random() * 1e9));

test('DL1 DL9 DL16 DR6 DR8 DR9 DS1 DP3 a storm of kills and faults in a pool that is nearly full and resized, with idempotency keys and a ' +
  'history of leases, half of which fairway sends: nothing is leased or signed twice, nothing leaks, every release is in time, and nothing ' +
  'stays unsent', { timeout: 600_000 }, async t => {
  t.diagnostic(`STORM_SEED=${seed}`);
  const storm = await Storm.start({ seed, processes: 3, accounts: 50, users: 30, leases: 20_000, thinkMs: 2500 });
  try {
    storm.swarm.start(40);
    const { operator, fleet, requests } = storm, begun = Date.now();
    const reached = () => requests.count.leases >= 150 && requests.count.relayed >= 50 && requests.count.called >= 10
      && fleet.kills >= 5 && operator.ended('ensure-accounts') >= 2
      && operator.ended('accounts release') >= 1 && operator.ended('accounts retire') >= 1;
    await storm.runFaults({ ms: 300_000, gapMs: 500, databaseMs: 9_000, commandMs: 1500,
      enough: () => Date.now() - begun > 20_000 && reached() });
    const isStorm = reached();
    const withoutIngestion = await storm.runWithoutIngestion();
    const verdict = await storm.finish();
    t.diagnostic(JSON.stringify({ ...verdict, broken: undefined, wrong: undefined }));
    const wrong = [...withoutIngestion, describe(verdict.broken), ...verdict.wrong].filter(line => line !== '');
    assert.equal(wrong.join('\n'), '', `seed ${seed}`);
    assert.ok(verdict.drained, `every account is idle again, seed ${seed}`);
    assert.ok(isStorm, 'the storm had enough leases, kills and commands of an operator');
    assert.ok(verdict.keys.repeated > 0, 'some keys were repeated');
    assert.ok(Object.values(verdict.statistics).every(count => count > 0), 'statistics were wrong in each way');
    assert.ok(verdict.submissions.included > 0 && verdict.submissions.live > 0, 'ledgers have what fairway sent');
    for (const result of ['confirmed', 'expired'])
      assert.ok(verdict.results[result] > 0, `some leases are ${result}`);
  } finally {
    await storm.stop();
  }
});
