// The storm of duplicates at its quick size; `make soak` runs it at full size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DUPLICATES_ACCOUNTS, duplicates } from '../faults/duplicates.mjs';
import { startWorld } from './harness.mjs';

const seed = process.env.STORM_SEED ?? String(Math.floor(Math.random() * 1e9));

test('DL9 DL16 a storm of duplicates: each authorization is included once, however often it is asked for under three keys while replicas are killed, ' +
  'and the key that took it alone is the first, each time', { timeout: 600_000 }, async t => {
  t.diagnostic(`STORM_SEED=${seed}`);
  const world = await startWorld({ accounts: DUPLICATES_ACCOUNTS });
  try {
    const { wrong, ...count } = await duplicates({ world, seed, processes: 3, authorizations: 60, requests: 1500, gapMs: 1500 });
    t.diagnostic(JSON.stringify(count));
    assert.equal(wrong.slice(0, 10).join('\n'), '', `seed ${seed}`);
    assert.ok(count.kills >= 3, `${count.kills} kills`);
  } finally {
    await world.stop();
  }
});
