// What stellar-core and stellar-rpc have shown when fairway ran on them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tx } from '../results.mjs';
import { decode } from '../xdr.mjs';
import { start } from './contract-calls.mjs';
import { payment } from './harness.mjs';

test('upgrades of the base fee and of the size of a set apply to the ledgers after theirs', async (t) => {
  const { client, alice, bob } = await start(t);
  const [carol, dave] = await client.create(['carol', 'dave']);
  const pay = (key, fee) => client.send(client.build(key, [payment(bob)], { fee }));
  let included;
  client.net.chain.on('closed', ({ items }) => (included = items.length));
  await client.call('localnet_upgrade', { baseFee: 200, maxTxSetSize: 2 });
  for (const key of [alice, carol, dave]) await pay(key, '150');
  const upgrade = await client.close();
  assert.deepEqual(upgrade.scpValue.upgrades.map((each) => decode('LedgerUpgrade', each)), [
    { type: 2, newBaseFee: 200 },
    { type: 3, newMaxTxSetSize: 2 },
  ]);
  assert.deepEqual([included, upgrade.baseFee, upgrade.maxTxSetSize, upgrade.ledgerVersion], [3, 200, 2, 28]);
  const { status, code, feeCharged } = await pay(alice, '150');
  assert.deepEqual([status, code, feeCharged], ['ERROR', Tx.INSUFFICIENT_FEE, 200n]);
  for (const key of [alice, carol, dave]) assert.equal((await pay(key, '200')).status, 'PENDING');
  const next = await client.close();
  assert.deepEqual([included, next.baseFee, next.scpValue.upgrades], [2, 200, []]);
});
