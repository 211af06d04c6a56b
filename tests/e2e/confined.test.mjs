// `serve` is confined after its start: it reaches no file but those that its libraries need. These tests show that it still reconnects to
// everything, by every way that a configuration can name: names by DNS, TLS with certificates in files, service and password files, UNIX
// sockets. tests/integration/test_confine.c has what it cannot do.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { fairway, payThrough, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const run = promisify(execFile);
const TIMEOUT = { timeout: 600_000 };
const isRoot = process.getuid() === 0;
let world, users;

before(async () => {
  world = await startWorld({ accounts: 5 });
  users = [await world.newAccount(), await world.newAccount()];
});
after(() => world?.stop());

const at = (...names) => path.join(world.folder, ...names);

/** A DNS server that answers A queries for names under fairway.test with 127.0.0.1. */
async function startDns(address) {
  const socket = dgram.createSocket('udp4');
  let asked = 0;
  socket.on('message', (query, from) => {
    asked++;
    let end = 12;
    while (query[end] !== 0)
      end += query[end] + 1;
    const isA = query.readUInt16BE(end + 1) === 1;
    const head = Buffer.from([query[0], query[1], 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), isA ? answer : Buffer.alloc(0)]), from.port, from.address);
  });
  await new Promise((bound, failed) => socket.on('error', failed).bind(53, address, bound));
  let closed;
  return { address, asked: () => asked, close: () => (closed ??= new Promise(ended => socket.close(ended))) };
}

/** Writes an authority, and a certificate for each name, into folder. */
async function makeCertificates(folder, names) {
  fs.mkdirSync(folder);
  const openssl = (...args) => run('openssl', args, { cwd: folder });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=tests of fairway');
  for (const name of names) {
    await openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    fs.writeFileSync(path.join(folder, `${name}.ext`), `subjectAltName=DNS:${name}.fairway.test,IP:127.0.0.1`);
    await openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile',
      `${name}.ext`, '-out', `${name}.crt`);
  }
}

/** Lets PostgreSQL accept TLS. */
async function turnOnTls(certificates) {
  const data = fs.realpathSync(at('postgres', 'data'));
  const { uid, gid } = fs.statSync(data);
  for (const file of ['db.key', 'db.crt']) {
    fs.copyFileSync(path.join(certificates, file), path.join(data, file));
    fs.chmodSync(path.join(data, file), 0o600);
    fs.chownSync(path.join(data, file), uid, gid);
  }
  for (const setting of ["ssl_key_file = 'db.key'", "ssl_cert_file = 'db.crt'", 'ssl = on'])
    await world.sql(`ALTER SYSTEM SET ${setting}`);
  await world.sql('SELECT pg_reload_conf()');
}

/** An https server in front of the network's RPC. */
function startTlsRpc(certificates, handle = (_, forward) => forward()) {
  const [key, cert] = ['rpc.key', 'rpc.crt'].map(file => fs.readFileSync(path.join(certificates, file)));
  return proxyRpc(world.localnet.url, handle, { key, cert });
}

/** Replaces a file as DHCP clients replace /etc/resolv.conf: by another file. */
function replace(file, text) {
  fs.writeFileSync(`${file}.new`, text, { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

async function pays(service) {
  const lease = await payThrough(world, service, ...users);
  const { json } = await service.get(`/v1/transactions/${lease.hash}?wait=60`);
  assert.equal(json.status, 'confirmed', JSON.stringify(json));
}

const setPassword = password => world.sql(`ALTER ROLE fairway PASSWORD '${password}'`);

/** A payment after PostgreSQL was restarted. */
async function paysAfterARestart(service) {
  await world.postgres('stop', { mode: 'immediate' });
  await until(async () => (await service.get('/readyz')).status === 503, 30_000, 'the loss is noticed');
  await world.postgres('start');
  await until(async () => (await service.get('/readyz')).status === 200, 60_000, `serve reconnects:\n${service.log}`);
  await pays(service);
}

function assertConfined(service) {
  assert.match(service.log, /level=info msg="this process is confined" landlock=\d+ .*system_calls=filtered capabilities=none/);
  const status = fs.readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  for (const line of ['NoNewPrivs:\t1', 'Seccomp:\t2', 'CapInh:\t0+', 'CapPrm:\t0+', 'CapEff:\t0+', 'CapAmb:\t0+', ...(isRoot ? ['CapBnd:\t0+'] : [])])
    assert.match(status, new RegExp(`^${line}$`, 'm'), status);
}

test('it reconnects over a UNIX socket, with a new password', TIMEOUT, async t => {
  const { hostname, port } = new URL(world.env.DATABASE_URL);
  fs.mkdirSync(at('sockets'));
  const server = net.createServer(client => {
    const upstream = net.connect(Number(port), hostname);
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy()).pipe(client);
  }).listen(at('sockets', '.s.PGSQL.5432'));
  t.after(() => server.close());
  const { username, password } = new URL(world.env.DATABASE_URL), file = at('sockets', 'url');
  const write = secret => replace(file, `postgresql://${username}:${secret}@/postgres?host=${encodeURIComponent(at('sockets'))}\n`);
  write(password);
  const service = await world.serve({ DATABASE_URL: '', DATABASE_URL_FILE: file });
  assertConfined(service);
  await pays(service);
  await setPassword('changed');
  write('changed');
  await paysAfterARestart(service);
  await setPassword(password);
  await service.kill();
});

test('DS7 from its start on, its user can look into neither process', { ...TIMEOUT, skip: !isRoot && 'needs root' }, async () => {
  const folder = at('programs'), nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  fs.mkdirSync(folder);
  for (const program of ['fairway', 'fairway-keyd'])
    fs.copyFileSync(path.join(path.dirname(fairway), program), path.join(folder, program));
  // It waits for a database that does not come.
  const child = spawn(nobody[0], [...nobody.slice(1), path.join(folder, 'fairway'), 'serve'], { stdio: ['ignore', 'ignore', 'pipe'], env: {
    ...world.env, MASTER_KEY_FILE: '', DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: '', CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE: 'a passphrase of this test',
    DISTRIBUTION_ACCOUNT_PRIVATE_KEY: world.distribution.secret(), DATABASE_URL: 'postgresql://user@127.0.0.1:1/none' } });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', text => (log += text));
  await until(() => log.includes('cannot start yet'), 30_000, `it waits for the database:\n${log}`);
  const keyd = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
  const reads = file => run(nobody[0], [...nobody.slice(1), 'cat', file]).then(() => true, () => false);
  for (const pid of [child.pid, keyd])
    for (const file of ['environ', 'maps', 'mem', 'auxv'])
      assert.equal(await reads(`/proc/${pid}/${file}`), false, `${pid} ${file}`);
  assert.equal(await reads('/proc/self/environ'), true, 'the control');
  child.kill('SIGKILL');
});

test('it holds no capability, so a privileged port is refused with the reason', TIMEOUT, async t => {
  if (Number(fs.readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= 7)
    return t.skip('no port is privileged here');
  const { code, out } = await world.start(['serve'], { PORT: '7' }).ended;
  assert.equal(code, 78, out);
  assert.match(out, /cannot listen on 127\.0\.0\.1:7: Permission denied \(fairway holds no capability: see net\.ipv4\.ip_unprivileged_port_start\)/);
});

test('RPCs that want keys in headers, one of them with a certificate of its own authority: both files are read, and keys change', TIMEOUT, async t => {
  const folder = at('house'), file = path.join(folder, 'headers'), keys = ['key 1', 'key 2'], asked = [0, 0];
  await makeCertificates(folder, ['rpc']);
  const handle = i => async (call, forward, headers) => {
    const fits = headers['x-api-key'] === keys[i] && headers['x-house'] === 'ours';
    asked[i] += fits;
    return fits ? forward() : 401;
  };
  const rpcs = [await proxyRpc(world.localnet.url, handle(0)), await startTlsRpc(folder, handle(1))];
  t.after(() => rpcs.forEach(rpc => rpc.close()));
  const env = { RPC_URL: rpcs.map(({ url }) => url).join(), RPC_HEADERS_FILE: file, RPC_CA_FILE: path.join(folder, 'ca.crt') };
  for (const [text, mode, words] of [['1: a: b', 0o644, /is accessible to other users/], ['\n3: a: s3cret', 0o600, /line 2 is not/],
    ['*: s3cret', 0o600, /line 1 is not/], ['*: a: ', 0o600, /line 1 is not/]]) {
    fs.writeFileSync(file, text);
    fs.chmodSync(file, mode);
    const { code, out } = await world.start(['serve'], env).ended;
    assert.equal(code, 78, out);
    assert.match(out, new RegExp(`RPC_HEADERS_FILE.*${words.source}`));
    assert.doesNotMatch(out, /s3cret/);
  }
  const write = () => replace(file, `# of providers\n1: X-Api-Key: ${keys[0]}\n\n2: x-api-key:${keys[1]}\r\n*: X-House: ours\n`);
  const bothAnswer = async what => {
    const before = [...asked];
    await until(() => asked.every((count, i) => count > before[i] + 2), 30_000, `both RPCs are asked with their keys ${what}:\n${service.log.slice(-2000)}`);
  };
  write();
  const service = await world.serve(env);
  assertConfined(service);
  await bothAnswer('at the start');
  keys.forEach((_, i) => (keys[i] += ', changed'));
  write();
  await bothAnswer('after they have changed');
  await pays(service);
  assert.doesNotMatch(service.log, /key [12]/);
  await service.kill();
  const { out } = await world.start(['check'], { ...env, RPC_CA_FILE: '' }).ended;
  assert.match(out, /ACT +rpc 2 [^]*certificate/);
});

// A copy of /etc in a mount namespace of its own, with another resolver and another trust store; and port 53.
test('it reconnects with TLS, by names, after the resolver has changed', { ...TIMEOUT, skip: !isRoot && 'needs root' }, async t => {
  const apart = ['unshare', '-m', '--propagation', 'private'];
  if (!await run(apart[0], [...apart.slice(1), 'true']).then(() => true, () => false))
    return t.skip('mounts cannot be made private: this is a chroot');
  const network = `127.53.${process.pid % 250}`;
  const certificates = at('certificates');
  await makeCertificates(certificates, ['db', 'rpc', 'client']);
  await turnOnTls(certificates);
  const tls = await startTlsRpc(certificates);
  const dns = [await startDns(`${network}.1`), await startDns(`${network}.2`)];
  t.after(async () => {
    tls.close();
    for (const server of dns)
      await server.close();
  });
  await run('cp', ['-a', '/etc', at('etc')]);
  replace(at('etc', 'resolv.conf'), `nameserver ${dns[0].address}\noptions timeout:1 attempts:2\n`);
  replace(at('etc', 'nsswitch.conf'), 'hosts: files dns\npasswd: files\ngroup: files\n');
  replace(at('etc', 'ssl', 'certs', 'ca-certificates.crt'), fs.readFileSync(path.join(certificates, 'ca.crt')));
  const url = new URL(world.env.DATABASE_URL);
  fs.mkdirSync(at('database'));
  const passwords = at('database', 'passwords'), services = at('database', 'services');
  replace(passwords, `*:*:*:*:${url.password}\n`);
  replace(services, `[fairway]\nhost=db.fairway.test\nport=${url.port}\nuser=${url.username}\ndbname=postgres\nsslmode=verify-full\n` +
    `sslrootcert=${certificates}/ca.crt\nsslcert=${certificates}/client.crt\nsslkey=${certificates}/client.key\npassfile=${passwords}\n`);

  const service = await world.serve(
    { DATABASE_URL: 'postgresql:///?service=fairway', PGSERVICEFILE: services, RPC_URL: tls.url.replace('127.0.0.1', 'rpc.fairway.test') },
    [...apart, 'sh', '-c', `mount --bind ${at('etc')} /etc && exec "$@"`, 'sh']);
  assertConfined(service);
  assert.ok(dns[0].asked() > 0 && dns[1].asked() === 0);
  const sessions = await world.sql("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'fairway%'");
  assert.deepEqual(sessions, [['t']]);
  await pays(service);

  replace(at('etc', 'resolv.conf'), `nameserver ${dns[1].address}\noptions timeout:1 attempts:2\n`);
  await dns[0].close();
  tls.hangUp();
  await setPassword('changed');
  replace(passwords, '*:*:*:*:changed\n');
  for (const file of [services, ...['ca.crt', 'client.crt', 'client.key'].map(name => path.join(certificates, name))])
    replace(file, fs.readFileSync(file));
  await paysAfterARestart(service);
  assert.ok(dns[1].asked() > 0);
  await service.kill();
});
