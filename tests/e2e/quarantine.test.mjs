// Quarantine, end to end: an account that something other than fairway has changed is never leased, has a reason, and can be released. The
// other party has a channel account's key: this file opens the sealed seeds with the master key.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { Keypair, Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { payment, slowerSeconds, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';
import { unseal } from './unseal.mjs';

const ACCOUNTS = 8;
let world, service, users;
let consumed, signers, merged, missing, frozen, broken, healthy; // one account for each reason, and those that stay active

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  Object.assign(world.env, { START_TIMEOUT: '20' });
  service = await world.serve();
  users = await Promise.all([world.newAccount(), world.newAccount()]);
  [consumed, signers, merged, missing, frozen, broken, ...healthy] =
    (await world.sql('SELECT public_key FROM fairway.channel_accounts ORDER BY slot')).flat();
});
after(() => world?.stop());

const run = (...args) => world.run(...args);
const row = address => world.stateOf(address);
const becomes = (address, state) => until(async () => (await row(address))[0] === state, 20_000, `${address} is ${state}`);
const quarantine = (address, reason) => world.sql(`UPDATE fairway.channel_accounts SET state = 'quarantined',
  quarantine_reason = '${reason}' WHERE public_key = '${address}'`);
const lease = () => service.post('/v1/transactions',
  { transactionXdr: payment(world, users[0], users[1]).toXDR(), timeoutSeconds: slowerSeconds(20) });

const allSettled = () => until(async () => (await world.sql('SELECT 1 FROM fairway.lease_history WHERE settled_at IS NULL')).length === 0,
  60_000, 'every lease has ended');

async function channelKey(address) {
  const [[keyId, box]] = await world.sql(
    `SELECT key_id, encode(sealed_seed, 'hex') FROM fairway.channel_accounts WHERE public_key = '${address}'`);
  return unseal({ masterKey: fs.readFileSync(world.env.MASTER_KEY_FILE), publicKey: address, keyId, box: Buffer.from(box, 'hex'),
    networkId: crypto.createHash('sha256').update(world.passphrase).digest() });
}

/** Submits a transaction of the channel account that fairway did not sign; a user pays for it. */
const misuse = (address, ...operations) => submit(address, address, operations);

/** Submits a transaction of a user with operations of the channel account: no sequence number of the account is consumed. */
const misuseFromAfar = (address, ...operations) => submit(users[0].publicKey(), address, operations);

async function submit(source, address, operations) {
  const [payer] = users;
  const builder = new TransactionBuilder(await world.network.getAccount(source), { fee: '1000', networkPassphrase: world.passphrase });
  operations.forEach(operation => builder.addOperation(operation));
  const inner = builder.setTimeout(60).build();
  inner.sign(await channelKey(address));
  if (source === payer.publicKey())
    inner.sign(payer);
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, '1000', inner, world.passphrase);
  bump.sign(payer);
  const sent = await world.network.sendTransaction(bump);
  assert.equal(sent.status, 'PENDING', JSON.stringify(sent));
  const done = await until(async () => {
    const got = await world.network.getTransaction(sent.hash);
    return got.status !== 'NOT_FOUND' && got;
  }, 20_000, 'the misuse is in a ledger');
  assert.equal(done.status, 'SUCCESS');
}

async function refused(verb, address, reason) {
  const before = await row(address);
  const { code, out } = await run('accounts', verb, address);
  assert.equal(code, 1, out);
  assert.match(out, reason);
  assert.deepEqual(await row(address), before);
}

async function released(...addresses) {
  const { code, out } = await run('accounts', 'release', ...addresses);
  assert.equal(code, 0, out);
  for (const address of addresses) {
    const sequence = (await world.network.getAccount(address)).sequenceNumber();
    assert.match(out, new RegExp(`^${address} active, with sequence ${sequence} as of ledger \\d+$`, 'm'));
    assert.deepEqual(await row(address), ['active', '']);
  }
}

test('accounts lists all accounts by key with state, sequence and ledger, from the database alone', { timeout: 600_000 }, async () => {
  const { RPC_URL, MASTER_KEY_FILE, DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE, ...env } = world.env;
  world.env = env;
  const { code, out } = await run('accounts');
  assert.equal(code, 0, out);
  const lines = out.trim().split('\n');
  assert.equal(lines.filter(line => /^G[A-Z2-7]{55} idle +sequence \d+ as of ledger \d+$/.test(line)).length, ACCOUNTS);
  assert.deepEqual(lines, lines.toSorted());
  for (const args of [['release'], ['retire', 'G123'], ['repair', consumed]])
    assert.equal((await run('accounts', ...args)).code, 64, args.join(' '));
  world.env = { ...env, RPC_URL, MASTER_KEY_FILE, DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE };
});

test('each change that fairway did not cause quarantines the account, which is listed with its reason and not leased', { timeout: 600_000 }, async () => {
  await misuse(consumed, Operation.bumpSequence({ bumpTo: '0' }));
  await misuseFromAfar(signers, Operation.beginSponsoringFutureReserves({ sponsoredId: signers }),
    Operation.setOptions({ source: signers, signer: { ed25519PublicKey: users[1].publicKey(), weight: 1 } }),
    Operation.endSponsoringFutureReserves({ source: signers }));
  await misuseFromAfar(merged, Operation.accountMerge({ source: merged, destination: users[0].publicKey() }));
  await quarantine(missing, 'missing on the network');
  await quarantine(frozen, 'frozen by the network');
  await world.sql(`UPDATE fairway.channel_accounts SET sealed_seed = set_byte(sealed_seed, 40, get_byte(sealed_seed, 40) # 1)
    WHERE public_key = '${broken}'`);
  await Promise.all([consumed, signers, merged].map(address => becomes(address, 'quarantined')));
  const reasons = new Map([[consumed, 'its sequence number was consumed'], [signers, 'it is the source of an operation that fairway did not make'],
    [merged, 'the network removed the account'], [missing, 'missing on the network'], [frozen, 'frozen by the network'],
    [broken, 'its sealed seed does not open']]);
  // more requests than accounts: the account with the broken seed is tried, quarantined, and not leased
  const answers = await Promise.all(Array.from({ length: healthy.length + 1 }, lease));
  const leased = answers.filter(({ status }) => status === 201).map(({ json }) => json.channelAccount);
  assert.deepEqual(leased.sort(), [...healthy].sort());
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 503]);
  const { out } = await run('accounts');
  for (const [address, reason] of reasons)
    assert.match(out, new RegExp(`^${address} quarantined .* reason "${reason}`, 'm'));
  assert.equal(out.match(/ quarantined /g).length, 6);
  const { json } = await service.get('/v1/channel-accounts?state=quarantined');
  assert.deepEqual(new Set(json.items.map(item => item.publicKey)), new Set(reasons.keys()));
  const { hash, channelAccount } = answers[0].status === 201 ? answers[0].json : answers[1].json;
  assert.match((await run('accounts')).out, new RegExp(`^${channelAccount} leased .* lease ${hash} until 20..-..-..T..:..:..Z$`, 'm'));
});

test('release: only if the network confirms that it may, with the network\'s sequence number', { timeout: 600_000 }, async () => {
  await refused('release', signers, /refused: its master key alone does not control it/);
  await refused('retire', signers, /refused: its master key alone does not control it/);
  await refused('release', merged, /refused: the network has no such account; retire it/);
  const foreign = await run('accounts', 'release', users[0].publicKey());
  assert.equal(foreign.code, 1);
  assert.match(foreign.out, /refused: not an account of this pool/);
  await released(consumed, missing, frozen);
  assert.match((await run('accounts', 'release', consumed)).out, /already active/);
  await misuse(signers, Operation.setOptions({ signer: { ed25519PublicKey: users[1].publicKey(), weight: 0 } }));
  await released(signers);
});

/** A node whose first `lies` answers about this account lack it. */
async function lyingNode(lies, address) {
  const node = { asked: 0 };
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: Keypair.fromPublicKey(address).xdrAccountId() })).toXDR('base64');
  return Object.assign(node, await proxyRpc(world.localnet.url, async (call, forward) => {
    const answer = await forward();
    if (call.method === 'getLedgerEntries' && call.params.keys.includes(key) && node.asked++ < lies)
      answer.result.entries = [];
    return answer;
  }));
}

test('Z6 retire: an account that one node does not find is read again a ledger later', { timeout: 600_000 }, async () => {
  const node = await lyingNode(1, missing);
  world.env.RPC_URL = node.url;
  const { code, out } = await run('accounts', 'retire', missing);
  world.env.RPC_URL = world.localnet.url;
  node.close();
  assert.equal(code, 0, out);
  assert.match(out, /retiring; ensure-accounts merges it/, 'the network has the account, so only a merge can remove it');
  assert.ok(node.asked > 1);
  assert.deepEqual(await row(missing), ['retiring', '']);
});

test('Z6 retire: an account missing in two reads is retired; its row and its seed stay', { timeout: 600_000 }, async () => {
  const { code, out } = await run('accounts', 'retire', merged, merged);
  assert.equal(code, 0, out);
  assert.match(out, /retired: the network has no such account\n.* already retired/);
  assert.deepEqual(await row(merged), ['retired', '']);
  assert.deepEqual(await world.sql(`SELECT octet_length(sealed_seed) FROM fairway.channel_accounts WHERE public_key = '${merged}'`), [['72']]);
});

test('retire and ensure-accounts: quarantined accounts are replaced, and a leased one is merged only after its lease has ended', { timeout: 600_000 }, async () => {
  const [leased] = healthy;
  await allSettled(); // earlier leases may be about to end
  const first = await run('accounts', 'retire', consumed);
  assert.equal(first.code, 0, first.out);
  assert.match(first.out, new RegExp(`^${consumed} retiring; ensure-accounts merges it$`, 'm'));
  await Promise.all([frozen, signers, ...healthy].map(lease));
  const { code, out } = await run('accounts', 'retire', leased);
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`^${leased} retiring; ensure-accounts merges it after its lease has ended$`, 'm'));
  await refused('release', consumed, /refused: it is retiring, not quarantined/);
  const ensured = await run('ensure-accounts', String(ACCOUNTS));
  assert.equal(ensured.code, 0, ensured.out);
  assert.deepEqual((await Promise.all([leased, consumed, broken].map(row))).map(([state]) => state), ['retired', 'retired', 'quarantined']);
  const [[result, ended]] = await world.sql(`SELECT result, ledger FROM fairway.lease_history WHERE account = '${leased}' ORDER BY ledger DESC`);
  assert.equal(result, 'expired');
  const [[gone]] = await world.sql(`SELECT max(ledger) FROM fairway.provisioning WHERE kind = 'merge' AND '${leased}' = ANY (accounts)`);
  assert.ok(Number(gone) > Number(ended), `merged in ledger ${gone}, its lease ended in ${ended}`);
});
