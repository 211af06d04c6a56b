// Bad configuration, a stop, and a key process that hangs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payThrough, payment, sleep, slower, startWorld, until } from './harness.mjs';

const ACCOUNTS = 3;
let world, service, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(() => world?.stop());

const serveEnds = env => world.start(['serve'], env).ended;

for (const [name, env, expected] of [
  ['no client', { CLIENT_AUTH_PUBLIC_KEYS: '' }, /CLIENT_AUTH_PUBLIC_KEYS or CLIENTS_FILE.*AUTH=none/],
  ['an empty list of clients', { CLIENT_AUTH_PUBLIC_KEYS: ' , ' }, /CLIENT_AUTH_PUBLIC_KEYS: there is no client/],
  ['clients and AUTH=none', { AUTH: 'none' }, /AUTH=none and client keys/],
  ['another AUTH', { AUTH: 'off' }, /AUTH must be jwt or none/],
  ['a missing file of clients', { CLIENTS_FILE: '/nonexistent' }, /CLIENTS_FILE: cannot read/],
  ['no DATABASE_URL', { DATABASE_URL: '' }, /DATABASE_URL/],
  ['no RPC_URL', { RPC_URL: '' }, /RPC_URL/],
  ['no network', { NETWORK_PASSPHRASE: '' },
    /NETWORK_PASSPHRASE is not set: .*Public Global Stellar Network ; September 2015.* testnet .*Test SDF Network ; September 2015.*getNetwork of the RPC"/],
  ['another network', { NETWORK_PASSPHRASE: 'Public Global Stellar Network ; September 2015' },
    /serves the network .*Standalone Network ; February 2017.* but NETWORK_PASSPHRASE is .*Public Global Stellar Network ; September 2015/],
  ['no master key', { MASTER_KEY_FILE: '' }, /master key|MASTER_KEY_FILE/],
  ['a budget below one fee bump', { KEYD_MAX_FEES_PER_HOUR: '1000000' }, /KEYD_MAX_FEES_PER_HOUR=1000000 is below MAX_FEE \+ MAX_RESOURCE_FEE=52000000/],
  ['a maximum that allows no fee bump', { MAX_FEE: '200' }, /MAX_FEE=200 is below 2 x FEE_BUMP_BASE_FEE=20000/],
  ['a fee bump above its maximum', { FEE_BUMP_BASE_FEE: '1000001' }, /MAX_FEE=2000000 is below 2 x FEE_BUMP_BASE_FEE=2000002/],
  ['a warning below the floor', { LOW_BALANCE_PAYMENTS: '99' }, /LOW_BALANCE_PAYMENTS=99.*MIN_BALANCE_PAYMENTS=100/],
  ['another distribution account', { DISTRIBUTION_ACCOUNT_PUBLIC_KEY: 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ' }, /DISTRIBUTION_ACCOUNT/],
])
  test(`configuration: ${name} is refused with a message, exit 78`, async () => {
    const { code, out } = await serveEnds(env);
    assert.equal(code, 78, out);
    assert.match(out, expected);
  });

test('SIGTERM completes running requests and exits with 0', async () => {
  const extra = await world.serve();
  const waiting = extra.get(`/v1/transactions/${(await payThrough(world, extra, users[0], users[1])).hash}?wait=5`);
  await sleep(slower(50)); // the request has arrived
  const ended = extra.kill('SIGTERM');
  assert.ok([200, 503].includes((await waiting).status));
  assert.deepEqual(await ended, { code: 0, signal: null });
  await assertSettled(assert, world, service, ACCOUNTS);
});

test('a reader of the log that stands still delays no request and no ledger, and learns that lines are missing', { timeout: 600_000 }, async () => {
  const pipe = path.join(world.folder, 'log'), buffer = Buffer.alloc(2 ** 21);
  execFileSync('mkfifo', [pipe]);
  const reader = fs.openSync(pipe, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  const read = () => buffer.toString('utf8', 0, fs.readSync(reader, buffer));
  const replica = await world.serve({}, ['sh', '-c', `exec "$@" 2>>${pipe}`, 'sh']), cursor = await world.cursor();
  const refused = async () => assert.equal((await replica.post('/v1/transactions', { transactionXdr: 'AAAA' })).status, 400);
  assert.throws(() => { for (;;) fs.writeSync(reader, 'x'.repeat(1024)); }, { code: 'EAGAIN' });
  await refused();
  await payThrough(world, replica, ...users);
  await until(async () => await world.cursor() > cursor + 2, 30_000, 'ledgers go on');
  read();
  await until(async () => await refused() ?? /did not keep up" lines=\d+/.test(read()), 30_000, 'the log says that lines are missing');
  await replica.kill();
  fs.closeSync(reader);
});

test('a replica whose key process does not respond to a fee bump exits', { timeout: 600_000 }, async () => {
  const replica = await world.serve();
  const { json } = await replica.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[1], '1').toXDR() });
  const transaction = TransactionBuilder.fromXDR(json.transactionXdr, json.networkPassphrase);
  transaction.sign(users[0]);
  process.kill(replica.keydPid, 'SIGSTOP');
  const { status } = await replica.post('/v1/fee-bumps', { transactionXdr: transaction.toXDR() });
  assert.equal(status, 503);
  assert.equal((await replica.ended).code, 70);
});
