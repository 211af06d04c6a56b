// Copies of the tree in which planted defects are applied, built, tested and removed again.
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { slower } from '../slowness.mjs';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const MOST = { maxBuffer: 1 << 26 }; // of output
const TIMEOUT_MS = 180_000; // the storm takes 70 s on an idle machine
const STOP_MS = 5_000;

// Hazards: defects of two earlier systems. The names of patches begin with these ids, and each id has at least one patch.
export const HAZARDS = ['H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'H7', 'H14', 'H15', 'H16', 'H18', 'Z1', 'Z2', 'Z3', 'Z4', 'Z5', 'Z6', 'Z7'];

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
    return { name: name.replace(/\.patch$/, ''), file, what, red: red.split(/\s+/), only: field('Only') };
  }));
}

export const isNode = program => /\.(mjs|sql)$/.test(program);
/** The arguments and the variables that run a file of tests/sql, or another program of node. */
const nodeRuns = program => program.endsWith('.sql') ? ['tests/sql/sql.test.mjs', { FAIRWAY_SQL: program }] : [program, {}];

// One defect for each hazard, preferably one that C programs find.
export const oneOfEach = defects => HAZARDS.map(hazard => {
  const those = defects.filter(({ name }) => name.startsWith(`${hazard}-`));
  return those.find(({ red }) => !red.some(isNode)) ?? those[0];
}).filter(Boolean);

// Runs a command and returns its output. Ends its process group when the output matches `failed`, and on timeout, which grows with the load
// of the machine.
function judge(command, args, { cwd, env, failed }) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '', late = false, stopped = 0;
    const end = signal => { try { process.kill(-child.pid, signal); } catch { /* ended already */ } };
    const hear = data => {
      output += data;
      if (!stopped && failed?.test(output)) {
        stopped = Date.now();
        end('SIGTERM');
      }
    };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
    const begun = Date.now();
    const timer = setInterval(() => {
      late ||= !stopped && Date.now() - begun >= slower(TIMEOUT_MS);
      if (late || stopped && Date.now() - stopped >= STOP_MS)
        end('SIGKILL');
    }, 1000);
    child.on('close', (code, signal) => {
      clearInterval(timer);
      end('SIGKILL'); // what it has started and left
      resolve({ code, signal, late, output });
    });
  });
}

// Tests of `make run` start sessions of their own, which they end themselves.
const mayEndEarly = program => !program.startsWith('tests/dev/');

// What a program says of each test: green, its name; red, its name and the reason.
const SAYS = {
  node: { green: /^ *ok \d+ - (?!.*# (?:SKIP|TODO))(.*)$/gm, red: /^ *not ok \d+ - (.*)$/m, why: /^ *error: (?:\|-\s*)?(.*)$/m },
  cmocka: { green: /^\[       OK \] (.*)$/gm, red: /^\[  FAILED  \] (.*)$/m, why: /^\[  ERROR   \] --- (?:\[   LINE   \] --- )?(.*)$/m },
};

// The files of a tree: their times and sizes, by name.
async function filesOf(tree) {
  const { stdout } = await run('find', ['.', '-type', 'f', '-printf', '%T@ %s %p\\n'], { cwd: tree, ...MOST });
  return new Map(stdout.trimEnd().split('\n').map(line => line.match(/^(\S+ \S+) (.*)$/).slice(1)).map(([state, name]) => [name, state]));
}

class Lane {
  constructor(tree, original, files, env) {
    Object.assign(this, { tree, original, files });
    this.env = { ...env, FAIRWAY_KEYD: path.join(tree, 'build/release/fairway-keyd') };
  }

  // Runs these tests of a program: {red, green, how, output}; green has the names of those that passed.
  async test(program, only) {
    const node = isNode(program), says = SAYS[node ? 'node' : 'cmocka'], begun = Date.now();
    const filter = !node && only.length > 0 && { LD_PRELOAD: path.join(this.original, '../filter.so'), DEFECT_ONLY: only.join(' ') };
    const [file, chosen] = nodeRuns(program);
    const options = { cwd: this.tree, env: { ...this.env, ...filter, ...chosen }, failed: mayEndEarly(program) ? says.red : undefined };
    const { code, signal, late, output } = node
      ? await judge(process.execPath, ['--test', '--test-reporter=tap', ...only.map(name => `--test-name-pattern=${name}`), file], options)
      : await judge(`build/release/${program}`, [], options);
    const green = [...output.matchAll(says.green)].map(([, name]) => name);
    const red = output.match(says.red)?.[1], why = output.match(says.why)?.[1] ?? '';
    const how = red ? `red: ${red.slice(0, 80)}: ${why}` : late ? 'too slow' : code === 0 ? `${green.length} tests green`
      : `ended by ${signal ?? `exit code ${code}`}: ${output.trim().split('\n').pop()}`;
    return { red: Boolean(red) || code !== 0, green, how: `${how.slice(0, 240)} (${Math.round((Date.now() - begun) / 1000)} s)`, output };
  }

  async plant(defect) {
    await run('git', ['apply', '--unsafe-paths', `--directory=${this.tree}`, defect.file], { cwd: '/' });
  }

  // Builds what these tests need.
  async build(programs) {
    await build(this.tree, this.env, programs);
  }

  // Restores all files of the tree, with their times, so that the next build compiles only what the next defect changes.
  async restore() {
    const now = await filesOf(this.tree);
    const added = [...now.keys()].filter(name => !this.files.has(name));
    const changed = [...this.files.keys()].filter(name => now.get(name) !== this.files.get(name));
    await Promise.all(added.map(name => rm(path.join(this.tree, name), { force: true })));
    if (changed.length > 0)
      await run('cp', ['-a', '--parents', '--remove-destination', ...changed, this.tree], { cwd: this.original });
  }
}

// A tree that does not compile is an error of the suite.
const build = (tree, env, programs) => run('make', ['--no-print-directory', `-j${availableParallelism()}`,
  ...programs.every(program => program.startsWith('tests/unit/')) ? [] : ['build'],
  ...programs.filter(program => !isNode(program)).map(program => `build/release/${program}`)], { cwd: tree, env, ...MOST });

// Copies in a temporary folder, beside a link to ../shared, which some tests read. The first copy is built and stays as it is; the others,
// the lanes, are copies of it.
export async function openLanes(count, programs) {
  const home = await mkdtemp(path.join(tmpdir(), 'fairway-defects-')), original = path.join(home, 'original');
  await chmod(home, 0o711); // PostgreSQL does not run as root
  const shared = await realpath(path.join(root, '../shared')).catch(() => null);
  if (shared)
    await symlink(shared, path.join(home, 'shared'));
  await run('gcc', ['-shared', '-fPIC', '-O1', '-I', path.join(root, 'tests'), '-o', path.join(home, 'filter.so'),
    path.join(import.meta.dirname, 'filter.c')]);
  // with the times of files, so that make does not build again what is built
  await mkdir(path.join(original, 'build'), { recursive: true });
  await run('cp', ['-a', ...['Makefile', 'cmd', 'include', 'src', 'migrations', 'docker'].map(part => path.join(root, part)), original]);
  await run('cp', ['-a', path.join(root, 'build/release'), path.join(original, 'build')]);
  await mkdir(path.join(original, 'tests'));
  const parts = (await readdir(path.join(root, 'tests'))).filter(name => name !== 'node_modules');
  await run('cp', ['-a', ...parts.map(name => path.join(root, 'tests', name)), path.join(original, 'tests')]);
  await symlink(path.join(root, 'tests/node_modules'), path.join(original, 'tests/node_modules'));

  const { FAIRWAY_SIZE, NODE_TEST_CONTEXT, MAKEFLAGS, MAKELEVEL, ...rest } = process.env;
  const commit = await readFile(path.join(original, 'build/release/commit.h'), 'utf8').catch(() => '"unknown"');
  const env = { ...rest, BUILD: 'build/release', FAIRWAY_BIN: 'build/release/fairway', FAIRWAY_VECTORS: 'build/release/vectors.txt',
    XDR_JUDGE: 'build/release/tests/xdr/xdr_judge', FAIRWAY_FSYNC: 'off', FAIRWAY_CLUSTER: rest.FAIRWAY_CLUSTER ?? path.join(home, 'cluster'),
    COMMIT: commit.match(/"(.*)"/)[1] }; // the copies have no .git
  const close = () => rm(home, { recursive: true, force: true, maxRetries: 3 });
  await build(original, env, programs).catch(async error => { await close(); throw error; });
  const files = await filesOf(original), lanes = [];
  for (let i = 0; i < count; i++) {
    const tree = path.join(home, `tree${i}`);
    await run('cp', ['-a', original, tree]);
    lanes.push(new Lane(tree, original, files, env));
  }
  return { lanes, close };
}
