// The database's disk is full: the server reports SQLSTATE 53100 where a file would have to grow. /readyz fails, nothing is leased
// without being recorded, and everything recovers when there is space again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { restartSick } from './sick-server.mjs';
import { assertSettled, payment, payThrough, startWorld, until } from './harness.mjs';

const ACCOUNTS = 40;
let world, service, disk;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  disk = await restartSick(world);
  service = await world.serve();
});
after(() => world?.stop());

const isDiskOk = async () => (await service.metrics()).fairway_database_disk_ok;

test('DX7 with a full disk /readyz fails, and nothing that cannot be written is leased', { timeout: 600_000 }, async () => {
  const [payer, payee] = await Promise.all([world.newAccount(), world.newAccount()]);
  await payThrough(world, service, payer, payee);
  assert.deepEqual(await service.check('disk'), { status: 200, name: 'disk', ok: true });
  disk.fill();
  // pages with free space take more rows
  const refused = await until(async () => {
    const answer = await service.post('/v1/transactions', { transactionXdr: payment(world, payer, payee).toXDR(), timeoutSeconds: 20 });
    return answer.status !== 201 && answer;
  }, 60_000, 'a lease needs a new page');
  assert.equal(refused.status, 503);
  const failed = await service.check('disk');
  assert.equal(failed.status, 503);
  assert.equal(failed.ok, false);
  assert.match(failed.reason, /disk full/);
  assert.equal(await isDiskOk(), 0);
  assert.match(service.log, /the database cannot write.*53100/);
  const [[open, leased]] = await world.sql(`SELECT (SELECT count(*) FROM fairway.lease_history WHERE settled_at IS NULL),
    (SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL)`);
  assert.equal(open, leased);
  disk.free();
  await until(async () => (await service.get('/readyz')).status === 200, 60_000, 'ready again');
  assert.equal(await isDiskOk(), 1);
  await payThrough(world, service, payer, payee);
  await assertSettled(assert, world, service, ACCOUNTS);
});
