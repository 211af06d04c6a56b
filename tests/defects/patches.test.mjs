// Cheap checks of the planted defects: each has its header lines, applies to the tree, and names existing tests; no hazard is without one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { HAZARDS, readDefects } from './run.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const defects = await readDefects(/./);

// The pattern of a cmocka program.
const isThere = (only, text) => new RegExp(`\\b${only.replaceAll('*', '\\w*').replaceAll('?', '\\w')}\\b`).test(text);
// The regular expression of a node program, whose titles may be computed.
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
      const node = program.endsWith('.mjs'), source = path.join(root, node ? program : `${program}.c`);
      if (!existsSync(source))
        problems.push(`${name}: no ${program}`);
      else if (only && !(node ? isInTitles : isThere)(only, readFileSync(source, 'utf8')))
        problems.push(`${name}: ${program} has no test ${only}`);
    }
  }
  assert.deepEqual(problems, []);
});

test('every hazard has a planted defect', () => {
  assert.deepEqual(HAZARDS.filter(hazard => !defects.some(({ name }) => name.startsWith(`${hazard}-`))), []);
});
