// The image as an operator runs it: containers of it, as the image's user, on a read-only root, without capabilities, under Docker's
// default seccomp profile; the database with the two roles of roles.sql; secrets made by secrets.sh. PostgreSQL and the local network
// are outside. run.sh starts this.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Keypair, rpc } from '@stellar/stellar-sdk';
import { Service, payThrough, until } from '../e2e/harness.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const image = JSON.parse(fs.readFileSync(process.env.IMAGE_JSON, 'utf8')).Docker.config;
const folder = fs.mkdtempSync(path.join(process.env.IMAGE_DIR, 'test-'));
const secrets = path.join(folder, 'secrets');
const world = { client: Keypair.random() };
let environment, localnet;

/** One run of a command in a container: {code, stdout, stderr}. */
async function container(args, env = {}) {
  const options = { cwd: root, env: { ...environment, ...env }, timeout: 120_000 };
  return run(process.env.FAIRWAY_BIN, args, options).then(
    result => ({ code: 0, ...result }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }));
}

async function succeeds(args, env) {
  const result = await container(args, env);
  assert.equal(result.code, 0, `fairway ${args.join(' ')}: ${result.stderr}`);
  return result;
}

async function startDatabase() {
  const { stdout } = await run('sh', [path.join(root, 'tests/integration/support/pg.sh'), 'start', path.join(folder, 'postgres'), String(process.pid)]);
  const server = new URL(stdout.trim());
  // The cluster's superuser is called fairway, as a role of roles.sql is.
  await run('psql', ['-Xqc', `CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '${server.password}'`, server.href]);
  server.username = 'postgres';
  await run('psql', ['-Xqc', 'ALTER ROLE fairway RENAME TO initial', '-c', 'CREATE DATABASE fairway', server.href]);
  server.pathname = '/fairway';
  const environment = { ...process.env, POSTGRES_PASSWORD: fs.readFileSync(path.join(secrets, 'database.password'), 'utf8') };
  for (const file of ['roles.sql', 'passwords.sql'])
    await run('psql', ['-Xqv', 'ON_ERROR_STOP=1', '-f', path.join(root, 'docker', file), server.href], { env: environment });
  return server;
}

/** What secrets.sh makes, with this database's address in place of compose.yaml's. */
async function makeSecrets() {
  fs.copyFileSync(path.join(root, 'docker/secrets.sh'), path.join(folder, 'secrets.sh'));
  await run('sh', [path.join(folder, 'secrets.sh')]);
  fs.chmodSync(folder, 0o755);
  fs.chmodSync(secrets, 0o755);
}

before(async () => {
  await makeSecrets();
  const server = await startDatabase();
  for (const name of ['pg_service.conf', 'pg_service_owner.conf']) {
    const file = path.join(secrets, name);
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('host=postgres', `host=${server.hostname}\nport=${server.port}`));
  }
  localnet = await startLocalnet({ port: 0, ledgerMs: 1000 });
  world.network = new rpc.Server(localnet.url, { allowHttp: true });
  world.passphrase = localnet.network.passphrase;
  world.fund = async address => assert.equal((await fetch(`${localnet.url}/friendbot?addr=${address}`)).status, 200);
  const distribution = Keypair.fromSecret(fs.readFileSync(path.join(secrets, 'distribution.seed'), 'utf8'));
  await world.fund(distribution.publicKey());
  environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('IMAGE_') || name === 'PATH')),
    IMAGE_SECRETS: secrets,
    DATABASE_URL: 'postgresql:///?service=fairway',
    PGSERVICEFILE: '/run/secrets/pg_service.conf',
    RPC_URL: localnet.url,
    NETWORK_PASSPHRASE: world.passphrase,
    MASTER_KEY_FILE: '/run/secrets/master.key',
    DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: '/run/secrets/distribution.seed',
    CLIENT_AUTH_PUBLIC_KEYS: world.client.publicKey(),
    LISTEN: '127.0.0.1',
    LEDGER_SECONDS: '1',
  };
});

after(async () => {
  const crun = (...args) => run('crun', ['--root', path.join(process.env.IMAGE_DIR, 'crun'), ...args]);
  const { stdout } = await crun('list', '--quiet').catch(() => ({ stdout: '' }));
  for (const name of stdout.split('\n').filter(Boolean))
    await crun('delete', '--force', name).catch(() => {});
  await localnet?.close();
  await run('sh', [path.join(root, 'tests/integration/support/pg.sh'), 'stop', path.join(folder, 'postgres')]).catch(() => {});
  fs.rmSync(folder, { recursive: true, force: true });
  fs.rmSync(path.join(process.env.IMAGE_DIR, 'bundles'), { recursive: true, force: true });
});

/** A port that is free now. */
async function freePort() {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise(listening => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise(closed => server.close(closed));
  return String(port);
}

/** The fields of /proc/PID/status. */
function statusOf(pid) {
  const lines = fs.readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map(line => line.split(/:\s*/, 2)));
}

/** The one child of a process. */
function childOf(pid) {
  const [child] = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child;
}

test('the image names a user by number, a health check, version, commit and source, and has no shell', () => {
  assert.match(image.User, /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(image.Healthcheck.Test, ['CMD', '/usr/local/bin/fairway', 'health', 'live']);
  assert.equal(image.Labels['org.opencontainers.image.revision'], process.env.IMAGE_COMMIT);
  assert.equal(image.Labels['org.opencontainers.image.version'], process.env.IMAGE_VERSION);
  assert.equal(image.Labels['org.opencontainers.image.source'], 'https://example.org/fairway');
  assert.deepEqual([image.Entrypoint, image.Cmd], [['/usr/local/bin/fairway'], ['serve']]);
  for (const shell of ['bin/sh', 'usr/bin/sh', 'bin/bash'])
    assert.ok(!fs.existsSync(path.join(process.env.IMAGE_ROOTFS, shell)), shell);
});

test('the list of what is in the image has fairway and the package of each library', () => {
  const list = JSON.parse(fs.readFileSync(path.join(process.env.IMAGE_ROOTFS, 'usr/share/sbom/fairway.cdx.json'), 'utf8'));
  assert.equal(list.metadata.component.version, process.env.IMAGE_VERSION);
  assert.deepEqual(list.components.map(component => component.name).sort(),
    fs.readdirSync(path.join(process.env.IMAGE_ROOTFS, 'var/lib/dpkg/status.d')).sort());
});

test('fairway --version names version and commit', async () => {
  const { stdout } = await succeeds(['--version']);
  assert.ok(stdout.includes(process.env.IMAGE_VERSION) && stdout.includes(process.env.IMAGE_COMMIT), stdout);
});

test('nothing in the image can be written', async () => {
  const { code, stderr } = await container(['keygen', '/master.key']);
  assert.equal(code, 73);
  assert.match(stderr, /Read-only file system/);
});

test('keygen writes a key into a mounted folder', async () => {
  fs.mkdirSync(path.join(secrets, 'new'));
  fs.chownSync(path.join(secrets, 'new'), ...image.User.split(':').map(Number));
  await succeeds(['keygen', '/run/secrets/new/master.key']);
  assert.equal(fs.statSync(path.join(secrets, 'new/master.key')).size, 32);
});

test('the migrating role creates the schema, the serving role cannot', async () => {
  assert.notEqual((await container(['migrate'])).code, 0);
  await succeeds(['migrate'], { DATABASE_URL: 'postgresql:///?service=fairway_owner', PGSERVICEFILE: '/run/secrets/pg_service_owner.conf' });
});

test('ensure-accounts creates the accounts as the serving role', async () => {
  const { stdout } = await succeeds(['ensure-accounts', '5']);
  assert.match(stdout, /5 channel accounts active/);
});

test('without Landlock the key process starts, and logs that it is missing', async () => {
  const { stderr } = await succeeds(['ensure-accounts', '5'], { IMAGE_WITHOUT: 'landlock_create_ruleset' });
  assert.match(stderr, /no Landlock/);
});

test('where prctl is refused the key process does not start', async () => {
  const { code, stderr } = await container(['ensure-accounts', '5'], { IMAGE_WITHOUT: 'prctl' });
  assert.equal(code, 78, stderr);
});

test('serve takes a payment through its whole life, is healthy, sandboxed, and ends with 0 on SIGTERM', async t => {
  const ports = { PORT: await freePort(), ADMIN_PORT: await freePort() };
  const service = new Service({ ...environment, ...ports }, world.client);
  await service.ready();
  await succeeds(['health'], ports);
  await succeeds(['health', 'live'], ports);

  const user = Keypair.random();
  await world.fund(user.publicKey());
  const lease = await payThrough(world, service, user, user);
  const { json } = await service.get(`/v1/transactions/${lease.hash}?wait=30`);
  assert.equal(json.status, 'confirmed');

  const front = childOf(service.process.pid), keyd = childOf(front);
  assert.equal(fs.readlinkSync(`/proc/${keyd}/exe`).split('/').at(-1), 'fairway-keyd');
  const [outer, inner] = [statusOf(front), statusOf(keyd)];
  for (const status of [outer, inner]) {
    assert.match(status.Uid, /^10001\b/);
    assert.equal(Number(`0x${status.CapBnd}`), 0);
    assert.equal(status.NoNewPrivs, '1');
    assert.equal(status.Seccomp, '2');
  }
  assert.ok(Number(inner.Seccomp_filters) >= 2, "Docker's filter and one of its own");
  assert.equal(Number(outer.Seccomp_filters), Number(inner.Seccomp_filters) + 1, 'and one more, so that it cannot listen any more');
  assert.match(service.log, /msg="this process is confined" landlock=\d+/);
  t.diagnostic(`filters: fairway ${outer.Seccomp_filters}, fairway-keyd ${inner.Seccomp_filters}`);
  assert.doesNotMatch(service.log, /Landlock/);

  assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null });
  await until(async () => (await container(['health'], ports)).code === 1, 5000, 'health fails once serve has ended');
});
