// `make deb`: the Debian package of the build that is tested.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.resolve(import.meta.dirname, '../..');
const build = path.dirname(process.env.FAIRWAY_BIN ?? 'build/release/fairway');
const environment = { PATH: process.env.PATH, HOME: os.homedir(), BUILD: build };
const run = (program, ...args) => execFileSync(program, args, { cwd: root, encoding: 'utf8', env: environment }).trim();
const commit = fs.readFileSync(path.join(root, build, 'commit.h'), 'utf8').match(/"(.*)"/)[1];
const version = fs.readFileSync(path.join(root, 'include/base/version.h'), 'utf8').match(/VERSION "(.*)"/)[1];
const file = path.join(root, `build/fairway_${version}_${run('dpkg', '--print-architecture')}.deb`);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-test-'));
const installed = name => path.join(folder, name);

/** The package's bytes. The commit that the build has: no program of it is linked again while other tests run it. */
function make(umask) {
  run('sh', '-c', `umask ${umask}; exec make -s deb COMMIT="${commit}"`);
  return fs.readFileSync(file);
}

let first;
before(() => {
  first = make('022');
  run('dpkg-deb', '-x', file, folder);
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

test('the package has both programs, which run, the unit and the pages', () => {
  assert.match(run(installed('usr/bin/fairway'), '--version'), new RegExp(`^fairway ${version} \\(commit ${commit},`));
  assert.ok(fs.statSync(installed('usr/bin/fairway-keyd')).mode & 0o111);
  assert.match(fs.readFileSync(installed('usr/lib/systemd/system/fairway.service'), 'utf8'), /^ExecStart=\/usr\/bin\/fairway serve$/m);
  for (const name of ['doc/fairway/docker/README.md', 'doc/fairway/docker/roles.sql'])
    assert.ok(fs.statSync(installed(`usr/share/${name}`)).size > 0, name);
  assert.doesNotMatch(run('dpkg-deb', '-c', file), /^(?!.{10} root\/root )/m);
});

test('the package depends on the libraries of this release of Debian', () => {
  const names = run('dpkg-deb', '-f', file, 'Depends').split(', ').map(item => item.split(' ')[0]);
  for (const library of ['libc6', 'libcurl4', 'libjansson4', 'libmicrohttpd12', 'libpq5', 'libsodium23'])
    assert.ok(names.some(name => name.replace(/t64$/, '') === library), `${library}: ${names}`);
  assert.equal(run('dpkg-query', '-W', '-f', '${db:Status-Status}\n', ...names).replaceAll('installed', '').trim(), '');
});

test('the same build makes the same package', async () => {
  await sleep(1100); // the times in a package are whole seconds
  assert.ok(first.equals(make('077')));
});
