// What database functions alone decide, tested in SQL. psql runs each NAME.sql as the superuser, in a database of its own that has setup.sql. A case
// begins with a comment after an empty line, which is its name; its output must be that of NAME.out. The cases of a file share one session, and
// tests/assertions.sql ends it. Output is unaligned rows without headings and empty ones.
// FAIRWAY_SQL=tests/sql/NAME.sql: this file only. ACCEPT=1: writes NAME.out.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '../..'), at = name => path.join(root, 'tests', name);
const RULES = 'the rules of tests/assertions.sql hold';
const run = (command, args, env, input) => {
  const running = promisify(execFile)(command, args, { cwd: root, env: { ...process.env, ...env }, maxBuffer: 1 << 24 });
  running.child.stdin.on('error', () => {}); // psql may end early
  running.child.stdin.end(input ?? '');
  return running;
};
// In one pipe: errors stand among the rows.
const psql = (url, input, ...args) => run('sh', ['-c', 'exec psql "$@" 2>&1', 'psql', '-XqAt', '-v', 'VERBOSITY=terse', '-P', 'null=NULL', ...args, url],
  {}, input).then(({ stdout }) => stdout);
const inDatabase = (url, name) => url.replace(/\/postgres$/, `/${name}`);

async function makeTemplate() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-sql-'));
  const { stdout } = await run('sh', [at('integration/support/pg.sh'), 'start', folder, String(process.pid)]);
  const server = stdout.trim(), { password } = new URL(server), url = inDatabase(server, 'template_fairway');
  const strict = ['-v', 'ON_ERROR_STOP=1'];
  await psql(server, 'CREATE DATABASE template_fairway', ...strict);
  await run('psql', ['-Xq', ...strict, '-f', 'docker/roles.sql', url], { FAIRWAY_OWNER_PASSWORD: password, FAIRWAY_PASSWORD: password });
  await run(path.resolve(root, process.env.FAIRWAY_BIN ?? 'build/release/fairway'), ['migrate'],
    { DATABASE_URL: url.replace('//superuser', '//fairway_owner'), LOG_LEVEL: 'warn' });
  await psql(url, fs.readFileSync(at('sql/setup.sql')), '-1', ...strict);
  return server;
}

/** The names of the cases of a text, in order, each with what follows it up to the next one. */
function casesOf(text, heading) {
  const [, ...parts] = text.split(heading);
  return parts.map(part => [part.split('\n', 1)[0], part.slice(part.indexOf('\n') + 1)]);
}
const clean = output => output.replace(/^\|*\n/gm, ''); // of void functions too

async function outputOf(server, name) {
  const url = inDatabase(server, name);
  await psql(server, `CREATE DATABASE ${name} TEMPLATE template_fairway`, '-v', 'ON_ERROR_STOP=1');
  const sql = fs.readFileSync(at(`sql/${name}.sql`), 'utf8'), rules = fs.readFileSync(at('assertions.sql'), 'utf8');
  const echoed = `${sql}\n\n-- ${RULES}\n${rules}`.replaceAll(/(?<=\n\n)-- (.*)/g, (_, title) => `\\echo\n\\echo '-- ${title.replaceAll("'", "''")}'`);
  return psql(url, `SET client_min_messages = warning;\n${echoed}`).catch(error => `${error.stdout}\npsql ended with exit code ${error.code}`);
}

const only = process.env.FAIRWAY_SQL && path.basename(process.env.FAIRWAY_SQL, '.sql');
const names = fs.readdirSync(at('sql')).filter(file => file.endsWith('.sql') && file !== 'setup.sql').map(file => file.slice(0, -4))
  .filter(name => !only || name === only);
assert.ok(names.length > 0, `no file tests/sql/${only}.sql`);
const server = await makeTemplate(), outputs = new Map(), waiting = [...names];
await Promise.all(Array.from({ length: os.availableParallelism() }, async () => {
  for (let name; (name = waiting.shift());)
    outputs.set(name, await outputOf(server, name));
}));

for (const name of names)
  describe(name, () => {
    const file = at(`sql/${name}.out`), cases = casesOf(outputs.get(name), /^-- /m).map(([title, output]) => [title, clean(output)]);
    if (process.env.ACCEPT)
      fs.writeFileSync(file, cases.filter(([title]) => title !== RULES).map(([title, output]) => `-- ${title}\n${output}`).join(''));
    assert.equal(new Map(cases).size, cases.length, `two cases of ${name} have one name`);
    const expected = new Map([...casesOf(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '', /^-- /m), [RULES, '']]);
    for (const title of new Set([...cases.map(([title]) => title), ...expected.keys()]))
      test(title, () => assert.deepEqual(new Map(cases).get(title)?.split('\n'), expected.get(title)?.split('\n')));
  });
