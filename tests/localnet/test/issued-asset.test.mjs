// The contract of an issued asset: its issuer mints, accounts hold it by trust lines, contracts as contract data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Asset, Operation, StrKey, scValToNative, xdr } from '@stellar/stellar-sdk';
import { assetContractId } from '../contracts/contracts.mjs';
import { encode } from '../xdr.mjs';
import { addressOf, amount, start as startCalls } from './contract-calls.mjs';

const somewhere = StrKey.encodeContract(Buffer.alloc(32, 7));

/** Bob issues; alice trusts him up to 50 units. */
const start = async (t) => {
  const world = await startCalls(t);
  const { client, alice, bob, applied } = world;
  const asset = new Asset('USD', bob.publicKey());
  const contract = asset.contractId(client.passphrase);
  await client.include(client.build(alice, [Operation.changeTrust({ asset, limit: '0.000005' })]));
  assert.equal(await applied(alice, Operation.createStellarAssetContract({ asset })), 0);
  const call = (name, ...args) => Operation.invokeContractFunction({ contract, function: name, args });
  const mint = (to, units) => call('mint', addressOf(to), amount(units));
  const transfer = (from, to, units) => call('transfer', addressOf(from), addressOf(to), amount(units));
  const read = async (name, ...args) => scValToNative((await world.simulate(alice, call(name, ...args))).result.retval);
  const error = async (source, operation) => (await world.simulate(source, operation)).error;
  return { ...world, asset, contract, mint, transfer, read, error };
};

test('the issuer mints to accounts and contracts; holders transfer; what goes back to the issuer is burned', async (t) => {
  const { client, alice, bob, asset, contract, mint, transfer, read, prepare } = await start(t);
  assert.equal(StrKey.encodeContract(assetContractId(client.net.network, asset.toXdrObject().toXdrObject())), contract);
  const name = `USD:${bob.publicKey()}`;
  assert.deepEqual([await read('name'), await read('symbol'), await read('decimals')], [name, 'USD', 7]);
  const moved = async (source, operation) => {
    const { status, meta } = await client.include(await prepare(source, operation));
    assert.equal(status, 'SUCCESS');
    const { topics, data } = meta.operations[0].events[0].body.v0;
    return [...topics, data].map((value) => scValToNative(xdr.ScVal.fromXdr(encode('ScVal', value))));
  };
  assert.deepEqual(await moved(bob, mint(alice, 40n)), ['mint', alice.publicKey(), name, 40n]);
  assert.deepEqual(await moved(bob, mint(somewhere, 3n)), ['mint', somewhere, name, 3n]);
  assert.deepEqual(await moved(alice, transfer(alice, somewhere, 4n)), ['transfer', alice.publicKey(), somewhere, name, 4n]);
  assert.deepEqual(await moved(bob, transfer(bob, alice, 5n)), ['mint', alice.publicKey(), name, 5n]);
  assert.deepEqual(await moved(alice, transfer(alice, bob, 6n)), ['burn', alice.publicKey(), name, 6n]);
  assert.deepEqual([await read('balance', addressOf(alice)), await read('balance', addressOf(somewhere))], [35n, 7n]);
  assert.equal((await client.server.getTrustline(alice.publicKey(), asset)).balance, 35n);
  assert.equal(await read('balance', addressOf(bob)), 2n ** 63n - 1n);
});

test('its refusals: another minter, no trust line, a full one, too little', async (t) => {
  const { client, alice, bob, mint, transfer, error, simulate } = await start(t);
  const [carol] = await client.create(['carol']);
  const { result } = await simulate(carol, mint(alice, 1n));
  assert.equal(scValToNative(xdr.ScVal.scvAddress(result.auth[0].credentials.value.address)), bob.publicKey(), 'the issuer has to sign');
  assert.match(await error(bob, mint(carol, 1n)), /Error\(Contract, #13\)[^]*trustline entry is missing/);
  assert.match(await error(bob, mint(alice, 51n)), /Error\(Contract, #10\)[^]*allowed range, 0, 50, 51/);
  assert.match(await error(alice, transfer(alice, somewhere, 1n)), /Error\(Contract, #10\)[^]*allowed range, 0, 50, -1/);
  assert.match(await error(bob, mint(alice, -1n)), /Error\(Contract, #8\)/);
});
