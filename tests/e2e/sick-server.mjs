// A database server whose disk can be full (it reports SQLSTATE 53100 where a file would have to grow) and whose clock can be fast, and services whose clock is: faults/sick_server.c.
import fs from 'node:fs';
import path from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
const library = path.resolve(root, process.env.FAIRWAY_SICK_SERVER ?? 'build/release/tests/faults/sick_server.so');

/** The environment of a service whose host's clock is fast by so many seconds. */
export const fastHost = seconds => ({ LD_PRELOAD: library, FAST_SECONDS: String(seconds) });

/** The environment of services whose monotonic clock is fast: by 30 days more, which are more milliseconds than an int has, each time
 *  that grow() is called. */
export function oldHost(folder) {
  const file = fs.openSync(path.join(folder, 'monotonic'), 'w+'), seconds = new BigInt64Array(1);
  fs.writeSync(file, seconds);
  return { env: { LD_PRELOAD: library, MONOTONIC_CLOCK: path.join(folder, 'monotonic') }, grow() {
    seconds[0] += 30n * 86_400n;
    fs.writeSync(file, seconds, 0, 8, 0);
  } };
}

/** Restarts the world's server. fill() fills its disk, free() makes space; setClock() sets by how many seconds its clock is fast. */
export async function restartSick(world, isStopped = false) {
  const copy = path.join(world.folder, 'sick_server.so'); // a folder that the server's user can read
  const full = path.join(world.folder, 'full'), clock = path.join(world.folder, 'clock');
  fs.copyFileSync(library, copy);
  fs.chmodSync(copy, 0o755);
  if (!isStopped)
    await world.postgres('stop');
  await world.postgres('start', { env: { LD_PRELOAD: copy, FULL_DISK: full, FAST_CLOCK: clock } });
  return { fill: () => fs.writeFileSync(full, ''), free: () => fs.rmSync(full, { force: true }), setClock: seconds => fs.writeFileSync(clock, String(seconds)) };
}
