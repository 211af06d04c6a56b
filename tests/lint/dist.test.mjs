// `make dist`: the archive of the sources.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.resolve(import.meta.dirname, '../..');
const env = { PATH: process.env.PATH, HOME: os.homedir() };
const run = (program, args, cwd = root) => execFileSync(program, args, { cwd, encoding: 'utf8', env }).trim();
const version = fs.readFileSync(path.join(root, 'include/base/version.h'), 'utf8').match(/VERSION "(.*)"/)[1];
const skip = !fs.existsSync(path.join(root, '.git')) && 'only a clone makes an archive';

test('make dist makes the same archive each time, and a build from it knows its commit', { skip }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-test-'));
  try {
    const archive = path.join(root, `build/fairway-${version}.tar.gz`);
    const make = () => {
      run('make', ['-s', 'dist']);
      return fs.readFileSync(archive);
    };
    const first = make();
    await sleep(1100); // the times in an archive are whole seconds
    assert.ok(first.equals(make()));
    run('tar', ['-xzf', archive, '-C', folder]);
    const unpacked = path.join(folder, `fairway-${version}`);
    const files = run('git', ['ls-tree', '-r', '--name-only', 'HEAD']).split('\n');
    assert.deepEqual(files.filter(name => !fs.existsSync(path.join(unpacked, name))), []);
    run('make', ['-s', 'build/commit.h', 'BUILD=build'], unpacked);
    const commit = run('git', ['describe', '--always', '--abbrev=12', 'HEAD']);
    assert.equal(fs.readFileSync(path.join(unpacked, 'build/commit.h'), 'utf8'), `#define FAIRWAY_COMMIT "${commit}"\n`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
