// What the pages for users and operators name must exist: options, error codes, endpoints, commands, metrics, make targets, files.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');
const all = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(m => m[1]))].sort();
const filesIn = (folder, pattern) => !fs.existsSync(path.join(root, folder)) ? [] : fs.readdirSync(path.join(root, folder), { recursive: true })
  .filter(name => pattern.test(name)).map(name => path.join(folder, name)).filter(name => fs.statSync(path.join(root, name)).isFile());

const pages = ['README.md', 'src/README.md', 'tests/README.md', 'tests/bench/README.md', 'docker/README.md'].filter(page => fs.existsSync(path.join(root, page)));
const sources = filesIn('src', /\.c$/).map(read).join('\n');
const options = all(read('cmd/fairway/options.c'), /\{"([A-Z][A-Z0-9_]+)", CONFIG_/g)
  .concat(all(read('cmd/fairway/options.c'), /"([A-Z][A-Z0-9_]{4,})"/g));
const codes = all(read('include/base/err.h'), /"([A-Z][A-Z0-9_]+)"/g);
const statuses = all(sources + read('include/base/err.h'), /\b((?:tx|op)[A-Z][A-Z_]+)\b/g);
// Settings of make, of the local network, of tests, of containers: read by scripts, not by fairway
const scripts = ['Makefile', ...filesIn('tests', /\.(mjs|sh|c)$/).filter(name => !name.includes('node_modules')),
  ...filesIn('docker', /^[^.]+$|\.(ya?ml|conf|cfg|service|sh|mjs)$/)].map(read).join('\n');

/** The anchors of a page's headings, as GitHub makes them. */
const sections = page => all(read(page), /^#+ (.*)$/gm).map(heading => heading.toLowerCase().replaceAll(/[^a-z0-9 -]/g, '').replaceAll(' ', '-'));

/** Words in backticks and indented or fenced code, which is where pages name things. */
const code = text => all(text, /```[a-z]*\n([\s\S]*?)```/g).concat(all(text, /`([^`\n]+)`/g), all(text, /^ {4}(\S.*)$/gm)).join('\n');

for (const page of pages) {
  const text = read(page), named = code(text);

  test(`${page}: each option and each error code exists`, () => {
    const known = new Set([...options, ...options.map(o => `${o}_FILE`), ...codes]);
    const missing = all(named, /\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)
      .filter(word => !known.has(word) && !new RegExp(`\\b${word}\\b`).test(scripts) && !statuses.includes(word) &&
        !new RegExp(`\\b${word}\\b`).test(sources));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each endpoint exists`, () => {
    const routes = all(sources, /"(?:GET|POST)", "([^"]+)"/g);
    const missing = all(named, /(\/(?:v1\/[a-z-]+(?:\/\{[a-z]+\})?|livez|readyz|health|metrics)(?=[^a-z-]|$))/g).filter(p => !routes.includes(p));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each command of fairway exists`, () => {
    const commands = all(read('cmd/fairway/commands.c'), /\{"([a-z-]+)",/g);
    const missing = all(named, /^ *(?:\$ *)?fairway ([a-z][a-z-]+)/gm).filter(c => !commands.includes(c));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each metric exists`, () => {
    const roles = read('docker/roles.sql');
    const missing = all(named, /\b(fairway_[a-z_]+)/g).filter(m => !sources.includes(m) && !roles.includes(m));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each make target exists`, () => {
    const makefile = read('Makefile');
    const missing = all(named, /\bmake ([a-z][a-z-]+)/g)
      .filter(t => !new RegExp(`^[a-zA-Z -]*\\b${t}\\b[a-zA-Z -]*:`, 'm').test(makefile) && !t.startsWith('unit-'));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each linked file exists`, () => {
    const links = all(text, /\]\(([^)#]+?)(?:#[^)]*)?\)/g).filter(l => !/^https?:/.test(l));
    const missing = links.filter(l => !fs.existsSync(path.join(root, path.dirname(page), l)));
    assert.deepEqual(missing, []);
  });

  test(`${page}: each linked section exists`, () => {
    const missing = [...text.matchAll(/\]\(([^)#]*)#([^)]*)\)/g)].filter(([, file, section]) => !/^https?:/.test(file) &&
      !sections(file === '' ? page : path.join(path.dirname(page), file)).includes(section)).map(([link]) => link);
    assert.deepEqual(missing, []);
  });
}

test('docker/README.md: each log line is one that fairway writes', () => {
  const [, table] = /\n## Log lines\n[^]*?((?:\|.*\n)+)/.exec(read('docker/README.md'));
  const lines = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell]) => all(cell, /`([^`]+)`/g)).filter(line => line !== 'msg');
  // A string that clang-format has broken is one string.
  const written = [...filesIn('src', /\.c$/), ...filesIn('cmd', /\.c$/)].map(read).join('\n').replaceAll(/"\s*\n\s*"/g, '');
  assert.ok(lines.length > 10);
  assert.deepEqual(lines.filter(line => !written.includes(`"${line}"`)), []);
});

test('docker/README.md: what a captured fairway can have signed is what the test tries', () => {
  const tried = read('tests/integration/test_keyd_hostile.c'), texts = Object.fromEntries(
    [...tried.matchAll(/^#define (\w+)[\s\\]*"(.*)"$/gm)].map(m => [m[1], m[2]]));
  const answers = {};
  for (const [, name, answer] of tried.matchAll(/^    \{(\w+), (ERR_\w+), /gm))
    answers[texts[name]] = answer === 'ERR_OK' ? 'yes' : 'no';
  const [, table] = /\| it gets \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(read('docker/README.md'));
  const said = Object.fromEntries([...table.matchAll(/^\| (.*) \| (yes|no) \|$/gm)].map(m => [m[1], m[2]]));
  delete said['a key, in any form']; // tests/e2e/secrets.test.mjs
  assert.deepEqual(said, answers);
});

test('docker/README.md: what a captured fairway can do is what the tests try', () => {
  const texts = Object.fromEntries([...read('tests/integration/support/captured.h').matchAll(/^#define (\w+)[\s\\]*"(.*)"$/gm)]
    .map(m => [m[1], m[2]]));
  const answers = {};
  for (const file of ['test_confine.c', 'test_confine_calls.c'])
    for (const [, name, traits] of read(`tests/integration/${file}`).matchAll(/^ +DEED\((\w+), \w+, ([^)]+)\)/gm)) {
      const answer = traits.includes('NEEDED') ? 'yes' : 'no';
      assert.equal(answers[texts[name]] ?? answer, answer, `"${texts[name]}" has one answer`);
      answers[texts[name]] = answer;
    }
  const [, table] = /\| code that has taken `fairway` over \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(read('docker/README.md'));
  const said = Object.fromEntries([...table.matchAll(/^\| (.*) \| (yes|no) \|$/gm)].map(m => [m[1], m[2]]));
  delete said['read and write rows of the database, as the role `fairway`'];
  assert.deepEqual(said, answers);
});
