// Two accounts, and the result of their operations: in a ledger, or when refused at submission.

import assert from 'node:assert/strict';
import { trustLineKey } from '../entries.mjs';
import { Tx } from '../results.mjs';
import { Client } from './harness.mjs';

export const start = async (t) => {
  const client = await Client.start(t);
  const [alice, bob] = await client.create(['alice', 'bob']);
  return {
    client,
    alice,
    bob,
    /** The trust line of an account, or null. */
    line: (key, asset) =>
      client.net.chain.state.peek(trustLineKey(client.id(key), asset.toXdrObject().toXdrObject())),
    /** The operation's result code in a ledger; the sequence is consumed and the fee paid in either case. */
    async applied(operation, { source = alice, signers } = {}) {
      const before = client.account(source);
      const result = await client.include(client.build(source, [operation].flat(), { signers }));
      if (client.account(source)) assert.ok(client.account(source).sequence > before.sequence);
      assert.equal(result.code, result.operations.every(({ own }) => own === 0) ? Tx.SUCCESS : Tx.FAILED);
      if (result.code === Tx.FAILED)
        assert.deepEqual(result.meta.operations, [], 'a failed transaction changes nothing else');
      return result.operations.at(-1).own ?? result.operations.at(-1);
    },
    /** The code with which it is refused at submission. */
    async refused(operation, { source = alice, signers } = {}) {
      const { status, code, operations } = await client.send(client.build(source, [operation], { signers }));
      assert.deepEqual([status, code], ['ERROR', Tx.FAILED]);
      return operations[0].own;
    },
  };
};

/** The SDK's builders check values that the wire allows. */
export const raw = (operation, change) => {
  change(operation.body.value);
  return operation;
};
