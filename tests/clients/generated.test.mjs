// Clients that generators make of openapi.json compile, and make a call that is confirmed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startClients } from './harness.mjs';

const root = path.resolve(import.meta.dirname, '../..'), packages = path.join(root, 'build/packages'), bin = path.join(root, 'tests/node_modules/.bin');
const document = path.join(root, 'src/api/openapi.json');
let clients, url, folder;

before(async () => {
  clients = await startClients({ accounts: 3 });
  ({ url } = await clients.world.serve({ AUTH: 'none', CLIENT_AUTH_PUBLIC_KEYS: '' })); // a token is no part of a generated client
  folder = path.join(clients.world.folder, 'generated');
  fs.cpSync(path.join(import.meta.dirname, 'generated'), folder, { recursive: true });
  fs.symlinkSync(path.join(root, 'tests/node_modules'), path.join(folder, 'node_modules'));
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  fs.writeFileSync(path.join(folder, 'config.yml'), 'post_hooks: []\n');
});
after(() => clients?.stop());

const run = async (program, args, env = {}) => (await promisify(execFile)(program, args, { cwd: folder, env: { ...process.env, ...env } })).stdout;
const python = (...args) => run('python3', args, { PYTHONPATH: packages, PYTHONPYCACHEPREFIX: path.join(folder, 'cache') });
const go = (...args) => run(path.join(packages, 'go/bin/go'), args, { GOTOOLCHAIN: 'local', GOFLAGS: '-buildvcs=false' });
const LANGUAGES = {
  async 'TypeScript: openapi-typescript'(...args) {
    await run(path.join(bin, 'openapi-typescript'), [document, '-o', 'api.d.ts']);
    await run(path.join(bin, 'tsc'), ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--allowImportingTsExtensions', 'call.ts']);
    return run(process.execPath, ['call.ts', ...args]);
  },
  async 'Go: oapi-codegen'(...args) {
    fs.writeFileSync(path.join(folder, 'api.go'), await go('tool', 'oapi-codegen', '-package', 'main', '-generate', 'types,client', document));
    await go('build', '-o', 'call', '.');
    return run('./call', args);
  },
  async 'Python: openapi-python-client'(...args) {
    await python('-m', 'openapi_python_client', 'generate', '--path', document, '--output-path', 'fairway_client', '--meta', 'none', '--config', 'config.yml');
    await python('-m', 'compileall', '-q', 'fairway_client');
    return python('call.py', ...args);
  },
};
for (const [name, call] of Object.entries(LANGUAGES))
  test(name, { timeout: 900_000 }, async () => {
    const { sequence } = await clients.world.network.getLatestLedger();
    const { func, auth } = await clients.transfer(1n, sequence + 5000); // a compiler may take minutes
    assert.equal((await call(url, func, ...auth)).trim(), 'confirmed');
  });
