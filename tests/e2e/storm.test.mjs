// The kill storm at its quick size: `make soak` is the same at full size. STORM_SEED gives the same faults and clients; what meets
// what is up to the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Storm } from '../faults/storm.mjs';
import { describe } from '../oracle/judge.mjs';

const seed = process.env.STORM_SEED ?? String(Math.floor(Math.random() * 1e9));

test('DL1 DL9 DR6 DR8 DR9 DS1 DP3 a storm of kills and faults, with keys, in a pool nearly full, resized and changed by hand, over settled ' +
  'leases: nothing twice, nothing leaked, no early or lost release', { timeout: 300_000 }, async t => {
  t.diagnostic(`STORM_SEED=${seed}`);
  const storm = await Storm.start({ seed, processes: 3, accounts: 50, users: 30, leases: 20_000, thinkMs: 2500 });
  try {
    storm.swarm.start(40);
    await storm.rage({ ms: 20_000, gapMs: 500, databaseMs: 9_000, commandMs: 2000 });
    const dry = await storm.drought();
    const verdict = await storm.finish();
    t.diagnostic(JSON.stringify({ ...verdict, broken: undefined, wrong: undefined }));
    assert.equal([...dry, describe(verdict.broken), ...verdict.wrong].filter(line => line !== '').join('\n'), '', `seed ${seed}`);
    assert.ok(verdict.drained, `every account is idle again, seed ${seed}`);
    assert.ok(verdict.kills >= 3 && verdict.leases >= 100, `a storm worth the name: ${verdict.kills} kills, ${verdict.leases} leases`);
    assert.ok(verdict.keys.repeated > 0, 'some keys were repeated');
    for (const result of ['confirmed', 'expired'])
      assert.ok(verdict.results[result] > 0, `some leases are ${result}`);
  } finally {
    await storm.stop();
  }
});
