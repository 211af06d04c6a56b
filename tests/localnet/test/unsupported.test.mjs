// What this network does not implement is refused with the protocol's code, and with a text that names it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Address,
  Asset,
  Claimant,
  LiquidityPoolAsset,
  Operation,
  SorobanDataBuilder,
  scValToNative,
  xdr,
} from '@stellar/stellar-sdk';
import { Op, Tx } from '../results.mjs';
import { Client, outcomeOf } from './harness.mjs';

const wordsOf = ({ diagnosticEventsXdr = [] }) =>
  diagnosticEventsXdr.map((event) => scValToNative(xdr.DiagnosticEvent.fromXdr(event, 'base64').event.body.v0.data));

const start = async (t) => {
  const log = [];
  const client = await Client.start(t, { log: (line) => log.push(line) });
  const [alice, bob] = await client.create(['alice', 'bob']);
  const refusal = async (operation, options) => {
    const transaction = client.build(alice, [operation], options).toXdr();
    const { result } = await client.call('sendTransaction', { transaction });
    assert.equal(result.status, 'ERROR');
    assert.equal(client.net.chain.queue.size, 0);
    return { ...outcomeOf(result.errorResultXdr), words: wordsOf(result) };
  };
  return { client, alice, bob, log, refusal };
};

test('opNOT_SUPPORTED: every operation that this network does not implement', async (t) => {
  const { bob, log, refusal } = await start(t);
  const asset = new Asset('USD', bob.publicKey());
  const native = Asset.native();
  const id = '00000000da0d57da7d4850e7fc10d2a9d0ebc731f7afb40574c03395b17d49149b91f5be';
  const pool = 'dd7b1ab831c273310ddbec6f97870aa83c2fbd78ce22aded37ecbf4f3380fac7';
  const sale = { selling: asset, buying: native, price: '2' };
  const path = { sendAsset: native, destination: bob.publicKey(), destAsset: asset };
  const unsupported = {
    pathPaymentStrictReceive: Operation.pathPaymentStrictReceive({ ...path, sendMax: '1', destAmount: '1' }),
    pathPaymentStrictSend: Operation.pathPaymentStrictSend({ ...path, sendAmount: '1', destMin: '1' }),
    manageSellOffer: Operation.manageSellOffer({ ...sale, amount: '1' }),
    manageBuyOffer: Operation.manageBuyOffer({ ...sale, buyAmount: '1' }),
    createPassiveSellOffer: Operation.createPassiveSellOffer({ ...sale, amount: '1' }),
    manageData: Operation.manageData({ name: 'key', value: 'value' }),
    setTrustLineFlags: Operation.setTrustLineFlags({ trustor: bob.publicKey(), asset, flags: { authorized: false } }),
    'flags of an account': Operation.setOptions({ setFlags: 1 }),
    'signers that are no keys': Operation.setOptions({ signer: { sha256Hash: Buffer.alloc(32), weight: 1 } }),
    allowTrust: Operation.allowTrust({ trustor: bob.publicKey(), assetCode: 'USD', authorize: true }),
    inflation: Operation.inflation(),
    createClaimableBalance: Operation.createClaimableBalance({ asset: native, amount: '1', claimants: [new Claimant(bob.publicKey())] }),
    claimClaimableBalance: Operation.claimClaimableBalance({ balanceId: id }),
    revokeSponsorship: Operation.revokeAccountSponsorship({ account: bob.publicKey() }),
    clawback: Operation.clawback({ asset, from: bob.publicKey(), amount: '1' }),
    clawbackClaimableBalance: Operation.clawbackClaimableBalance({ balanceId: id }),
    liquidityPoolDeposit: Operation.liquidityPoolDeposit({
      liquidityPoolId: pool,
      maxAmountA: '1',
      maxAmountB: '1',
      minPrice: '1',
      maxPrice: '1',
    }),
    liquidityPoolWithdraw: Operation.liquidityPoolWithdraw({ liquidityPoolId: pool, amount: '1', minAmountA: '1', minAmountB: '1' }),
    'changeTrust for shares of a liquidity pool': Operation.changeTrust({ asset: new LiquidityPoolAsset(native, asset, 30) }),
  };
  for (const [name, operation] of Object.entries(unsupported)) {
    await t.test(name, async () => {
      const { code, operations, words } = await refusal(operation);
      assert.deepEqual([code, operations], [Tx.FAILED, [{ any: Op.NOT_SUPPORTED }]]);
      assert.deepEqual(words, [`not implemented by this local network: ${name}`]);
      assert.ok(log.at(-1).endsWith(`, not implemented by this local network: ${name}`), log.at(-1));
    });
  }
});

test('a refusal for any other reason has no diagnostic event', async (t) => {
  const { bob, refusal } = await start(t);
  const { words } = await refusal(Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount: '1' }), {
    sequence: 1n,
  });
  assert.deepEqual(words, []);
});

test('txNOT_SUPPORTED: contract calls that this network does not implement, in simulation and at submission', async (t) => {
  const { client, alice, refusal } = await start(t);
  const wasm = xdr.HostFunction.hostFunctionTypeUploadContractWasm(Buffer.from([0]));
  const custom = { address: new Address(alice.publicKey()), wasmHash: Buffer.alloc(32) };
  const soroban = [
    ['uploading contract code', Operation.invokeHostFunction({ func: wasm, auth: [] })],
    ["contracts other than assets' and the built-in account", Operation.createCustomContract(custom)],
    ['extendFootprintTtl', Operation.extendFootprintTtl({ extendTo: 100 })],
    ['restoreFootprint', Operation.restoreFootprint({})],
  ];
  for (const [name, operation] of soroban) {
    const configure = (builder) => builder.setSorobanData(new SorobanDataBuilder().build());
    const { code, words } = await refusal(operation, { configure });
    assert.equal(code, Tx.NOT_SUPPORTED, name);
    assert.deepEqual(words, [`not implemented by this local network: ${name}`]);
    const { error } = await client.server.simulateTransaction(client.build(alice, [operation], { configure, unsigned: true }));
    assert.equal(error, `not implemented by this local network: ${name}`);
  }
});
