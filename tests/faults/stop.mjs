// Drives stop.c from a test: fairway records the points that it passes, and is killed, stopped or cut off at one.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { sleep, until } from '../e2e/harness.mjs';

const root = new URL('../..', import.meta.url).pathname;
const library = path.resolve(root, process.env.FAIRWAY_STOP ?? 'build/release/tests/faults/stop.so');

export class Stop {
  #folder;

  constructor(folder) {
    fs.mkdirSync(folder);
    this.#folder = folder;
  }

  #at(file) {
    return path.join(this.#folder, file);
  }

  /** The environment of the service to be stopped. */
  get env() {
    assert.ok(fs.existsSync(library), `${library} was built`);
    return { LD_PRELOAD: library, FAIRWAY_STOP_DIR: this.#folder };
  }

  /** At the count-th pass of the point: kill, stop, pause or cut. */
  arm(action, point, count = 1) {
    fs.rmSync(this.#at('arm'), { force: true });
    fs.rmSync(this.#at('reached'), { force: true });
    fs.writeFileSync(this.#at('new'), `${action}\n${point}\n${count}`);
    fs.renameSync(this.#at('new'), this.#at('arm'));
  }

  get reached() {
    return fs.existsSync(this.#at('reached'));
  }

  async reach(point) {
    await until(() => this.reached, 10_000, `"${point}" is passed`);
  }

  /** Returns the points that are passed while work runs, and after it until over(points). */
  async trace(work, over) {
    const read = () => fs.readFileSync(this.#at('trace'), 'utf8').split('\n').filter(line => line !== '');
    fs.writeFileSync(this.#at('trace'), '');
    await work();
    await sleep(50);
    await until(() => over(read()), 10_000, 'the last point is passed');
    const lines = read();
    fs.rmSync(this.#at('trace'));
    return lines;
  }
}

/** Waits until a process has stopped at a point, which is recorded before. */
export const stopped = pid => until(() => /\) T /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')), 10_000, 'the process has stopped');

/** Whether all points of a ledger transaction were passed: what it has committed is seen before the last ones are. */
export const isLedgerWhole = all => ledgerTransaction(all).at(-1)?.endsWith(': read after COMMIT') ?? false;

/** The points of the last ledger transaction among all that were recorded, without those of a balance, which only some ledgers write. */
export function ledgerTransaction(all) {
  const mine = all.filter(line => line.startsWith('fairway ingest: ') && !line.includes('write_funds'));
  const commit = mine.findLastIndex(line => line.endsWith(': COMMIT'));
  return mine.slice(mine.findLastIndex((line, i) => i < commit && line.includes(': BEGIN')), commit + 4);
}

/**
 * Compares the recorded points of a request with the committed list, and fails when they differ, so that new statements are tested too.
 * FAIRWAY_RECORD_POINTS=1 writes the lists instead. Returns [{point, count}]: the count-th pass of the point.
 */
export function points(name, recorded) {
  const file = path.join(root, 'tests/faults/points', `${name}.txt`);
  if (process.env.FAIRWAY_RECORD_POINTS)
    fs.writeFileSync(file, recorded.map(line => line + '\n').join(''));
  assert.deepEqual(recorded, fs.readFileSync(file, 'utf8').trimEnd().split('\n'), `${file} names the points that are passed`);
  const seen = new Map();
  return recorded.map(point => {
    const count = (seen.get(point) ?? 0) + 1;
    seen.set(point, count);
    return { point, count };
  });
}
