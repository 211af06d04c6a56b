// A database server whose disk can be full: it reports SQLSTATE 53100 where a file would have to grow (faults/full_disk.c).
import fs from 'node:fs';
import path from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
const library = path.resolve(root, process.env.FAIRWAY_FULL_DISK ?? 'build/release/tests/faults/full_disk.so');

/** Restarts the world's server. fill() fills its disk, free() makes space. */
export async function restartWithDisk(world) {
  const copy = path.join(world.folder, 'full_disk.so'), flag = path.join(world.folder, 'full'); // a folder that the server's user can read
  fs.copyFileSync(library, copy);
  fs.chmodSync(copy, 0o755);
  await world.postgres('stop');
  await world.postgres('start', { env: { LD_PRELOAD: copy, FULL_DISK: flag } });
  return { fill: () => fs.writeFileSync(flag, ''), free: () => fs.rmSync(flag, { force: true }) };
}
