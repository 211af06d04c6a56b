// The network upgrades to protocol 30 under load (CAP-88: close times in milliseconds; CAP-87: the costs of ML-DSA signatures), and closes a
// ledger every 600 ms from then on; some drop their sets (CAP-83). Muxed contracts are paid (CAP-84), by strangers and by clients. Then its RPC, and later its validators, name a protocol that this version does not know.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Account, Asset, Operation, SorobanDataBuilder, StrKey, TransactionBuilder, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { signaturePayload } from '../localnet/contracts/authorization.mjs';
import { assetContractId } from '../localnet/contracts/contracts.mjs';
import * as values from '../localnet/contracts/values.mjs';
import { decode, encode } from '../localnet/xdr.mjs';
import { networkId, sha256 } from '../oracle/envelope.mjs';
import { assertSettled, payThrough, payment, sleep, startWorld, until } from './harness.mjs';

const ACCOUNTS = 20;
const CLIENTS = 6;
const WARNING = /level=warn msg="the network has or will have a protocol newer than this build.*protocol=(\d+) known=30/g;
const TIMEOUT = { timeout: 600_000 };
let world, services, payers;
const underLoad = [];

const control = async (method, params = {}) => (await (await fetch(world.localnet.url, { method: 'POST',
  headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })).json()).result;
const warnings = () => services.flatMap(({ log }) => [...log.matchAll(WARNING)].map(([, protocol]) => Number(protocol)));

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 1000 });
  world.env.LEDGER_SECONDS = '600ms';
  payers = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, payers[1]);
  services = [await world.serve(), await world.serve({ LEDGER_SECONDS: '0.6' })];
});
after(() => world?.stop());

/** How many ledgers share a second with the one before. On a busy machine they are further apart. */
const inTheSameSecond = async () =>
  Number((await world.sql('SELECT count(*) - count(DISTINCT close_time) FROM fairway.ledgers WHERE protocol = 30'))[0][0]);

/** Pays until `over()`; each lease ends as its ledger says. */
async function pay(client, over) {
  const [from, to] = payers, service = services[client % services.length];
  while (!over()) {
    const { hash } = await payThrough(world, service, from, to);
    const { json } = await service.get(`/v1/transactions/${hash}?wait=60`);
    assert.equal(json.status, 'confirmed', JSON.stringify(json));
    underLoad.push(json.ledger);
  }
}

test('DR4 an upgrade to protocol 30 under load: every lease ends with its ledger, before, at and after it', TIMEOUT, async () => {
  let over = false;
  const abandoned = (await services[0].post('/v1/transactions', { transactionXdr: payment(world, ...payers).toXDR(),
    timeoutSeconds: 30 })).json;
  world.localnet.faults.configure({ seed: '30', dropLedger: 0.2 });
  const clients = Array.from({ length: CLIENTS }, (_, client) => pay(client, () => over));
  await until(() => underLoad.length > 0, 20_000, 'leases end before the upgrade');
  await sleep(4000);
  await control('localnet_upgrade', { protocol: 30, ledgerMs: 600 });
  const upgraded = Number(await until(async () => (await world.sql('SELECT sequence FROM fairway.ledgers WHERE protocol = 30 ORDER BY 1 LIMIT 1'))[0],
    20_000, 'the upgrade is committed'));
  await until(async () => (await world.cursor()) >= upgraded + 30 && await inTheSameSecond() >= 5 && underLoad.some(ledger => ledger > upgraded)
    && world.localnet.faults.fired.dropLedger >= 5, 60_000, 'thirty ledgers of 600 ms');
  over = true;
  assert.ok(world.localnet.faults.fired.dropLedger >= 5, 'ledgers dropped their sets');
  await Promise.all(clients);
  const after = underLoad.filter(ledger => ledger > upgraded).length;
  assert.ok(after > 0 && after < underLoad.length, `${underLoad.length} leases, ${after} of them after the upgrade`);
  const { json } = await services[0].get(`/v1/transactions/${abandoned.hash}?wait=60`);
  assert.equal(json.status, 'expired');
  assert.ok(await inTheSameSecond() >= 5, 'ledgers share a second with the one before');
  assert.deepEqual(await world.sql(`SELECT count(*) FROM fairway.ledgers g JOIN fairway.lease_history l ON l.ledger = g.sequence
    WHERE l.result = 'expired' AND g.close_time <= l.max_time`), [['0']]);
  assert.deepEqual(warnings(), []);
  await assertSettled(assert, world, services[0], ACCOUNTS);
});

const STROOPS = 1_000n;
const W = values.address({ type: values.Address.MUXED_CONTRACT, muxedContract: { id: 84n, contractId: Buffer.alloc(32, 7) } });

/** {func, auth}: `from` pays the muxed contract by a transfer, or by minting its own asset. The SDK's classes do not have such an address yet. */
async function payMuxedContract(from, functionName, asset) {
  const network = { id: networkId(world.passphrase) }, sender = { type: 0, accountId: { type: 0, ed25519: from.rawPublicKey() } };
  const invokeContract = { contractAddress: values.contractAddress(assetContractId(network, asset.toXdrObject().toXdrObject())),
    functionName: values.symbol(functionName).sym, args: [...(functionName === 'mint' ? [] : [values.address(sender)]), W, values.i128(STROOPS)] };
  const credentials = { address: sender, nonce: BigInt(Date.now()), signature: values.VOID,
    signatureExpirationLedger: await world.cursor() + 100 };
  const entry = { credentials: { type: 1, address: credentials },
    rootInvocation: { function: { type: 0, contractFn: invokeContract }, subInvocations: [] } };
  const bytes = value => ({ type: values.Type.BYTES, bytes: value });
  credentials.signature = values.vec(values.map({ public_key: bytes(from.rawPublicKey()),
    signature: bytes(from.sign(signaturePayload(network, entry))) }));
  return { func: encode('HostFunction', { type: 0, invokeContract }).toString('base64'),
    auth: [encode('SorobanAuthorizationEntry', entry).toString('base64')] };
}

/** A stranger's transaction, which fails: nobody can mint the native asset. Returns its hash. */
async function failToMint(stranger) {
  const i128 = nativeToScVal(STROOPS, { type: 'i128' }), id = networkId(world.passphrase);
  const draft = new TransactionBuilder(new Account(stranger.publicKey(), (await world.network.getAccount(stranger.publicKey())).sequenceNumber()),
    { fee: '1000000', networkPassphrase: world.passphrase })
    .addOperation(Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'mint', args: [i128, i128] }))
    .setSorobanData(new SorobanDataBuilder().setResources(1_000_000, 1000, 1000).setResourceFee(1_000_000n).build()).setTimeout(0).build();
  const { v1 } = decode('TransactionEnvelope', Buffer.from(draft.toXDR(), 'base64'));
  const { invokeContract } = v1.tx.operations[0].body.invokeHostFunctionOp.hostFunction;
  invokeContract.args[0] = W;
  v1.tx.ext.sorobanData.resources.footprint.readOnly = [{ type: 6, contractData:
    { contract: invokeContract.contractAddress, key: values.INSTANCE_KEY, durability: 1 } }];
  const hash = sha256(id, Buffer.from([0, 0, 0, 2]), encode('Transaction', v1.tx));
  v1.signatures = [{ hint: stranger.signatureHint(), signature: stranger.sign(hash) }];
  const sent = await control('sendTransaction', { transaction: encode('TransactionEnvelope', { type: 2, v1 }).toString('base64') });
  assert.equal(sent.status, 'PENDING', JSON.stringify(sent));
  return hash.toString('hex');
}

test('DR4 muxed contracts are paid: ingestion goes on, also when a stranger fails to, and a client pays one', TIMEOUT, async () => {
  world.localnet.faults.configure({ dropLedger: 0 });
  const hash = await failToMint(payers[1]);
  const { ledger } = await until(async () => {
    const found = await control('getTransaction', { hash });
    return found.status !== 'NOT_FOUND' && found;
  }, 20_000, 'the stranger is in a ledger');
  assert.equal((await control('getTransaction', { hash })).status, 'FAILED');
  await until(async () => await world.cursor() >= ledger, 20_000, 'its ledger is committed');
  const issued = new Asset('USD', payers[0].publicKey()), holder = StrKey.encodeContract(W.address.muxedContract.contractId);
  await createContract(world.network, world.passphrase, payers[1], issued);
  for (const [functionName, asset] of [['transfer', Asset.native()], ['mint', issued]]) {
    const { status, json } = await services[0].request('POST', '/v1/submissions?wait=30', await payMuxedContract(payers[0], functionName, asset),
      { 'idempotency-key': functionName });
    assert.deepEqual([status, json.status], [200, 'confirmed'], JSON.stringify(json));
    assert.equal((await world.network.getSACBalance(holder, asset, world.passphrase)).balanceEntry.amount, String(STROOPS));
  }
  await assertSettled(assert, world, services[0], ACCOUNTS);
});

test('a newer protocol of the node behind the RPC, or of a vote, is logged once by each replica and in the metrics', TIMEOUT, async () => {
  const seen = async service => (await service.metrics()).fairway_protocol_seen;
  const leader = services.find(({ log }) => log.includes('this replica leads ingestion'));
  assert.equal((await leader.metrics()).fairway_protocol_known, 30);
  assert.ok(await seen(leader) <= 30);
  await control('localnet_upgrade', { supportedProtocol: 31 });
  await leader.kill();
  services = services.filter(service => service !== leader);
  await until(async () => await seen(services[0]) === 31, 20_000, 'the next leader asks the node');
  services.push(await world.serve());
  assert.equal(await seen(services[1]), 31);
  await until(() => warnings().length === 2, 5000, 'it is logged');
  assert.deepEqual(warnings(), [31, 31]);
  await control('localnet_upgrade', { protocol: 32 });
  await until(async () => await seen(services[0]) === 32, 20_000, 'the vote is seen');
  await until(() => warnings().includes(32), 5000, 'it is logged');
  assert.equal(warnings().filter(protocol => protocol === 32).length, 1);
});
