// A small size of make ha: one switchover and one kill of the leader, under load.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('a switchover and a kill of the leader of a Patroni cluster forget no lease and give none twice', { timeout: 600_000 }, async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [path.join(import.meta.dirname, 'ha.mjs')], { env: { ...process.env, HA_FAULTS: '2' } })
    .catch(failed => failed);
  assert.match(stdout, /^[\d:]+ switchover: 1, .*\n[\d:]+ kill: 1, .*\n.*\n[\d:]+ ok: no lease was forgotten, none was double, and no hold was needed\n$/m, stdout + stderr);
});
