// What ensure-accounts waits for, and how long: a standby that may lack what is about to be sent, an RPC that answers only some calls, an
// idle account, and late ledgers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { payThrough, payment, sleep, slower, slowerSeconds, until, within } from './harness.mjs';
import { startProvisioning } from './provisioning.mjs';

let provisioning, world, proxy, start, ensureExactly, assertExactly;

before(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy, start, ensureExactly, assertExactly } = provisioning);
  await ensureExactly(1);
});
after(() => provisioning?.stop());

/**
 * Like an impatient operator, cancels every wait for the standby until the returned function is called. In one session, because on a
 * busy machine a program for each look takes longer than a ledger, and ingestion would never catch up.
 */
function cancelWaits() {
  const cancelling = world.sql(`DO $$ BEGIN LOOP
    PERFORM pg_stat_clear_snapshot();
    PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep';
    PERFORM pg_sleep(0.05);
  END LOOP; END $$`).catch(() => {}); // it ends by an error
  return async () => {
    await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %' AND pid <> pg_backend_pid()");
    await cancelling;
  };
}

test('Z2 DR10: nothing is sent that the synchronous standby may lack; the run continues when the standby is back', { timeout: 600_000 }, async t => {
  const service = await world.serve({ DATABASE_FAILOVER: 'synchronous' }); // another process ingests, so that the run itself waits for one COMMIT at a time
  let lost = 0, sentBehind = 0;
  const stopCancelling = cancelWaits();
  proxy.onSend = async () => {
    sentBehind += lost;
    if (lost === 0)
      await world.setStandby('nobody');
    lost = 1;
    return null;
  };
  const run = start(['ensure-accounts', '25'], { DATABASE_FAILOVER: 'synchronous' });
  t.after(async () => {
    run.process.kill('SIGKILL');
    await world.setStandby('');
    await stopCancelling();
    await service.kill();
  });
  await until(() => /did not wait for the synchronous standby/.test(run.said()), 30_000, 'it says what it waits for');
  await sleep(1500);
  assert.equal(sentBehind, 0);
  lost = 0;
  proxy.onSend = () => null;
  await world.setStandby('');
  const { code, out } = await run.ended;
  assert.equal(code, 0, out);
  assert.match(out, /did not wait for the synchronous standby/);
  await assertExactly(25);
});

test('an RPC that refuses one call is retried until the timeout, although ledgers close', { timeout: 600_000 }, async () => {
  await ensureExactly(1);
  proxy.refuse = call => call.method === 'getLedgerEntries' ? { code: -32601, message: 'method not found' } : null;
  const run = start(['ensure-accounts', '2'], { START_TIMEOUT: '3' });
  const ended = await within(run.ended, slower(15_000));
  run.process.kill('SIGKILL');
  proxy.refuse = () => null;
  assert.ok(ended, 'it ends by itself');
  assert.equal(ended.code, 69, ended.out);
  assert.match(ended.out, /RPC_UNAVAILABLE.*method not found/);
  await ensureExactly(2);
});

test('an exhausted pool grows from the account that a ledger releases next; from the distribution account if none is released', { timeout: 600_000 }, async t => {
  await ensureExactly(1);
  const service = await world.serve(), users = await Promise.all(Array.from({ length: 6 }, () => world.newAccount()));
  let over = false;
  const paying = users.map(async user => {
    while (!over)
      await payThrough(world, service, user, user).catch(error => assert.equal(error.answer?.status, 503, error.message));
  });
  t.after(() => service.kill());
  const sources = async () => (await world.sql(`SELECT p.source = n.distribution_account FROM fairway.provisioning p, fairway.network n
    ORDER BY p.id DESC LIMIT 1`))[0][0];
  await sleep(1000);
  const grown = await provisioning.ensure(2);
  over = true;
  await Promise.all(paying);
  assert.equal(grown.code, 0, grown.out);
  assert.equal(await sources(), 'f', 'a node takes nothing of the distribution account while calls that it pays for are queued');
  await Promise.all([1, 2].map(() => service.post('/v1/transactions', { transactionXdr: payment(world, users[0], users[0]).toXDR(), timeoutSeconds: slowerSeconds(60) })));
  await ensureExactly(3);
  assert.equal(await sources(), 't');
});

test('late ledgers are waited for beyond the timeout, as long as the cursor advances', { timeout: 600_000 }, async t => {
  await world.sql(`CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.close_time := NEW.close_time - 1000; RETURN NEW; END $$;
    CREATE TRIGGER late BEFORE UPDATE ON fairway.cursor FOR EACH ROW EXECUTE FUNCTION public.late()`);
  const run = start(['ensure-accounts', '3'], { START_TIMEOUT: '3' });
  t.after(() => run.process.kill('SIGKILL'));
  const said = /last ledger committed, \d+, closed 1\d\d\d s ago/;
  await until(() => said.test(run.said()), 60_000, 'it says what it waits for');
  const ended = await within(run.ended, 8000);
  await world.sql('DROP TRIGGER late ON fairway.cursor; DROP FUNCTION public.late()');
  assert.equal(ended, undefined, ended?.out);
  const { code, out } = await run.ended;
  assert.equal(code, 0, out);
  await assertExactly(3);
});
