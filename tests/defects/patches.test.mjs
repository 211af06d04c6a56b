// Cheap enough for every run: each patch says what it must, applies to the tree as it is, and no hazard is without one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readDefects } from './run.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const HAZARDS = ['H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'H7', 'H14', 'H15', 'H16', 'H18', 'Z1', 'Z2', 'Z3', 'Z4', 'Z5', 'Z6', 'Z7'];
const defects = await readDefects(/./);

test('every patch applies and names tests that are there', () => {
  for (const { name, file, red } of defects) {
    try {
      execFileSync('git', ['apply', '--check', file], { cwd: root, stdio: 'pipe' });
    } catch (error) {
      assert.fail(`${name}: ${error.stderr}`);
    }
    for (const program of red)
      assert.ok(existsSync(path.join(root, program.endsWith('.mjs') ? program : `${program}.c`)), `${name}: no ${program}`);
  }
});

test('every hazard has a planted defect', () => {
  assert.deepEqual(HAZARDS.filter(hazard => !defects.some(({ name }) => name.startsWith(`${hazard}-`))), []);
});
