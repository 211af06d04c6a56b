// `make mutants FILES="src/stellar/frozen.c ..."`: changes one thing at a time in C sources, and says which changes no test notices. FILES: by
// default those changed against origin/main, or by the last commit. First it runs the unit programs of the file's module, then, for what has
// survived, up to four integration programs: those that include a header of the module and have a word of the file's name, or include its
// header. It works in copies of the tree, with two jobs, for MUTANTS_SECONDS (900) at most, in an order that spreads what a short time reaches.
// mull, which does this for LLVM, is not in Debian, and each of its releases needs its own release of clang.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { mutantsOf } from './mutate.mjs';

const root = path.resolve(import.meta.dirname, '../..'), BUILD = 'build/mutants', JOBS = 2;
const end_ms = Date.now() + 1000 * Number(process.env.MUTANTS_SECONDS ?? 900);
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

function changed() {
  const base = ['origin/main', 'HEAD~'].find(name => {
    try { return git('diff', '--name-only', name, '--', 'src') !== ''; } catch { return false; }
  });
  return base ? git('diff', '--name-only', '--diff-filter=d', base, '--', 'src').split('\n').filter(name => name.endsWith('.c')) : [];
}
const files = process.argv.slice(2).length ? process.argv.slice(2) : changed();
for (const file of files)
  if (!/^src\/\w+\/\w+\.c$/.test(file) || !fs.existsSync(path.join(root, file))) {
    console.error(`${file} is no source of a module`);
    process.exit(64);
  }

/** Runs a command in a tree: {code, output}. Ends its process group after ms. */
function run(tree, command, args, ms) {
  const env = { ...process.env, BUILD, MAKEFLAGS: '', FAIRWAY_FSYNC: 'off', FAIRWAY_BIN: `${BUILD}/fairway`, FAIRWAY_KEYD: path.join(tree, BUILD, 'fairway-keyd'),
    FAIRWAY_CLUSTER: path.join(home, 'cluster'), FAIRWAY_VECTORS: `${BUILD}/vectors.txt`, FAIRWAY_STOP: `${BUILD}/tests/faults/stop.so`,
    FAIRWAY_SICK_SERVER: `${BUILD}/tests/faults/sick_server.so`, FAIRWAY_FAIL_SO: `${BUILD}/tests/faults/fail.so` };
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd: tree, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const kill = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* ended already */ } };
    const hear = data => { if ((output += data).length > 1 << 24) kill(); };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
    const timer = setTimeout(kill, ms);
    child.on('close', code => { clearTimeout(timer); kill(); resolve({ code: code ?? -1, output }); });
  });
}
// -O0 compiles fastest. A function that ends without its return is no mutant.
const make = (tree, ...targets) => run(tree, 'make', ['-s', `BUILD=${BUILD}`, 'CFLAGS=-O0 -U_FORTIFY_SOURCE -Wno-error -Werror=return-type', ...targets], 300_000);
const test = (tree, program, ms) => run(tree, 'sh', ['-c', 'ulimit -v 8000000; exec "$0"', `${BUILD}/tests/${program}`], ms);

/** The programs that may notice a change of the file, in the order in which they run: [unit programs, integration programs]. */
function programsOf(file) {
  const [, module, name] = /^src\/(\w+)\/(\w+)\.c$/.exec(file);
  return [`unit/${module}`, 'integration'].map(part => {
    const folder = path.join(root, 'tests', part), names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    return names.filter(entry => /^test_.*\.c$/.test(entry)).map(entry => {
      const text = fs.readFileSync(path.join(folder, entry), 'utf8'), program = entry.slice(0, -2);
      return { program: `${part}/${program}`, isAbout: text.includes(`"${module}/`), rank: program === `test_${name}` ? 0
        : new RegExp(`"(?:${module}/)?${name}\\.h"`).test(text) ? 1 : name.split('_').some(word => program.includes(word)) ? 2 : 3 };
    }).filter(({ isAbout, rank }) => part !== 'integration' || (isAbout && rank < 3)).sort((one, other) => one.rank - other.rank).map(({ program }) => program);
  });
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-mutants-'));
fs.chmodSync(home, 0o711); // PostgreSQL does not run as root
const close = () => fs.rmSync(home, { recursive: true, force: true, maxRetries: 3 });
process.on('SIGINT', () => { close(); process.exit(130); });

/** A tree with everything built; throws when that fails. */
async function prepare(programs) {
  const tree = path.join(home, 'tree0');
  fs.mkdirSync(path.join(tree, 'tests'), { recursive: true });
  execFileSync('cp', ['-a', ...['Makefile', 'cmd', 'include', 'src', 'migrations', 'docker'].map(part => path.join(root, part)), tree]);
  execFileSync('cp', ['-a', ...fs.readdirSync(path.join(root, 'tests')).filter(part => part !== 'node_modules').map(part => path.join(root, 'tests', part)),
    path.join(tree, 'tests')]);
  fs.symlinkSync(path.join(root, 'tests/node_modules'), path.join(tree, 'tests/node_modules'));
  const { code, output } = await make(tree, `-j${JOBS}`, 'COMMIT=mutants', 'build', `${BUILD}/vectors.txt`,
    ...['stop', 'sick_server', 'fail'].map(name => `${BUILD}/tests/faults/${name}.so`), ...programs.map(program => `${BUILD}/tests/${program}`));
  if (code !== 0)
    throw new Error(output);
  return tree;
}

/** What becomes of a mutant: {end: 'killed' | 'survived' | 'no mutant' | 'not tried', by}. */
async function judge(tree, { file, text }, programs, times) {
  const source = path.join(tree, file), original = fs.readFileSync(source);
  fs.writeFileSync(source, text);
  try {
    for (const program of programs) {
      if (Date.now() > end_ms)
        return { end: 'not tried', by: ` by ${program}` };
      const { code: unbuilt } = await make(tree, 'COMMIT=mutants', `${BUILD}/tests/${program}`, ...program.startsWith('unit/') ? [] : ['build']);
      if (unbuilt)
        return { end: 'no mutant', by: '' };
      const { code, output } = await test(tree, program, 5000 + 5 * times.get(program));
      const failed = /^\[  FAILED  \] (\w+)$/m.exec(output)?.[1] ?? [...output.matchAll(/^\[ RUN      \] (\w+)/gm)].at(-1)?.[1] ?? '';
      if (code !== 0)
        return { end: 'killed', by: `${program} ${failed}` };
    }
    return { end: 'survived', by: '' };
  } finally {
    fs.writeFileSync(source, original);
  }
}

/** Judges those that have not been killed by programs of one level: 0 unit, 1 integration. */
async function judgeAll(mutants, trees, level, times) {
  const waiting = mutants.filter(({ end }) => end === 'survived'), programs = new Map();
  for (const file of new Set(waiting.map(({ file }) => file))) {
    // A program that does not contain the file cannot notice anything.
    programs.set(file, programsOf(file)[level].filter(program => fs.readFileSync(path.join(trees[0], BUILD, 'tests', program)).includes(file))
      .slice(0, level === 0 ? undefined : 4));
    console.log(`${file}: ${programs.get(file).join(', ') || `no ${['unit', 'integration'][level]} program`}`);
    for (const program of programs.get(file).filter(name => !times.has(name))) {
      const begun = Date.now(), { code, output } = await test(trees[0], program, 120_000);
      if (code !== 0)
        throw new Error(`${program} fails without a mutant\n${output}`);
      times.set(program, Date.now() - begun);
    }
  }
  await Promise.all(trees.map(async tree => {
    for (let mutant; (mutant = waiting.shift());) {
      Object.assign(mutant, await judge(tree, mutant, programs.get(mutant.file), times));
      if (mutant.end === 'killed')
        console.log(`${mutant.says}: ${mutant.by}`);
    }
  }));
}

try {
  const trees = [await prepare([...new Set(files.flatMap(programsOf).flat())])];
  while (trees.length < JOBS) {
    trees.push(path.join(home, `tree${trees.length}`));
    execFileSync('cp', ['-a', trees[0], trees.at(-1)]);
  }
  const mutants = files.flatMap(file => mutantsOf(fs.readFileSync(path.join(root, file), 'utf8')).map(mutant => ({ file, ...mutant, end: 'survived',
    by: '', says: `${file}:${mutant.line} ${mutant.kind}: ${mutant.from} -> ${mutant.to}`.slice(0, 160) })));
  const spread = new Map(mutants.map((mutant, i) => [mutant, (i * 7919 + 13) % mutants.length])), times = new Map();
  const inTurn = [...mutants].sort((one, other) => spread.get(one) - spread.get(other));
  await judgeAll(inTurn, trees, 0, times);
  await judgeAll(inTurn, trees, 1, times);
  for (const end of ['survived', 'not tried'])
    for (const mutant of mutants.filter(one => one.end === end))
      console.log(`${end.toUpperCase()}${mutant.by}: ${mutant.says}`);
  for (const file of files) {
    const count = end => mutants.filter(one => one.file === file && one.end === end).length;
    console.log(`${file}: ${count('killed')} killed, ${count('survived')} survived, ${count('not tried')} not tried, ${count('no mutant')} do not compile`);
  }
} finally {
  close();
}
