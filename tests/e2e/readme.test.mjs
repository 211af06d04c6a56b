// Pastes each example of README.md, of the client reference and of the clients' page, in this order, into a shell beside what `make run`
// starts. Each answer has the members that the page shows, in that order, and the values that do not differ each time. And openapi.json.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Service, fairway, startWorld } from './harness.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');
const EXAMPLE = /```sh\n([^]*?)\n```\n(?:```json\n([^]*?)\n```\n)?/g;
const DIFFERS = ['sequence', 'sequenceLedger', 'maxTime', 'ledger', 'closedAt', 'feeCharged'];
let world, service, folder;

before(async () => {
  world = await startWorld({ accounts: 3 });
  service = await world.serve();
  folder = path.join(world.folder, 'clone');
  for (const name of ['build/release', 'run'])
    fs.mkdirSync(path.join(folder, name), { recursive: true });
  fs.symlinkSync(path.join(root, 'tests'), path.join(folder, 'tests'));
  fs.symlinkSync(fairway, path.join(folder, 'build/release/fairway'));
  fs.writeFileSync(path.join(folder, 'run/client.seed'), `${world.client.secret()}\n`, { mode: 0o600 });
  fs.writeFileSync(path.join(folder, 'run/demo.json'), JSON.stringify({ rpc: world.env.RPC_URL, passphrase: world.passphrase }));
});
after(() => world?.stop());

for (const page of ['README.md', 'src/api/README.md', 'tests/clients/README.md']) {
  [...read(page).matchAll(EXAMPLE)].forEach(([, commands, answer], index) =>
    test(`${page}: example ${index + 1} works as it is printed`, { timeout: 600_000 }, async () => {
      const { stdout } = await promisify(execFile)('sh', ['-euc', commands.replaceAll('localhost:8001', new URL(service.url).host)],
        { cwd: folder, env: { ...process.env, RUN_DIR: path.join(folder, 'run') } });
      const got = JSON.parse(stdout.trim().split('\n').at(-1)), shown = JSON.parse(answer ?? '{"status": "confirmed"}');
      if (answer !== undefined)
        assert.deepEqual(Object.keys(got), Object.keys(shown));
      for (const [name, value] of Object.entries(shown))
        if (!DIFFERS.includes(name) && !String(value).endsWith('...'))
          assert.deepEqual(got[name], value, name);
    }));

  test(`${page}: each block of code is an example`, () => {
    const rest = read(page).replaceAll(EXAMPLE, '').match(/```.*\n.*/g) ?? [];
    assert.deepEqual(rest.filter((_, i) => i % 2 === 0),
      page === 'README.md' ? ['```\n backend                       fairway                    Stellar'] : []);
    assert.ok(read(page).match(EXAMPLE).length > 0);
  });
}

test('docker/README.md: the commands for systemd work with fairway.env, and serve is ready with it alone', { timeout: 600_000 }, async () => {
  const fresh = await startWorld({ accounts: 0 }), etc = path.join(fresh.folder, 'etc');
  const sh = async text => (await promisify(execFile)('sh', ['-euc', text.replaceAll('/etc/fairway', etc)], { cwd: fresh.folder,
    env: { PATH: `${path.join(folder, 'build/release')}:${process.env.PATH}` } })).stdout;
  try {
    fs.mkdirSync(path.join(fresh.folder, 'docker'));
    fs.writeFileSync(path.join(fresh.folder, 'docker/fairway.env'), `${read('docker/fairway.env').replaceAll(/^(\w+)='.*'$/gm,
      (_, name) => `${name}='${fresh.env[name]}'`)}PORT='0'\nADMIN_PORT='0'\n`);
    const [, commands] = /\n## systemd\n[^]*?\n((?: {4}.*\n)+)/.exec(read('docker/README.md'));
    await sh(commands.replace(/postgresql:\S+/, fresh.env.DATABASE_URL.replace('//fairway:', '//fairway_owner:')).replace('systemctl', ':'));
    const variables = await sh(`set -a; . /etc/fairway/fairway.env; ${/^Environment=(.*)$/m.exec(read('docker/fairway.service'))[1]
      .replaceAll('%d', '/etc/fairway')}; env`);
    const started = new Service(Object.fromEntries(variables.split('\n').map(line => line.split(/=(.*)/))), fresh.client);
    await started.ready().finally(() => started.kill());
  } finally {
    await fresh.stop();
  }
});

test('GET /openapi.json needs no token, and is the document of the sources', { timeout: 600_000 }, async () => {
  const answer = await fetch(`${service.url}/openapi.json`);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(await answer.text(), read('src/api/openapi.json'));
});
