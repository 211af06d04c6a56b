// Contract accounts: __check_auth by keys of both kinds, its own error in the events, nested authorization and delegates (CAP-71).

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { Address, Asset, Operation, StrKey, nativeToScVal, scValToNative, xdr } from '@stellar/stellar-sdk';
import { ACCOUNT_CODE } from '../contracts/account.mjs';
import { Credentials, addressCredentials, signaturePayload } from '../contracts/authorization.mjs';
import * as values from '../contracts/values.mjs';
import { decode, encode } from '../xdr.mjs';
import { addressOf, amount, start as startCalls } from './contract-calls.mjs';
import { keypair, xlm } from './harness.mjs';

const TRAPPED = -2;
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const ed25519Signer = (key) => ({ publicKey: Buffer.from(key.rawPublicKey()), sign: (payload) => key.sign(payload) });

/** The contract that a DiagnosticEvent names. */
const contractIn = (event) => {
  const { contractId } = xdr.DiagnosticEvent.fromXdr(event, 'base64').event;
  return StrKey.encodeContract(contractId.value ?? contractId);
};

/** With a low S, as wallets make it, or a high one. */
const p256Signer = (isHigh = false) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  return {
    publicKey: Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]),
    sign(payload) {
      const signature = sign('sha256', payload, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      const s = BigInt(`0x${signature.toString('hex', 32)}`);
      const wanted = s > P256_ORDER / 2n === isHigh ? s : P256_ORDER - s;
      return Buffer.concat([signature.subarray(0, 32), Buffer.from(wanted.toString(16).padStart(64, '0'), 'hex')]);
    },
  };
};

const signatureBy = (signer, payload) =>
  values.map({ public_key: values.bytes(signer.publicKey), signature: values.bytes(signer.sign(payload)) });

const start = async (t) => {
  const world = await startCalls(t);
  const { client, alice, bob, transfer, applied } = world;
  const [carol] = await client.create(['carol']);
  const keysOf = (signers) =>
    signers.map((signer) => (signer.publicKey instanceof Buffer ? nativeToScVal(signer.publicKey) : addressOf(signer)));
  /** Deploys a wallet that has 10 lumens; a signer is a key, or the address of an account or contract. Returns its address. */
  const deploy = async (salt, ...signers) => {
    const constructorArgs = keysOf(signers);
    const options = { address: new Address(alice.publicKey()), wasmHash: ACCOUNT_CODE, salt: Buffer.alloc(32, salt), constructorArgs };
    const creation = Operation.createCustomContract(options);
    const wallet = scValToNative((await world.simulate(alice, creation)).result.retval);
    assert.equal(await applied(alice, creation), 0);
    assert.equal(await applied(alice, transfer(alice, wallet, xlm(10))), 0);
    return wallet;
  };
  /** The entry of a simulation in wire form, valid for some ledgers. `isUpgraded`: with credentials of the second version. */
  const recorded = async (operation, isUpgraded = true) => {
    const simulation = await client.server.simulateTransaction(world.unsigned(bob, operation), undefined, undefined, isUpgraded);
    assert.equal(simulation.error, undefined);
    assert.equal(simulation.result.auth.length, 1);
    const entry = decode('SorobanAuthorizationEntry', Buffer.from(simulation.result.auth[0].toXdr('base64'), 'base64'));
    addressCredentials(entry.credentials).signatureExpirationLedger = client.net.chain.history.latest + 100;
    return entry;
  };
  const payloadOf = (entry) => signaturePayload(client.net.network, entry);
  const signed = (entry, signer) => {
    addressCredentials(entry.credentials).signature = signatureBy(signer, payloadOf(entry));
    return entry;
  };
  const withAuth = (operation, entry) =>
    Operation.invokeHostFunction({
      func: operation.body.value.hostFunction,
      auth: [xdr.SorobanAuthorizationEntry.fromXdr(encode('SorobanAuthorizationEntry', entry))],
    });
  const outcome = async (operation, entry) => {
    const { error } = await world.simulate(bob, withAuth(operation, entry));
    return error ?? applied(bob, withAuth(operation, entry));
  };
  return { ...world, carol, deploy, recorded, payloadOf, signed, withAuth, outcome };
};

test('a wallet pays by the signature of an ed25519 or of a secp256r1 key, in both versions of credentials', async (t) => {
  const { client, carol, transfer, deploy, recorded, signed, outcome } = await start(t);
  const signers = [ed25519Signer(keypair('device')), p256Signer()];
  const wallet = await deploy(1, ...signers);
  const operation = transfer(wallet, carol, xlm(1));
  const before = client.balance(carol);
  for (const signer of signers)
    for (const isUpgraded of [true, false]) assert.equal(await outcome(operation, signed(await recorded(operation, isUpgraded), signer)), 0);
  assert.equal(client.balance(carol) - before, xlm(4));
  const stored = await client.server.getSACBalance(wallet, Asset.native(), client.passphrase);
  assert.equal(stored.balanceEntry.amount, String(xlm(6)));
});

test('the error of the wallet is in the events of the simulation and of the ledger', async (t) => {
  const { client, bob, carol, contract, transfer, deploy, recorded, signed, withAuth, unsigned, outcome } = await start(t);
  const device = ed25519Signer(keypair('device'));
  const wallet = await deploy(1, device, p256Signer(true));
  const operation = transfer(wallet, carol, xlm(1));
  const foreign = withAuth(operation, signed(await recorded(operation), ed25519Signer(keypair('stranger'))));
  const { error, events } = await client.server._simulateTransaction(unsigned(bob, foreign));
  assert.match(error, /^HostError: Error\(Auth, InvalidAction\)\n\nEvent log \(newest first\):\n[^]*Error\(Contract, #1\)/);
  const told = events.map((event) => {
    const { body } = xdr.DiagnosticEvent.fromXdr(event, 'base64').event;
    return [contractIn(event), body.value.topics[1].value.value, scValToNative(body.value.data)];
  });
  const [own, host] = told;
  assert.deepEqual([own[0], own[1], host[0]], [wallet, 1, contract]);
  assert.deepEqual(host[2].slice(0, 2), ['failed account authentication with error', wallet]);

  const good = withAuth(operation, signed(await recorded(operation), device));
  const { transactionData } = await client.server.simulateTransaction(unsigned(bob, good));
  const entry = signed(await recorded(operation), ed25519Signer(keypair('stranger')));
  const data = transactionData.setResourceFee(10_000_000).build();
  const { address, nonce } = entry.credentials.addressV2;
  const nonceData = { type: 6, contractData: { contract: address, key: values.nonceKey(nonce), durability: 0 } };
  data.resources.footprint.readWrite.push(xdr.LedgerKey.fromXdr(encode('LedgerKey', nonceData)));
  const configure = (builder) => builder.setSorobanData(data);
  const { operations, meta } = await client.include(client.build(bob, [withAuth(operation, entry)], { configure }));
  assert.equal(operations[0].own, TRAPPED);
  assert.deepEqual(meta.diagnosticEvents.map(({ event }) => StrKey.encodeContract(event.contractId)), [wallet, contract]);

  const wrong = signed(await recorded(operation), device);
  wrong.credentials.addressV2.nonce += 1n;
  assert.match(await outcome(operation, wrong), /Error\(Auth, InvalidAction\)[^]*Error\(Crypto, InvalidInput\)[^]*failed ED25519/);
});

test('secp256r1: a high S is refused, as is the signature of another payload', async (t) => {
  const { carol, transfer, deploy, recorded, signed, outcome } = await start(t);
  const [high, low] = [p256Signer(true), p256Signer()];
  const wallet = await deploy(1, high, low);
  const operation = transfer(wallet, carol, xlm(1));
  assert.match(await outcome(operation, signed(await recorded(operation), high)), /failed secp256r1 verification/);
  const other = signed(await recorded(operation), low);
  other.credentials.addressV2.nonce += 1n;
  assert.match(await outcome(operation, other), /failed secp256r1 verification/);
});

test('one entry authorizes a call and those that it makes', async (t) => {
  const { client, bob, carol, contract, unsigned, deploy, recorded, signed, outcome } = await start(t);
  const device = ed25519Signer(keypair('device'));
  const [router, wallet] = [await deploy(1, device), await deploy(2, device)];
  const forward = (from) =>
    Operation.invokeContractFunction({ contract: router, function: 'forward', args: [addressOf(from), addressOf(contract), addressOf(carol), amount(xlm(2))] });
  const before = client.balance(carol);
  const entry = await recorded(forward(wallet));
  assert.equal(entry.rootInvocation.subInvocations.length, 1);
  assert.equal(values.textOf(entry.rootInvocation.subInvocations[0].function.contractFn.functionName), 'transfer');
  const partial = { ...entry, rootInvocation: { ...entry.rootInvocation, subInvocations: [] } };
  assert.match(await outcome(forward(wallet), signed(partial, device)), /Unauthorized function call/);
  assert.equal(await outcome(forward(wallet), signed(entry, device)), 0);
  const own = await recorded(forward(router));
  assert.deepEqual(own.rootInvocation.subInvocations, [], 'what a contract calls itself it authorizes');
  assert.equal(await outcome(forward(router), signed(own, device)), 0);
  assert.equal(client.balance(carol) - before, xlm(4));
  const { events } = await client.server._simulateTransaction(unsigned(bob, forward(keypair('nobody'))));
  assert.deepEqual(events.map(contractIn), [contract], 'the error is of the contract that was called last');
});

test('delegates of a wallet authenticate in its place: an account, and another wallet by its own delegate', async (t) => {
  const { client, alice, bob, carol, transfer, deploy, recorded, payloadOf, outcome } = await start(t);
  const inner = await deploy(1, bob);
  const outer = await deploy(2, alice, inner);
  const operation = transfer(outer, carol, xlm(1));
  const wire = (key) => decode('ScVal', Buffer.from(addressOf(key).toXdr('base64'), 'base64')).address;
  const before = client.balance(carol);
  /** `delegates(sign)` are those of the entry; `sign(key)` is the signature of an account. */
  const delegated = async (delegates) => {
    const entry = await recorded(operation);
    const { addressV2 } = entry.credentials;
    entry.credentials = { type: Credentials.WITH_DELEGATES, addressWithDelegates: { addressCredentials: addressV2, delegates: [] } };
    const sign = (key) => values.vec(signatureBy(ed25519Signer(key), payloadOf(entry)));
    entry.credentials.addressWithDelegates.delegates = delegates(sign).map(([key, signature, nested = []]) => ({
      address: wire(key),
      signature,
      nestedDelegates: nested.map(([nestedKey, by]) => ({ address: wire(nestedKey), signature: by, nestedDelegates: [] })),
    }));
    return outcome(operation, entry);
  };
  const byInner = (sign) => [inner, values.VOID, [[bob, sign(bob)]]];
  assert.equal(await delegated((sign) => [[alice, sign(alice)]]), 0);
  assert.equal(await delegated((sign) => [[alice, sign(alice)], byInner(sign)]), 0);
  assert.equal(client.balance(carol) - before, xlm(2));
  assert.match(await delegated((sign) => [byInner(sign), [alice, sign(alice)]]), /not in the order/);
  assert.match(await delegated((sign) => [[alice, sign(bob)]]), /signer does not belong to account/);
  assert.match(await delegated((sign) => [[bob, sign(bob)]]), /Error\(Contract, #1\)/, 'not a signer of this wallet');
  assert.match(await delegated(() => []), /Error\(Contract, #1\)/, 'nobody signed');
});
