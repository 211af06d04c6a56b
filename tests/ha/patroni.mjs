// Three PostgreSQL servers under Patroni with etcd, on free loopback ports and in a folder of their own: Debian's packages.
import { execFile, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { freePort, until } from '../e2e/harness.mjs';

const run = promisify(execFile);
export const PASSWORD = 'ha';
const NAMES = ['n1', 'n2', 'n3'];
/** PostgreSQL does not run as root. */
const account = process.getuid() === 0 ? { uid: Number(execFileSync('id', ['-u', 'postgres'])), gid: Number(execFileSync('id', ['-g', 'postgres'])) } : {};

export class Patroni {
  #children = new Map();

  async start(folder) {
    this.folder = folder;
    fs.mkdirSync(folder, { recursive: true });
    if (account.uid)
      fs.chownSync(folder, account.uid, account.gid);
    this.etcd = `127.0.0.1:${await freePort()}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    this.#spawn('etcd', 'etcd', ['--data-dir', path.join(folder, 'etcd'), '--listen-client-urls', `http://${this.etcd}`, '--advertise-client-urls',
      `http://${this.etcd}`, '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`, '--log-level', 'error']);
    this.ports = {};
    this.rest = {};
    for (const name of NAMES) {
      [this.ports[name], this.rest[name]] = [await freePort(), await freePort()];
      fs.writeFileSync(this.#config(name), stringify(this.#settings(name)));
      this.run(name);
      if (name === 'n1')
        await until(() => this.leader(), 60_000, 'the first server leads');
    }
    await this.whole();
  }

  #config = name => path.join(this.folder, `${name}.yml`);

  #settings(name) {
    const bin = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
    return {
      scope: 'fairway', name, etcd3: { hosts: this.etcd },
      restapi: { listen: `127.0.0.1:${this.rest[name]}`, connect_address: `127.0.0.1:${this.rest[name]}` },
      bootstrap: {
        dcs: { ttl: 20, loop_wait: 2, retry_timeout: 3, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
        pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
      },
      postgresql: {
        listen: `127.0.0.1:${this.ports[name]}`, connect_address: `127.0.0.1:${this.ports[name]}`, data_dir: path.join(this.folder, name), bin_dir: bin, pgpass: path.join(this.folder, `${name}.pgpass`),
        parameters: { unix_socket_directories: this.folder, max_connections: 100, wal_keep_size: '256MB', shared_buffers: '64MB' },
        authentication: { superuser: { username: 'superuser', password: PASSWORD }, replication: { username: 'replicator', password: PASSWORD },
          rewind: { username: 'rewinder', password: PASSWORD } },
      },
    };
  }

  #spawn(key, program, args) {
    const child = spawn(program, args, { ...account, cwd: this.folder, stdio: ['ignore', 'ignore', fs.openSync(path.join(this.folder, `${key}.log`), 'a')] });
    child.on('error', error => console.error(`${program}: ${error.message}`));
    this.#children.set(key, child);
  }

  run = name => this.#spawn(name, 'patroni', [this.#config(name)]);

  async #members() {
    for (const name of NAMES)
      try {
        return (await (await fetch(`http://127.0.0.1:${this.rest[name]}/cluster`, { signal: AbortSignal.timeout(2000) })).json()).members;
      } catch { /* it is away: ask another one */ }
    return [];
  }

  leader = async () => (await this.#members()).find(({ role, state }) => role === 'leader' && state === 'running')?.name;

  /** All three run, one of the standbys is synchronous. */
  whole = () => until(async () => {
    const members = await this.#members();
    return members.length === 3 && members.every(({ state }) => ['running', 'streaming'].includes(state)) &&
      members.some(({ role }) => role === 'sync_standby') && members.find(({ role }) => role === 'leader')?.name;
  }, 180_000, 'the cluster is whole');

  async switchover() {
    const members = await this.#members(), of = role => members.find(member => member.role === role).name;
    await run('patronictl', ['-c', this.#config('n1'), 'switchover', 'fairway', '--leader', of('leader'), '--candidate', of('sync_standby'), '--force'],
      { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  }

  /** kill -9 of the leader's server and of its Patroni. Returns its name; run() starts it again. */
  async kill() {
    const name = await this.leader();
    this.#children.get(name).kill('SIGKILL');
    process.kill(Number(fs.readFileSync(path.join(this.folder, name, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
    return name;
  }

  url = (role, database = 'fairway') =>
    `postgresql://${role}:${PASSWORD}@${NAMES.map(name => `127.0.0.1:${this.ports[name]}`).join(',')}/${database}?target_session_attrs=read-write`;

  async stop() {
    for (const name of NAMES.filter(name => this.#children.has(name))) {
      const child = this.#children.get(name), ended = new Promise(resolve => child.on('exit', resolve));
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) // stops its server, too
        await Promise.race([ended, new Promise(resolve => setTimeout(resolve, 20_000))]);
      try {
        process.kill(Number(fs.readFileSync(path.join(this.folder, name, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT');
      } catch { /* it has ended */ }
    }
    this.#children.get('etcd')?.kill('SIGKILL');
  }
}
