// The lock files name every file that is installed, by its hash, and no host.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const locked = Object.entries(packages).filter(([name]) => name !== '');

test('every npm package is locked by its hash, and the lock file names no registry', () => {
  assert.ok(locked.length > 0);
  assert.deepEqual(locked.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')), []);
  assert.deepEqual(locked.filter(([, { resolved }]) => resolved !== undefined), []);
});

test('no npm package has an install script, which could fetch what is not locked', () => {
  assert.deepEqual(locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name), []);
  assert.match(readFileSync(new URL('../install.sh', import.meta.url), 'utf8'), /npm ci --ignore-scripts/);
});

test('every Python package, and Go, is locked by its hash, and none is built here', () => {
  const lines = readFileSync(new URL('../requirements.txt', import.meta.url), 'utf8').trim().split('\n');
  assert.ok(lines.length > 20);
  assert.deepEqual(lines.filter(line => !/^#|^[a-z0-9-]+==[0-9a-z.]+ \\$|^    --hash=sha256:[0-9a-f]{64}( \\)?$/.test(line)), []);
  assert.match(readFileSync(new URL('../install.sh', import.meta.url), 'utf8'), /--require-hashes --no-deps --no-compile \\\n *--only-binary :all:/);
});
