// Copies of the tree in which planted defects are applied, built, tested and removed again.
import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, realpath, rm, symlink, utimes } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 180_000; // the storm takes 70 s on an idle machine
/** The factor, from 1 to 10, by which the load of this machine slows a program down. */
const slowness = () => Math.min(10, Math.max(1, loadavg()[0] / availableParallelism()));

// Hazards: defects of two earlier systems. The names of patches begin with these ids, and each id has at least one patch.
export const HAZARDS = ['H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'H7', 'H14', 'H15', 'H16', 'H18', 'Z1', 'Z2', 'Z3', 'Z4', 'Z5', 'Z6', 'Z7',
  'I3', 'I5', 'T10'];

export async function readDefects(matching) {
  const names = (await readdir(import.meta.dirname)).filter(name => name.endsWith('.patch') && matching.test(name)).sort();
  return Promise.all(names.map(async name => {
    const file = path.join(import.meta.dirname, name);
    const text = await readFile(file, 'utf8');
    const head = text.slice(0, text.search(/^(diff|---) /m));
    const field = key => head.match(new RegExp(`^${key}: *(.+)$`, 'm'))?.[1].trim();
    const [id, what, red] = [field('Hazard') ?? field('Defect'), field('What'), field('Red')];
    if (!id || !what || !red)
      throw new Error(`${name} lacks Hazard or Defect, What, or Red`);
    const touched = [...text.matchAll(/^(?:---|\+\+\+) [ab]\/(\S+)/gm)].map(([, name]) => name);
    return { name: name.replace(/\.patch$/, ''), file, what, red: red.split(/\s+/), only: field('Only'), touched: [...new Set(touched)] };
  }));
}

// One defect for each hazard, preferably one that C programs find.
export const oneOfEach = defects => HAZARDS.map(hazard => {
  const those = defects.filter(({ name }) => name.startsWith(`${hazard}-`));
  return those.find(({ red }) => red.every(program => !program.endsWith('.mjs'))) ?? those[0];
}).filter(Boolean);

// Runs a command and returns its output. On timeout, which grows with the load of the machine, kills its whole process group.
function judge(command, args, { cwd, env }) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '', late = false;
    child.stdout.on('data', data => output += data);
    child.stderr.on('data', data => output += data);
    const begun = Date.now();
    const timer = setInterval(() => {
      if (Date.now() - begun < TIMEOUT_MS * slowness())
        return;
      late = true;
      process.kill(-child.pid, 'SIGKILL');
    }, 1000);
    child.on('close', (code, signal) => { clearInterval(timer); resolve({ code, signal, late, output }); });
  });
}

const count = (output, pattern) => [...output.matchAll(pattern)].reduce((sum, [, number]) => sum + Number(number), 0);

export class Lane {
  static async open(home, number) {
    const lane = new Lane();
    lane.tree = path.join(home, `tree${number}`);
    // keeps the times of files, so that make does not build again what is built
    for (const part of ['Makefile', 'cmd', 'include', 'src', 'migrations', 'docker', 'build/release'])
      await run('sh', ['-c', 'if [ -e "$1" ]; then mkdir -p "$2/$(dirname "$1")" && cp -a "$1" "$2/$1"; fi', '-', part, lane.tree], { cwd: root });
    await cp(path.join(root, 'tests'), path.join(lane.tree, 'tests'), {
      recursive: true, preserveTimestamps: true, filter: name => name !== path.join(root, 'tests/node_modules') });
    await symlink(path.join(root, 'tests/node_modules'), path.join(lane.tree, 'tests/node_modules'));
    lane.filter = path.join(home, 'filter.so');
    if (number === 0)
      await run('gcc', ['-shared', '-fPIC', '-O1', '-o', lane.filter, path.join(import.meta.dirname, 'filter.c')]);
    // one server for all programs of a lane, which run one after the other
    const { stdout } = await run('sh', ['tests/integration/support/pg.sh', 'start', path.join(home, `pg${number}`), String(process.pid)], { cwd: root });
    const { FAIRWAY_SIZE, NODE_TEST_CONTEXT, MAKEFLAGS, MAKELEVEL, ...env } = process.env;
    lane.env = { ...env, BUILD: 'build/release', FAIRWAY_TEST_PG_URL: stdout.trim().split('\n').pop(),
      FAIRWAY_BIN: 'build/release/fairway', FAIRWAY_KEYD: path.join(lane.tree, 'build/release/fairway-keyd'),
      FAIRWAY_VECTORS: 'build/release/vectors.txt', XDR_JUDGE: 'build/release/tests/xdr/xdr_judge' };
    return lane;
  }

  // Builds what these tests need. A tree that does not compile is an error of the suite.
  async build(tests) {
    const programs = tests.filter(test => !test.endsWith('.mjs')).map(test => `build/release/${test}`);
    await run('make', ['--no-print-directory', 'build', ...programs], { cwd: this.tree, env: this.env, maxBuffer: 1 << 26 });
  }

  // Returns {red, how, ran, output}.
  async test(test, only) {
    const node = test.endsWith('.mjs');
    const { code, signal, late, output } = node
      ? await judge(process.execPath, ['--test', '--test-reporter=tap', ...only ? [`--test-name-pattern=${only}`] : [], test], { cwd: this.tree, env: this.env })
      : await judge(`build/release/${test}`, [], { cwd: this.tree,
        env: { ...this.env, ...only && { LD_PRELOAD: this.filter, DEFECT_ONLY: only } } });
    const passed = node ? count(output, /^# pass (\d+)/gm) : count(output, /^\[  PASSED  \] (\d+) test/gm);
    const failed = node ? count(output, /^# fail (\d+)/gm) : count(output, /^\[  FAILED  \] .*?(\d+) test/gm);
    const how = late ? 'too slow' : failed > 0 ? `${failed} of ${passed + failed} tests red`
      : code === 0 ? `${passed} tests green` : `ended by ${signal ?? `exit code ${code}`}: ${output.trim().split('\n').pop().slice(0, 160)}`;
    return { red: code !== 0, ran: passed + failed, how, output };
  }

  async plant(defect) {
    await run('git', ['apply', '--unsafe-paths', `--directory=${this.tree}`, defect.file], { cwd: '/' });
  }

  // Restores the files, with newer times than what was built from them.
  async restore(defect) {
    const now = new Date();
    for (const name of defect.touched) {
      await rm(path.join(this.tree, name), { force: true });
      await cp(path.join(root, name), path.join(this.tree, name)).catch(error => { if (error.code !== 'ENOENT') throw error; });
      await utimes(path.join(this.tree, name), now, now).catch(() => {});
    }
  }
}

// Two copies in a temporary folder, beside a link to ../shared, which some tests read.
export async function openLanes(count) {
  const home = await mkdtemp(path.join(tmpdir(), 'fairway-defects-'));
  const shared = await realpath(path.join(root, '../shared')).catch(() => null);
  if (shared)
    await symlink(shared, path.join(home, 'shared'));
  const lanes = [];
  for (let i = 0; i < count; i++)
    lanes.push(await Lane.open(home, i));
  return { lanes, close: async () => {
    for (let i = 0; i < count; i++)
      await run('sh', ['tests/integration/support/pg.sh', 'stop', path.join(home, `pg${i}`)], { cwd: root });
    await rm(home, { recursive: true, force: true });
  } };
}
