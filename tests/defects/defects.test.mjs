// Negative controls: the tests that a planted defect names pass without it and fail with it. See README.md. FAIRWAY_SIZE=long
// (`make defects`) applies all defects, otherwise one for each hazard. FAIRWAY_DEFECTS: a regular expression over their names.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { oneOfEach, openLanes, readDefects } from './run.mjs';

const LANES = 2, SLOW_S = 20;
const all = await readDefects(new RegExp(process.env.FAIRWAY_DEFECTS ?? ''));
const defects = process.env.FAIRWAY_SIZE === 'long' ? all : oneOfEach(all);
assert.ok(defects.length > 0, 'no patch matches');
const { lanes, close } = await openLanes(LANES);
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

const controls = [...new Map(defects.flatMap(({ red, only }) => red.map(program => [`${program} ${only ?? ''}`, { program, only }]))).values()];
describe('tests pass without a defect', { concurrency: LANES }, () => {
  for (const { program, only } of controls)
    test(`${program} ${only ?? ''}`, () => withLane(async lane => {
      await lane.build([program]);
      const { red, ran, how, output } = await lane.test(program, only);
      assert.ok(!red && ran > 0, `${how}\n${end(output)}`);
    }));
});

let found = 0;
describe('tests fail with the defect', { concurrency: LANES }, () => {
  for (const defect of defects)
    test(`${defect.name}: ${defect.what}`, () => withLane(async lane => {
      const begun = Date.now();
      const verdicts = [];
      try {
        await lane.plant(defect);
        await lane.build(defect.red);
        for (const program of defect.red)
          verdicts.push({ program, ...await lane.test(program, defect.only) });
      } finally {
        await lane.restore(defect);
      }
      const seconds = (Date.now() - begun) / 1000;
      tell(`${defect.name}: ${verdicts.map(({ program, how }) => `${program.split('/').pop()} ${how}`).join(', ')}; ${seconds.toFixed(0)} s`
        + (seconds > SLOW_S ? ' SLOW' : ''));
      for (const { program, red, output } of verdicts)
        assert.ok(red, `${program} does not find it\n${end(output)}`);
      found++;
    }));
});

test('all defects are found', () => {
  tell(`${found} of ${defects.length} planted defects found`);
  assert.equal(found, defects.length);
});
