// Calls of the native asset's contract, built and prepared with the SDK as a wallet does it.

import assert from 'node:assert/strict';
import { Account, Asset, Operation, SorobanDataBuilder, TransactionBuilder, nativeToScVal, rpc } from '@stellar/stellar-sdk';
import { Client } from './harness.mjs';

export const amount = (value) => nativeToScVal(value, { type: 'i128' });
export const addressOf = (key) => nativeToScVal(typeof key === 'string' ? key : key.publicKey(), { type: 'address' });

/** `options` are those of startLocalnet; `isCreated` whether the contract exists already. */
export const start = async (t, { isCreated = true, ...options } = {}) => {
  const client = await Client.start(t, options);
  const [alice, bob] = await client.create(['alice', 'bob']);
  const contract = Asset.native().contractId(client.passphrase);

  const call = (name, args, { source, auth } = {}) =>
    Operation.invokeContractFunction({ contract, function: name, args, source: source?.publicKey(), ...(auth && { auth }) });
  const transfer = (from, to, value, options) => call('transfer', [addressOf(from), addressOf(to), amount(value)], options);
  const creation = () => Operation.createStellarAssetContract({ asset: Asset.native() });

  const unsigned = (source, operation, configure = () => {}) => {
    const account = new Account(source.publicKey(), String(client.account(source)?.sequence ?? 0n));
    const builder = new TransactionBuilder(account, { fee: '100', networkPassphrase: client.passphrase });
    builder.addOperation(operation).setTimeout(0);
    configure(builder);
    return builder.build();
  };
  const simulate = (source, operation) => client.server.simulateTransaction(unsigned(source, operation));
  /** Simulated, assembled, changed by `change(SorobanDataBuilder)` and signed. */
  const prepare = async (source, operation, { change, fee, signers = [] } = {}) => {
    const raw = unsigned(source, operation);
    const simulation = await client.server.simulateTransaction(raw);
    if (simulation.error) throw new Error(simulation.error);
    if (change) simulation.transactionData = change(new SorobanDataBuilder(simulation.transactionData.build()));
    if (fee) simulation.minResourceFee = fee;
    const transaction = rpc.assembleTransaction(raw, simulation).build();
    transaction.sign(source, ...signers);
    return transaction;
  };
  /** Prepares and includes the call; returns the result of the operation. */
  const applied = async (source, operation, options) => {
    const result = await client.include(await prepare(source, operation, options));
    return result.operations[0].own;
  };
  const world = { client, alice, bob, contract, call, transfer, creation, unsigned, simulate, prepare, applied };
  if (isCreated) assert.equal(await applied(client.root, creation()), 0);
  return world;
};
