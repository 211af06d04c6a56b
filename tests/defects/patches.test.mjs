// Cheap checks of the planted defects: each has its header lines, applies to the tree, in the function for which it was made, and names
// existing tests; no hazard is without one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { HAZARDS, isNode, readDefects } from './run.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const defects = await readDefects(/./);

// The pattern of a cmocka program.
const isThere = (only, text) => new RegExp(`\\b${only.replaceAll('*', '\\w*').replaceAll('?', '\\w')}\\b`).test(text);
// The regular expression of a node program, whose titles may be computed, or of a file of SQL.
const isInTitles = (only, text) => new RegExp(only).test(text) || /\btest\(`[^`]*\$\{/.test(text);

test('every patch applies and names existing tests', () => {
  const problems = [];
  for (const { name, file, red, only } of defects) {
    try {
      execFileSync('git', ['apply', '--check', file], { cwd: root, stdio: 'pipe' });
    } catch (error) {
      problems.push(`${name}: ${error.stderr}`);
    }
    for (const program of red) {
      const node = isNode(program), source = path.join(root, node ? program : `${program}.c`);
      if (!existsSync(source))
        problems.push(`${name}: no ${program}`);
      else if (only && !(node ? isInTitles : isThere)(only, readFileSync(source, 'utf8')))
        problems.push(`${name}: ${program} has no test ${only}`);
    }
  }
  assert.deepEqual(problems, []);
});

// The hunks of a patch: its lines, and the line that `git diff` named in the hunk's header.
function hunksOf(text) {
  const hunks = [];
  let file, left = 0, right = 0;
  for (const line of text.split('\n')) {
    const head = line.match(/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@ ?(.*)$/);
    if (left > 0 || right > 0) {
      const kind = line[0] ?? ' ';
      hunks.at(-1).lines.push({ kind, text: line.slice(1) });
      [left, right] = [left - (kind !== '+'), right - (kind !== '-')];
    } else if (head) {
      [left, right] = [Number(head[1] ?? 1), Number(head[2] ?? 1)];
      hunks.push({ file, lines: [], inside: head[3] });
    } else if (line.startsWith('--- a/'))
      file = line.slice('--- a/'.length);
  }
  return hunks;
}

// `git diff` takes the last line that begins with a letter for the head of a function. Only the name in it is compared.
const isHead = line => /^[A-Za-z_$]/.test(line);
const nameIn = line => line.match(/(\w+)\s*[([={;]/)?.[1] ?? line;
const namesItsFunction = ({ lines }) => lines.slice(0, lines.findIndex(({ kind }) => kind !== ' ')).some(({ text }) => isHead(text));
// A line that is added after a return, with its indentation, never runs.
const indent = text => text.search(/\S|$/);
const isDead = ({ lines }) => lines.some(({ kind, text }, i) => kind === '+' && i > 0 && lines[i - 1].kind !== '-'
  && /^\s*(return|goto)\b.*;$/.test(lines[i - 1].text) && indent(text) === indent(lines[i - 1].text) && !/^\s*(case\b.*|default):|^$/.test(text));

// `git apply` searches the whole file for the lines of a hunk, so a patch could move to another function.
test('every patch applies at one place, in the function that its header names, and adds nothing after a return', () => {
  const problems = [];
  for (const { name, file: patch } of defects)
    for (const hunk of hunksOf(readFileSync(patch, 'utf8'))) {
      const lines = readFileSync(path.join(root, hunk.file), 'utf8').split('\n');
      const expected = hunk.lines.filter(({ kind }) => kind !== '+').map(({ text }) => text);
      const places = [...lines.keys()].filter(at => expected.every((text, i) => lines[at + i] === text));
      const inside = lines.slice(0, places[0]).findLast(isHead) ?? '';
      if (places.length !== 1)
        problems.push(`${name}: the lines of a hunk are at ${places.length} places of ${hunk.file}`);
      else if (!namesItsFunction(hunk) && nameIn(inside) !== nameIn(hunk.inside))
        problems.push(`${name}: made for "${hunk.inside}" of ${hunk.file}, applies in "${inside}"`);
      if (isDead(hunk))
        problems.push(`${name}: adds a line after a return`);
    }
  assert.deepEqual(problems, [], 'if the patch is right as it applies: sh tests/defects/remake.sh PATCH');
});

test('every hazard has a planted defect', () => {
  assert.deepEqual(HAZARDS.filter(hazard => !defects.some(({ name }) => name.startsWith(`${hazard}-`))), []);
});
