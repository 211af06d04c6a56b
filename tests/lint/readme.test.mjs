// What the pages for users and operators name must exist: options, error codes, endpoints, commands, metrics, make targets, files. Their figures are
// those of the sources.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');
const all = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(m => m[1]))].sort();
const filesIn = (folder, pattern) => !fs.existsSync(path.join(root, folder)) ? [] : fs.readdirSync(path.join(root, folder), { recursive: true })
  .filter(name => pattern.test(name)).map(name => path.join(folder, name)).filter(name => fs.statSync(path.join(root, name)).isFile());

const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'src/README.md', 'src/api/README.md', 'tests/README.md',
  'tests/clients/README.md', 'tests/clients/x402/README.md', 'tests/bench/README.md',
  'docker/README.md', 'docker/metrics.md', 'docker/operate.md', 'docker/keys.md', 'docker/runbook.md', 'docker/security.md',
  'docker/options.md', 'docker/channels/README.md'];
const sources = filesIn('src', /\.c$/).map(read).join('\n');
const options = all(read('cmd/fairway/options.c'), /"([A-Z][A-Z0-9_]{4,})"/g);
const codes = all(read('include/base/err.h'), /"([A-Z][A-Z0-9_]+)"/g);
const statuses = all(sources + read('include/base/err.h'), /\b((?:tx|op)[A-Z][A-Z_]+)\b/g);
// Settings of make, of the local network, of tests, of containers: read by scripts, not by fairway
const scripts = ['Makefile', ...filesIn('tests', /\.(mjs|sh|c)$/).filter(name => !name.includes('node_modules')),
  ...filesIn('docker', /^[^.]+$|\.(ya?ml|conf|cfg|service|sh|mjs)$/)].map(read).join('\n');

/** The anchors of a page's headings, as GitHub makes them. */
const sections = page => all(read(page), /^#+ (.*)$/gm).map(heading => heading.toLowerCase().replaceAll(/[^a-z0-9 -]/g, '').replaceAll(' ', '-'));

/** Words in backticks and indented or fenced code, which is where pages name things. */
const code = text => all(text, /```[a-z]*\n([\s\S]*?)```/g).concat(all(text, /`([^`\n]+)`/g), all(text, /^ {4}(\S.*)$/gm)).join('\n');

/** Asserts that `missing(text, its code)` is empty for each page. */
const pagesHave = (what, missing) => test(`each ${what} that a page names exists`, () => assert.deepEqual(
  pages.flatMap(page => missing(read(page), code(read(page)), page).map(name => `${page}: ${name}`)), []));

const known = new Set([...options, ...options.map(option => `${option}_FILE`), ...codes, ...statuses]);
pagesHave('option and error code', (_, named) => all(named, /\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)
  .filter(word => !known.has(word) && !new RegExp(`\\b${word}\\b`).test(scripts + sources)));

const routes = all(sources, /"(?:GET|POST)", "([^"]+)"/g);
pagesHave('endpoint', (_, named) => all(named, /(?<!\/api)(\/(?:v1\/[a-z-]+(?:\/\{[a-z]+\})?|livez|readyz|health|metrics|openapi\.json)(?=[^a-z-]|$))/g)
  .filter(path => !routes.includes(path)));

const commands = all(read('cmd/fairway/commands.c'), /\{"([a-z-]+)",/g);
pagesHave('command of fairway', (_, named) => all(named, /^ *(?:\$ *)?fairway ([a-z][a-z-]+)/gm).filter(name => !commands.includes(name)));

const metrics = all(sources + read('include/base/metric.h'), /"((?:fairway|process)_[a-z_]+)"/g);
test('docker/metrics.md has each metric', () => assert.deepEqual(
  metrics.filter(name => !read('docker/metrics.md').includes(`\`${name}\``)), []));
pagesHave('metric', (_, named) => all(named, /\b(fairway_[a-z_]+)/g)
  .filter(name => !metrics.includes(name) && !read('docker/roles.sql').includes(name)));

const targets = read('Makefile');
pagesHave('make target', (_, named) => all(named, /\bmake ([a-z][a-z-]+)/g)
  .filter(name => !name.startsWith('unit-') && !new RegExp(`^[a-zA-Z -]*\\b${name}\\b[a-zA-Z -]*:`, 'm').test(targets)));

pagesHave('linked file', (text, _, page) => all(text, /\]\(([^)#]+?)(?:#[^)]*)?\)/g)
  .filter(link => !/^https?:/.test(link) && !fs.existsSync(path.join(root, path.dirname(page), link))));

pagesHave('linked section', (text, _, page) => [...text.matchAll(/\]\(([^)#]*)#([^)]*)\)/g)].filter(([, file, section]) => !/^https?:/.test(file) &&
  !sections(file === '' ? page : path.join(path.dirname(page), file)).includes(section)).map(([link]) => link));

test('make install installs what its pages link to', () => {
  const [, list] = /^PAGES := ((?:.*\\\n)*.*)/m.exec(targets);
  const installed = list.replace('$(sort $(wildcard docker/*.md))', pages.filter(page => /^docker\/[^/]*$/.test(page)).join(' ')).split(/[\s\\]+/);
  const linked = installed.filter(page => page.endsWith('.md')).flatMap(page => all(read(page), /\]\(([^)#]+?)(?:#[^)]*)?\)/g)
    .filter(link => !/^https?:/.test(link)).map(link => path.join(path.dirname(page), link)));
  assert.ok(linked.length > 20);
  assert.deepEqual(linked.filter(file => !installed.includes(file)), []);
});

// ---- figures

const defaults = Object.fromEntries([...read('docker/options.md').matchAll(/^ {2}(?:--[a-z-]+, )?([A-Z_]+).*\n(?: {6}.*\n)*? {6}.*\[(.+)\]$/gm)]
  .map(([, name, value]) => [name, value]));
const number = (file, name) => Number(new RegExp(`\\b${name}(?: =)? (\\d+)`).exec(read(file))[1]);
const figures = (page, pattern) => pattern.exec(read(page).replaceAll(/\s+/g, ' ')).slice(1).map(Number);

test('an option with a figure in brackets has that default', () => {
  const said = pages.flatMap(page => [...read(page).matchAll(/`([A-Z_]+)`,?\s\(?([\d,]+)( XLM)?(?: s)?\)/g)]
    .map(([, name, value, xlm]) => [name, String(Number(value.replaceAll(',', '')) * (xlm ? 1e7 : 1))]));
  assert.ok(said.length > 5);
  assert.deepEqual(said.filter(([name, value]) => name in defaults && defaults[name] !== value), []);
});

test('docker/README.md has the sessions of serve', () => {
  const named = folder => filesIn(folder, /\.c$/).flatMap(file => all(read(file), /\.name = "fairway ([a-z]+)"/g)), api = 'src/api/api.c';
  const leader = named('src/upkeep'), watch = all(read('include/pool/master_keys.h'), /_SESSION "fairway ([a-z]+)"/g);
  const replica = [...named('src').filter(name => ![...leader, 'provision'].includes(name)), ...watch, 'start'];
  const count = replica.length - 2 + Number(defaults.ENGINE_THREADS) + number(api, 'API_WORKERS') + number(api, 'ADMIN_WORKERS');
  assert.deepEqual(figures('docker/README.md', /A replica has (\d+) connections, the leader (\d+)/), [count, count + leader.length]);
});

test('operate.md has the descriptors that serve needs', () => {
  const file = 'cmd/fairway/listeners.c', thread = number(file, 'DESCRIPTORS_THREAD'), admin = number(file, 'ADMIN_CONNECTIONS');
  assert.deepEqual(figures('docker/operate.md', /needs (\d+) more open files than `MAX_CONNECTIONS`, (\d+) more for each of .* above 2, and (\d+)/),
    [admin + number(file, 'DESCRIPTORS_BASE') + thread * defaults.ENGINE_THREADS, thread, number(file, 'DESCRIPTORS_ADDRESS')]);
});

test('src/README.md has each thread of serve', () => {
  const [picture] = /```[^]*?```/.exec(read('src/README.md').split('## Processes and threads')[1]);
  const names = all(sources, /thread_start\([^"]*"([a-z]+)"/g);
  assert.ok(names.length > 8);
  assert.deepEqual(names.filter(name => !new RegExp(`\\b${name}\\b`).test(picture)), []);
});

test('docker/runbook.md has the exit codes of the commands, and so has their help', () => {
  const names = 'USAGE DATAERR NOINPUT NOUSER NOHOST UNAVAILABLE SOFTWARE OSERR OSFILE CANTCREAT IOERR TEMPFAIL PROTOCOL NOPERM CONFIG'.split(' ');
  const files = ['cmd/fairway', 'src/base'].flatMap(folder => filesIn(folder, /\.c$/));
  const used = all(files.map(read).join('\n'), /\bEX_(?!OK)([A-Z]+)/g).map(name => String(64 + names.indexOf(name)));
  const [, help] = /exit_codes\[\] =([^;]*(?:;[ \\][^;]*)*)";/.exec(read('cmd/fairway/commands.c'));
  const [, table] = /\n## Exit codes\n\n((?:\|.*\n)+)/.exec(read('docker/runbook.md'));
  const said = [...table.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, codes]) => codes.split(', '));
  assert.deepEqual(said, ['0', '1', ...used.sort()]);
  assert.deepEqual(all(help, /\b(\d+) [a-z]/g), said);
});

test('tests/README.md says which targets install nothing', () => {
  const page = read('tests/README.md'), [, except] = /each\s+command\s+of\s+make\s+below\s+except ([^]*?) does so/.exec(page);
  const installs = name => [...targets.matchAll(/^([a-z -]+):(.*install-.*)/gm)].some(([, names]) => names.split(' ').includes(name));
  const listed = [...page.matchAll(/^\| `make ([a-zA-Z-]+)/gm)].map(([, name]) => name.replace(/-$/, '-MODULE'));
  assert.ok(listed.length > 15);
  assert.deepEqual(all(except, /`make ([a-zA-Z-]+)`/g), listed.filter(name => !installs(name)).sort());
});

test('docker/runbook.md: each log line is one that fairway writes', () => {
  const [, table] = /\n## Log lines\n[^]*?((?:\|.*\n)+)/.exec(read('docker/runbook.md'));
  const lines = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell]) => all(cell, /`([^`]+)`/g)).filter(line => line !== 'msg');
  // A string that clang-format has broken is one string.
  const written = [...filesIn('src', /\.c$/), ...filesIn('cmd', /\.c$/)].map(read).join('\n').replaceAll(/"\s*\n\s*"/g, '');
  assert.ok(lines.length > 10);
  assert.deepEqual(lines.filter(line => !written.includes(`"${line}"`)), []);
});

test('docker/security.md: what a captured fairway can have signed is what the test tries', () => {
  const tried = read('tests/integration/test_keyd_hostile.c'), texts = Object.fromEntries(
    [...tried.matchAll(/^#define (\w+)[\s\\]*"(.*)"$/gm)].map(m => [m[1], m[2]]));
  const answers = {};
  for (const [, name, answer] of tried.matchAll(/^    \{(\w+), (ERR_\w+), /gm))
    answers[texts[name]] = answer === 'ERR_OK' ? 'yes' : 'no';
  const [, table] = /\| it gets \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(read('docker/security.md'));
  const said = Object.fromEntries([...table.matchAll(/^\| (.*) \| (yes|no) \|$/gm)].map(m => [m[1], m[2]]));
  delete said['a key, in any form']; // tests/e2e/secrets.test.mjs
  assert.deepEqual(said, answers);
});

test('docker/security.md: what a captured fairway can do is what the tests try', () => {
  const texts = Object.fromEntries([...read('tests/integration/support/captured.h').matchAll(/^#define (\w+)[\s\\]*"(.*)"$/gm)]
    .map(m => [m[1], m[2]]));
  const answers = {};
  for (const file of ['test_confine.c', 'test_confine_calls.c'])
    for (const [, name, traits] of read(`tests/integration/${file}`).matchAll(/^ +DEED\((\w+), \w+, ([^)]+)\)/gm)) {
      const answer = traits.includes('NEEDED') ? 'yes' : 'no';
      assert.equal(answers[texts[name]] ?? answer, answer, `"${texts[name]}" has one answer`);
      answers[texts[name]] = answer;
    }
  const [, table] = /\| code that has taken `fairway` over \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(read('docker/security.md'));
  const said = Object.fromEntries([...table.matchAll(/^\| (.*) \| (yes|no) \|$/gm)].map(m => [m[1], m[2]]));
  delete said['read the database and call fairway\'s functions in it, as the role `fairway`']; // tests/e2e/roles.test.mjs
  assert.deepEqual(said, answers);
});
