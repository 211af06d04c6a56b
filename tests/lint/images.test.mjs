// docker/localnet.Dockerfile copies every file that the programs of compose.yaml import. kubernetes.yaml names an image that must be replaced.
import assert from 'node:assert/strict';
import fs from 'node:fs';
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
