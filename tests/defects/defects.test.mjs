// Negative controls: the tests that a planted defect names pass without it and fail with it. See README.md. FAIRWAY_SIZE=long
// (`make defects`) applies all defects, otherwise one for each hazard. FAIRWAY_DEFECTS: a regular expression over their names.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { after, describe, test } from 'node:test';
import { isNode, oneOfEach, openLanes, readDefects } from './run.mjs';

const isLong = process.env.FAIRWAY_SIZE === 'long';
// Most of its time a test waits. In `make test-all` other programs run beside this one.
const LANES = availableParallelism() * (isLong ? 2 : 1), SLOW_S = 20;
const all = await readDefects(new RegExp(process.env.FAIRWAY_DEFECTS ?? ''));
// Programs of several processes take the longest, and come first.
const defects = (isLong ? all : oneOfEach(all)).sort((one, other) => other.red.some(isNode) - one.red.some(isNode));
assert.ok(defects.length > 0, 'no patch matches');

// Each program, and which of its tests defects name; none: all of them.
const programs = new Map();
for (const { red, only } of defects)
  for (const program of red)
    programs.set(program, [...programs.get(program) ?? [], only]);
const { lanes, close } = await openLanes(LANES, [...programs.keys()]);
after(close);

// The next free lane takes the next defect.
const free = [...lanes], waiting = [];
async function withLane(work) {
  const lane = free.pop() ?? await new Promise(resolve => waiting.push(resolve));
  try {
    return await work(lane);
  } finally {
    const next = waiting.shift();
    next ? next(lane) : free.push(lane);
  }
}

// The end of a program's output, where the failure is.
const end = output => output.split('\n').slice(-60).join('\n');
const tell = line => console.log(line);

const regularExpression = only => new RegExp(`^${only.replaceAll('*', '.*').replaceAll('?', '.')}$`);
describe('tests pass without a defect', { concurrency: LANES }, () => {
  for (const [program, named] of isLong ? programs : []) // in `make test-all` they have run
    test(program, () => withLane(async lane => {
      const patterns = [...new Set(named)];
      const { red, green, how, output } = await lane.test(program, patterns.includes(undefined) ? [] : patterns);
      assert.ok(!red && green.length > 0, `${how}\n${end(output)}`);
      for (const only of patterns.filter(Boolean))
        assert.ok(green.some(name => (isNode(program) ? new RegExp(only) : regularExpression(only)).test(name)), `no test ${only} ran`);
    }));
});

const missed = new Set(defects.map(({ name }) => name));
describe('tests fail with the defect', { concurrency: LANES }, () => {
  for (const defect of defects)
    test(`${defect.name}: ${defect.what}`, () => withLane(async lane => {
      const begun = Date.now();
      const verdicts = [];
      try {
        await lane.plant(defect);
        await lane.build(defect.red);
        for (const program of defect.red)
          verdicts.push({ program, ...await lane.test(program, defect.only ? [defect.only] : []) });
      } finally {
        await lane.restore();
      }
      const seconds = (Date.now() - begun) / 1000;
      tell(`${defect.name}: ${verdicts.map(({ program, how }) => `${program.split('/').pop()} ${how}`).join(', ')}; ${seconds.toFixed(0)} s`
        + (seconds > SLOW_S ? ' SLOW' : ''));
      for (const { program, red, output } of verdicts)
        assert.ok(red, `${program} does not find it\n${end(output)}`);
      missed.delete(defect.name);
    }));
});

test('all defects are found', () => {
  tell(`${defects.length - missed.size} of ${defects.length} planted defects found`);
  assert.deepEqual([...missed], []);
});
