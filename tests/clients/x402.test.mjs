// The attack of duplicates on facilitators of @x402/stellar that settle by fairway: one payment, sent at once to two of them, at two replicas.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { x402Facilitator } from '@x402/core/facilitator';
import { assertSettled } from '../e2e/harness.mjs';
import { startPayments } from './harness.mjs';
import { connect } from './javascript/fairway.mjs';
import { FairwayScheme } from './x402/scheme.mjs';

const ACCOUNTS = 5, EACH = 20, LATE = 'invalid_exact_stellar_payload_simulation_failed'; // the nonce is used
let clients, facilitators;

before(async () => {
  clients = await startPayments({ accounts: ACCOUNTS, replicas: 2 });
  facilitators = await Promise.all(clients.services.map(async ({ url }) => {
    const call = connect({ url, seedFile: path.join(clients.world.folder, 'client.seed') }), { distributionAccount } = await call('GET', '/v1/info');
    return new x402Facilitator().register('stellar:testnet',
      new FairwayScheme(call, distributionAccount, { rpcConfig: { url: clients.rpcUrl }, maxTransactionFeeStroops: 1_000_000 }));
  }));
});
after(() => clients?.stop());

test(`a payment is settled once, and ${2 * EACH - 1} times a duplicate`, { timeout: 300_000 }, async () => {
  const before = await clients.balanceOf(clients.shop), { paymentPayload, paymentRequirements } = await clients.pay(clients.user, 16n);
  const answers = await Promise.all(Array.from({ length: 2 * EACH }, (_, i) => facilitators[i % 2].settle(paymentPayload, paymentRequirements)));
  const [settled, ...none] = answers.filter(({ success }) => success);
  assert.deepEqual(none, []);
  assert.equal((await clients.world.network.getTransaction(settled.transaction)).status, 'SUCCESS');
  const reasons = answers.filter(answer => answer !== settled).map(({ errorReason }) => errorReason);
  assert.ok(reasons.includes('duplicate_settlement'));
  assert.deepEqual(reasons.filter(reason => ![LATE, 'duplicate_settlement'].includes(reason)), []);
  assert.equal(await clients.balanceOf(clients.shop) - before, 16n);
  assert.deepEqual(await clients.world.sql('SELECT count(*) FROM fairway.leases'), [['1']]);
  const late = await facilitators[0].settle(paymentPayload, paymentRequirements);
  assert.deepEqual([late.success, late.errorReason], [false, LATE]);
});

test('each account is idle again', { timeout: 300_000 }, () => assertSettled(assert, clients.world, clients.services[0], ACCOUNTS));
