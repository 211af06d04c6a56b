// docker/localnet.Dockerfile copies every file that the programs of compose.yaml import. kubernetes.yaml names an image that must be replaced.
// sbom.sh lists an image's packages.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const tests = path.resolve(import.meta.dirname, '..');
const read = name => fs.readFileSync(path.join(tests, name), 'utf8');

/** The file and all that it imports, of ours. */
function imports(file, seen = new Set()) {
  if (!seen.has(file)) {
    seen.add(file);
    for (const [, name] of read(file).matchAll(/\b(?:from|import\() ?'(\.[^']+)'/g))
      imports(path.join(path.dirname(file), name), seen);
  }
  return seen;
}

test('docker/localnet.Dockerfile copies what its programs import', () => {
  const copied = [...read('../docker/localnet.Dockerfile').matchAll(/^COPY tests\/(\S+) (\S+)$/gm)];
  const programs = ['dev/demo.mjs', 'dev/fund.mjs', 'localnet/main.mjs'];
  const needed = new Set(programs.flatMap(program => [...imports(program)]));
  assert.ok(needed.size > 50);
  // tests/dev to dev, tests/e2e/token.mjs to e2e/
  const missing = [...needed].filter(file => !copied.some(([, from, to]) => to === from ? file.startsWith(`${from}/`) :
    file === from && to === `${path.dirname(file)}/`));
  assert.deepEqual(missing, []);
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
