// fairway pause and resume, and the events that operators' acts leave: who, what, why.
import assert from 'node:assert/strict';
import os from 'node:os';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { Service, payment, slowerSeconds, startWorld, until } from './harness.mjs';

const TIMEOUT = { timeout: 180_000 }, ACCOUNTS = 4;
let world, service, users;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  Object.assign(world.env, { USER: 'alice' });
  delete world.env.SUDO_USER;
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(async () => {
  await service?.kill('SIGKILL');
  await world?.stop();
});

const lease = () => service.post('/v1/transactions',
  { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: slowerSeconds(20) });
const events = () => world.sql('SELECT who, what, why FROM fairway.events ORDER BY id');
const refused = async () => (await lease()).json.code === 'GRANTS_SUSPENDED' &&
  JSON.stringify((await service.get('/readyz')).json).includes('"reason":"an operator has paused leases"');

test('PA1 a pause lasts until an operator ends it, whatever ends or starts meanwhile', TIMEOUT, async () => {
  assert.equal((await world.run('resume')).out, 'leases were not paused\n');
  const { json: taken } = await lease();
  const { code, out } = await world.run('pause', '--reason', 'the <bank> is closed');
  assert.deepEqual([code, out], [0, 'no lease is granted until fairway resume; open leases go on and end\n']);
  assert.ok(await refused());
  const inner = TransactionBuilder.fromXDR(taken.transactionXdr, world.passphrase);
  inner.sign(users[0]);
  const { json: ended } = await service.post('/v1/submissions?wait=60', { transactionXdr: inner.toXDR() });
  assert.equal(ended.status, 'confirmed', 'an open lease goes on');
  await world.run('hold', '--ledger-seconds', '600ms', 'the volume was copied');
  await world.sql('UPDATE fairway.cursor SET held_until = 1'); // the next ledger ends the hold
  await until(async () => (await events()).some(([, what]) => what === 'the hold has ended'), 30_000, 'the hold has ended');
  await service.kill();
  service = new Service(world.env, world.client);
  await until(() => service.url, 30_000, 'another process serves');
  await until(refused, 30_000, 'another process is paused, too');
  assert.equal((await world.run('resume', '--reason', 'it has opened')).out, 'leases are no longer paused\n');
  assert.equal((await lease()).status, 201);
});

test('PA2 each act of an operator leaves who, what and why', TIMEOUT, async () => {
  const [[address]] = await world.sql('SELECT public_key FROM fairway.channel_accounts WHERE lease_hash IS NULL LIMIT 1');
  assert.equal((await world.run('accounts', 'retire', '--reason', 'one too many', address)).code, 0);
  const alice = command => `alice@${os.hostname()}, fairway ${command}, pid N, role fairway`;
  const seen = (await events()).filter(([who]) => !who.includes('fairway serve') && !who.includes('ensure-accounts'))
    .map(([who, ...rest]) => [who.replace(/pid \d+/, 'pid N'), ...rest]);
  assert.deepEqual(seen, [
    [alice('pause'), 'leases are paused', 'the <bank> is closed'],
    [alice('hold'), 'grants are on hold', 'the volume was copied'],
    [alice('resume'), 'leases are resumed after a pause', 'it has opened'],
    [alice('accounts'), `${address} retiring`, 'one too many'],
  ]);
  assert.ok((await events()).some(([who, what]) => who.includes(`fairway serve, pid ${service.process.pid},`) && what === 'begins to lead'));
});
