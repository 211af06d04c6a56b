// Compares our decoder with two others: the SDK's (JavaScript, protocol 28 and newer.mjs), which also generates the values, and that of the crate
// stellar-xdr (Rust), whose definitions our schema is made of. SEED=n repeats a run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closure, unwrap } from './closure.mjs';
import { base64, hex, judge, rustJudge } from './judge.mjs';
import { randomFrom, Values } from './random-values.mjs';

const VALUES_A_TYPE = 60;
const FLIPS_A_TYPE = 300;
const SDK_OPTIONS = { maxDepth: 10000 }; // its default is lower than the protocol's limit

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
const types = closure();

/** Random values of every type, including each arm of each union and each value of each enum. */
function corpus() {
  const values = new Values(randomFrom(seed));
  const samples = [];
  const add = (name, schema, chosen) => {
    const bytes = unwrap(schema).encode(values.make(schema, chosen), SDK_OPTIONS);
    samples.push({ name, schema: unwrap(schema), bytes });
  };
  for (const [name, schema] of types) {
    const { kind, cases, nameByValue } = unwrap(schema);
    for (const chosen of kind === 'union' ? cases : kind === 'enum' ? nameByValue.keys() : []) add(name, schema, chosen);
    for (let i = 0; i < VALUES_A_TYPE; i++) add(name, schema);
  }
  return { samples, arms: values.arms };
}

const { samples, arms } = corpus();

test('the schema has exactly the types of the closure', () => {
  assert.deepEqual(judge(['types'])[0].split(' '), types.map(([name]) => name));
});

test('the values cover every union arm and every enum value', (t) => {
  const expected = [];
  for (const [name, schema] of types) {
    const s = unwrap(schema);
    if (s.kind === 'union') expected.push(...s.cases.map((c) => `${name}.${c.name}`));
    if (s.kind === 'enum') expected.push(...[...s.nameByValue.values()].map((value) => `${name}.${value}`));
  }
  assert.deepEqual(expected.filter((arm) => !arms.has(arm)), []);
  t.diagnostic(`seed ${seed}: ${samples.length} values of ${types.length} types, ${expected.length} arms and enum values`);
});

test('every value that the SDK encodes is accepted', () => {
  const verdicts = judge(samples.map(({ name, bytes }) => `check ${name} ${base64(bytes)}`));
  samples.forEach(({ name, bytes }, i) => assert.equal(verdicts[i], 'OK', `${name} ${base64(bytes)}`));
});

test('every proper prefix is refused as truncated, every extra byte as trailing', (t) => {
  const verdicts = judge(samples.map(({ name, bytes }) => `edges ${name} ${base64(bytes)}`));
  samples.forEach(({ name, bytes }, i) => assert.equal(verdicts[i], `OK ${bytes.length}`, `${name} ${base64(bytes)}`));
  t.diagnostic(`${samples.reduce((sum, { bytes }) => sum + bytes.length, 0)} prefixes`);
});

/** Values of every type with a few bits flipped. */
function mutate() {
  const random = randomFrom(seed + 1);
  const mutants = [];
  for (const [name, schema] of types) {
    const own = samples.filter((sample) => sample.name === name);
    for (let i = 0; i < FLIPS_A_TYPE; i++) {
      const bytes = Uint8Array.from(own[random.below(own.length)].bytes);
      for (let flips = 1 + random.below(2); flips > 0; flips--) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
      // the low bits of a word determine discriminants, flags and lengths
      if (random.chance(0.5)) bytes[random.below(bytes.length / 4) * 4 + 3] ^= 1 + random.below(3);
      mutants.push({ name, schema: unwrap(schema), bytes });
    }
  }
  return mutants;
}

const mutants = mutate();

test('with bits flipped, our decoder accepts exactly what the SDK accepts', (t) => {
  const verdicts = judge(mutants.map(({ name, bytes }) => `check ${name} ${base64(bytes)}`));
  const seen = {};
  mutants.forEach(({ name, schema, bytes }, i) => {
    const valid = schema.validateXdr(bytes, SDK_OPTIONS);
    assert.equal(verdicts[i] === 'OK', valid, `${name} ${base64(bytes)}: ours ${verdicts[i]}, SDK ${valid}`);
    const code = verdicts[i].split(' ')[0];
    seen[code] = (seen[code] ?? 0) + 1;
  });
  for (const code of ['OK', 'XDR_TRUNCATED', 'XDR_TRAILING', 'XDR_INVALID', 'XDR_UNKNOWN_ARM']) assert.ok(seen[code] > 0, code);
  t.diagnostic(JSON.stringify(seen));
});

test('the Rust decoder, which is of the protocol that fairway understands, decodes every value and encodes it to the same bytes', () => {
  rustJudge(samples).forEach((verdict, i) => assert.equal(verdict, hex(samples[i].bytes), samples[i].name));
});

// The same bytes: it decodes a boolean that is neither 0 nor 1 as false, which RFC 4506 (section 4.4) does not allow.
test('with bits flipped, our decoder accepts exactly what the Rust decoder decodes and encodes to the same bytes', () => {
  const verdicts = judge(mutants.map(({ name, bytes }) => `check ${name} ${base64(bytes)}`));
  rustJudge(mutants).forEach((verdict, i) => {
    const { name, bytes } = mutants[i];
    assert.equal(verdicts[i] === 'OK', verdict === hex(bytes), `${name} ${hex(bytes)}: ours ${verdicts[i]}, Rust ${verdict}`);
  });
});
