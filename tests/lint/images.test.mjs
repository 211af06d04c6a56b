// The image of docker/localnet.Dockerfile has what its programs load. kubernetes.yaml names an image that must be replaced.
// sbom.sh lists an image's packages.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const tests = path.resolve(import.meta.dirname, '..');
const read = name => fs.readFileSync(path.join(tests, name), 'utf8');

test('docker/localnet.Dockerfile copies all that its programs load', { timeout: 600_000 }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-test-'));
  for (const [, from, to] of read('../docker/localnet.Dockerfile').matchAll(/^COPY tests(?:\/(\S+))? (\S+)$/gm))
    fs.cpSync(path.join(tests, from ?? ''), path.join(folder, 'tests', to, path.extname(from ?? '') && to.endsWith('/') ? path.basename(from) : ''),
      { recursive: true, filter: name => path.basename(name) !== 'node_modules' }); // as .dockerignore
  // The packages that npm installs there.
  for (const [name, { dev, optional }] of Object.entries(JSON.parse(read('package-lock.json')).packages))
    if (name !== '' && !dev && !optional) {
      fs.mkdirSync(path.dirname(path.join(folder, 'tests', name)), { recursive: true });
      fs.symlinkSync(path.join(tests, name), path.join(folder, 'tests', name));
    }
  const start = (program, env, ...args) => spawn(process.execPath, ['--preserve-symlinks', program, ...args], { cwd: path.join(folder, 'tests'),
    env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  const run = async (...args) => {
    const program = start(...args), ended = once(program, 'close');
    return [(await program.stdout.toArray()).join(''), ...await ended].slice(0, 2);
  };
  const network = start('localnet/main.mjs', {}, '--port', '0', '--data', path.join(folder, 'data'), '--ledger-ms', '200');
  try {
    const [, url] = /^localnet listening on (\S+)/.exec(await new Promise(said => network.stdout.once('data', said).once('end', said))) ?? [];
    assert.ok(url, 'the local network starts');
    const [text, code] = await run('dev/fund.mjs', { RPC_URL: url }, path.join(folder, 'seed'));
    assert.match(text, /created by friendbot/);
    assert.equal(code, 0);
    assert.deepEqual(await run('dev/demo.mjs', { RUN_DIR: 'none' }), ['', 69]); // all that it imports is there
  } finally {
    network.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test('kubernetes.yaml names its image once in the job and once in the deployment, and no image that a node would look for', () => {
  const objects = read('../docker/kubernetes.yaml').split(/^---$/m)
    .map(text => [...text.matchAll(/^ +(?:- )?image: (.*)$/gm)].map(([, name]) => name)).filter(images => images.length > 0);
  const named = '&image REGISTRY/fairway@sha256:DIGEST'; // a registry in capitals is an invalid name
  assert.deepEqual(objects, [[named, '*image'], [named, '*image']]);
});

test('sbom.sh lists each package of an image with its version and release', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-test-'));
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  };
  const status = (name, version) => write(`var/lib/dpkg/status.d/${name}`, `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64
Version: ${version}\nDescription: "quotes"\n Version: 9\n`);
  try {
    write('etc/os-release', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n');
    status('libpq5', '15.14-0+deb12u1');
    status('zlib1g', '1:1.2.13.dfsg-1');
    const list = JSON.parse(execFileSync('sh', [path.join(tests, '../docker/sbom.sh'), folder, '0.9.0', 'abc'], { encoding: 'utf8' }));
    assert.deepEqual([list.bomFormat, list.specVersion, list.metadata.component.version, list.metadata.component.properties[0].value],
      ['CycloneDX', '1.5', '0.9.0', 'abc']);
    const component = (name, version, url) => ({ type: 'library', name, version, purl: `pkg:deb/debian/${url}?arch=amd64&distro=debian-12` });
    assert.deepEqual(list.components, [
      component('libpq5', '15.14-0+deb12u1', 'libpq5@15.14-0%2Bdeb12u1'),
      component('zlib1g', '1:1.2.13.dfsg-1', 'zlib1g@1%3A1.2.13.dfsg-1')]);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
