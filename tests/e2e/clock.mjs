// A database server whose clock can be wrong: libfaketime, of Debian's package.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Restarts the world's server. set() moves its clock by a time that libfaketime understands: '+60' is a minute fast. */
export async function restartWithClock(world) {
  const library = execFileSync('dpkg', ['-L', 'libfaketime'], { encoding: 'utf8' }).split('\n').find(name => name.endsWith('/libfaketime.so.1'));
  const file = path.join(world.folder, 'clock'); // in a folder that the server's user can read
  const set = offset => fs.writeFileSync(file, `${offset}\n`);
  set('+0');
  await world.postgres('stop');
  await world.postgres('start', { env: { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' } });
  return { set };
}
