// Every id in the name of a test or of a planted defect is explained in tests/hazards.md, and every id explained there is used.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const tests = path.resolve(import.meta.dirname, '..');
const ID = /(?<![A-Za-z0-9])(?:D[ALOPRSX]|[HZ])\d{1,2}(?![A-Za-z0-9])/g;

const files = readdirSync(tests, { recursive: true }).filter(file => !file.startsWith('node_modules'));
const read = file => readFileSync(path.join(tests, file), 'utf8');

/** The names in a file that may carry ids. */
function namesIn(file) {
  if (/(^|\/)test_[^/]*\.c$/.test(file))
    return [...read(file).matchAll(/^(?:static void (\w+)\(\s*void \*\*|\w*TEST\w*\(\s*(\w+))/gm)].map(([, ...names]) => names.join('').replaceAll('_', ' '));
  if (file.endsWith('.test.mjs'))
    return [...read(file).matchAll(/\b(?:test|fires)\(\s*(['"`])((?:\\.|(?!\1)[^])*)\1/g)].map(([, , name]) => name);
  if (/(^|\/)sql\/[^/]*\.sql$/.test(file))
    return [...read(file).matchAll(/(?<=\n\n)-- (.*)/g)].map(([, name]) => name);
  if (file.endsWith('.patch'))
    return [path.basename(file), ...[...read(file).split(/^(?:diff|---) /m)[0].matchAll(/^(?:Hazard|Defect): *(.*)/gm)].map(([, text]) => text)];
  return [];
}

const used = new Map(files.flatMap(file => namesIn(file).flatMap(name => (name.match(ID) ?? []).map(id => [id, `${file}: ${name}`]))));
const explained = [...read('hazards.md').matchAll(/^\| ([A-Z]+\d+) \| \S/gm)].map(([, id]) => id);

test('every id in a test name is explained in tests/hazards.md', () => {
  assert.ok(used.size > 0);
  assert.deepEqual([...used].filter(([id]) => !explained.includes(id)), []);
});

test('every id explained in tests/hazards.md is used by a test, once in the table', () => {
  assert.deepEqual(explained.filter((id, at) => !used.has(id) || explained.indexOf(id) !== at), []);
});
