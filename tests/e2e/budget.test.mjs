// The key process's budget, seen by a client of the service: 503 with Retry-After, a lease is not lost by it, and leases go on while
// fee bumps are refused.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payThrough, payment, sleep, startWorld } from './harness.mjs';

const ACCOUNTS = 60, LEAST_FEE = 20_000, MAX_FEE = 200_000;
let world, from, to;

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  [from, to] = await Promise.all([world.newAccount(), world.newAccount()]);
});
after(() => world?.stop());

const lease = service => service.post('/v1/transactions', { transactionXdr: payment(world, from, to).toXDR(), timeoutSeconds: 20 });

function refused(answer, option, service) {
  assert.equal(answer.status, 503);
  assert.equal(answer.json.code, 'SIGNER_BUDGET_EXCEEDED');
  assert.equal(answer.headers.get('retry-after'), '1');
  assert.match(service.log, option);
}

test('leases over the signatures of a second get 503, and none is lost', async () => {
  const service = await world.serve({ KEYD_MAX_SIGNATURES_PER_SECOND: '20' }), begun = Date.now();
  let answers;
  for (let tries = 0; tries < 20 && !answers?.some(({ status }) => status === 503); tries++) { // a busy machine asks too slowly
    answers = await Promise.all(Array.from({ length: ACCOUNTS }, () => lease(service)));
    await assertSettled(assert, world, service, ACCOUNTS);
  }
  assert.ok(answers.filter(({ status }) => status === 201).length >= 20);
  refused(answers.find(({ status }) => status !== 201), /KEYD_MAX_SIGNATURES_PER_SECOND=20/, service);
  const lines = service.log.split('\n').filter(line => line.includes('msg="lease refused by the key process"'));
  assert.ok(lines.length <= 20 * (2 + Math.floor((Date.now() - begun) / 10_000)), `${lines.length} lines`);
  assert.match(lines[0], /level=warn .*error=SIGNER_BUDGET_EXCEEDED reason="The signing budget of the key process is used up for now\." not_logged=0/);
  await sleep(1000);
  await payThrough(world, service, from, to);
  await service.kill();
});

test('fee bumps over the stroops of an hour get 503, and leases go on', async () => {
  const service = await world.serve({ MAX_FEE: String(MAX_FEE), MAX_RESOURCE_FEE: '0', KEYD_MAX_FEES_PER_HOUR: String(MAX_FEE) });
  const signed = async () => {
    const inner = TransactionBuilder.fromXDR((await lease(service)).json.transactionXdr, world.passphrase);
    inner.sign(from);
    return inner.toXDR();
  };
  const bump = (transactionXdr, maxFee) => service.post('/v1/fee-bumps', { transactionXdr, maxFee: String(maxFee) });
  const [one, other] = [await signed(), await signed()];
  for (let i = 0; i < 3; i++) // charged once
    assert.equal((await bump(one, MAX_FEE - 2 * LEAST_FEE)).status, 200);
  refused(await bump(other, MAX_FEE), /KEYD_MAX_FEES_PER_HOUR=200000/, service);
  const hash = Buffer.from(TransactionBuilder.fromXDR(other, world.passphrase).hash()).toString('hex');
  assert.match(service.log, new RegExp(`level=warn .*msg="fee bump not signed" transaction=${hash} detail="`));
  assert.equal((await bump(one, MAX_FEE - LEAST_FEE)).status, 200); // the difference
  assert.equal((await bump(other, LEAST_FEE)).status, 200);
  assert.equal((await lease(service)).status, 201);
  await assertSettled(assert, world, service, ACCOUNTS);
});
