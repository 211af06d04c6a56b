// DL14: checks the model of lease and release (lease.pml) exhaustively with spin, and its mutants, each of which must break the promise
// named with it. FAIRWAY_SIZE=long (`make model`) checks more and prints how many states it visited.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { slower } from '../slowness.mjs';

const run = promisify(execFile);
const long = process.env.FAIRWAY_SIZE === 'long';
const lines = [];

const SAFETY = { what: 'safety: the seven promises of lease.pml', spin: long ? ['-DLAG=3', '-DLIFE=2'] : [] };
const LIVENESS = [
  { what: 'liveness: every lease ends, however often processes crash', claim: 'every_lease_ends',
    spin: ['-DLAG=1', '-DFAULTS_GO_ON', ...long ? [] : ['-DLIFE=0']] },
  { what: 'liveness: when faults end, nothing stays stuck', claim: 'nothing_stays_stuck', fair: true, slow: true,
    spin: ['-DLAG=1', '-DLIFE=0', '-DFAULTS_END'] },
];
// name, what is broken, the promise of lease.pml that must break
const MUTANTS = [
  ['NO_FENCE', 'a ledger transaction does not check the term', 'ONE_BY_ONE'],
  ['RELEASE_APART', 'leases end in a transaction after the ledger\'s', 'NOT_LOST'],
  ['FREED_BY_CLOCK', 'a lease ends because time has passed', 'ONE_LIVE'],
  ['UNFENCED_GRANT', 'claim and record are two transactions, and the second does not check again', 'ONE_LIVE'],
  ['ANSWER_BEFORE_COMMIT', 'the response is sent before COMMIT', 'ROW_FIRST'],
  ['GUESS_COMMIT', 'a COMMIT without a response counts as done', 'ROW_FIRST'],
  ['EXPIRE_AT_MAX_TIME', 'a lease expires with the ledger that closes at its max time', 'NOT_EARLY'],
  ['CATCH_UP_WITHOUT_RELEASE', 'only the newest ledger ends leases', 'NOT_LOST'],
  ['SEQUENCE_FROM_RPC', 'a ledger does not write the sequence that it consumed', 'RIGHT_SEQUENCE'],
];
const NEVER_EXPIRE = ['NEVER_EXPIRE', 'leases that no ledger includes never end', 'every_lease_ends'];

const folder = await mkdtemp(join(tmpdir(), 'fairway-model-'));
after(async () => {
  await rm(folder, { recursive: true });
  if (long) console.log(`\n${lines.join('\n')}\n`);
});
const text = await readFile(new URL('lease.pml', import.meta.url), 'utf8');
const promises = Object.fromEntries([...text.matchAll(/^#define (\w+) (\d)  +\/\*/gm)].map(([, name, number]) => [name, number]));

// Generates the verifier, compiles and runs it. The search is exhaustive: every state is stored in full (COLLAPSE loses nothing), without
// bitstate hashing and without a depth limit.
async function verify(name, { spin, gcc = [], pan }) {
  const home = join(folder, name);
  await run('mkdir', [home]);
  await copyFile(new URL('lease.pml', import.meta.url), join(home, 'lease.pml'));
  await run('spin', ['-a', ...spin, 'lease.pml'], { cwd: home });
  await run('gcc', ['-w', '-O2', '-DMEMLIM=6000', ...gcc, '-o', 'pan', 'pan.c'], { cwd: home });
  const begun = Date.now();
  const { stdout } = await run('./pan', pan, { cwd: home, maxBuffer: 1 << 24, timeout: slower(400_000) });
  const number = pattern => Number(stdout.match(pattern)?.[1] ?? NaN);
  const seen = {
    errors: number(/errors: (\d+)/), states: number(/(\d+) states, stored/), depth: number(/depth reached (\d+)/),
    seconds: (Date.now() - begun) / 1000, complaint: stdout.match(/^pan:1: (.*)$/m)?.[1] ?? '',
    unreached: [...stdout.matchAll(/lease\.pml:\d+, state \d+, "(?!-end-)(.*)"/g)].map(([, statement]) => statement),
  };
  assert.doesNotMatch(stdout, /max search depth too small|out of memory|Search not completed(?![^]*errors: 1)/, stdout);
  assert.ok(Number.isInteger(seen.errors) && seen.states > 0, stdout);
  await rm(home, { recursive: true });
  return seen;
}

function say(t, what, { states, depth, seconds }, found = '') {
  const line = `${what}: ${found || 'holds'}; ${states.toLocaleString('en')} states, depth ${depth.toLocaleString('en')}, ${seconds.toFixed(1)} s`;
  lines.push(line);
  t.diagnostic(line);
}

test(`DL14 ${SAFETY.what}`, async t => {
  const seen = await verify('safety', { spin: SAFETY.spin, gcc: ['-DSAFETY', '-DCOLLAPSE'], pan: ['-m4000000'] });
  say(t, SAFETY.what, seen);
  assert.equal(seen.errors, 0, seen.complaint);
  assert.deepEqual(seen.unreached, [], 'a step of the model never happens');
});

for (const { what, claim, spin, fair, slow } of LIVENESS)
  test(`DL14 ${what}`, { skip: slow && !long && 'a minute: make model' }, async t => {
    const seen = await verify(claim, { spin, gcc: ['-DNFAIR=3', '-DCOLLAPSE'], pan: ['-a', ...fair ? ['-f'] : [], '-m4000000'] });
    say(t, what, seen);
    assert.equal(seen.errors, 0, seen.complaint);
  });

let caught = 0;
for (const [mutant, what, broken] of MUTANTS)
  test(`DL14 mutant ${mutant}: ${what}`, async t => {
    const seen = await verify(mutant, {
      spin: [`-D${mutant}`, `-DONLY=${promises[broken]}`], gcc: ['-DSAFETY', '-DBFS'], pan: [] });
    say(t, `mutant ${mutant}`, seen, `counter-example to ${broken}`);
    assert.equal(seen.errors, 1, `${broken} holds although ${what}`);
    assert.match(seen.complaint, new RegExp(`assertion violated .*${promises[broken]}!=${promises[broken]}`));
    caught++;
  });

test(`DL14 mutant ${NEVER_EXPIRE[0]}: ${NEVER_EXPIRE[1]}`, async t => {
  const seen = await verify('NEVER_EXPIRE', {
    spin: ['-DLAG=1', '-DNEVER_EXPIRE', '-DFAULTS_GO_ON'], gcc: ['-DNFAIR=3', '-DCOLLAPSE'], pan: ['-a', '-m4000000'] });
  say(t, 'mutant NEVER_EXPIRE', seen, 'counter-example to every_lease_ends');
  assert.match(seen.complaint, /acceptance cycle/);
  caught++;
});

test('DL14 every mutant gives a counter-example', t => {
  const line = `${caught} of ${MUTANTS.length + 1} mutants give a counter-example`;
  lines.push(line);
  t.diagnostic(line);
  assert.equal(caught, MUTANTS.length + 1);
});
