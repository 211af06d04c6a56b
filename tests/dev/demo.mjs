// `make demo`: sends one payment, from lease to confirmation, through the fairway that `make run` started; then one more in one call.
import fs from 'node:fs';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { signToken } from '../e2e/token.mjs';
import { transactionToSign } from './check.mjs';
import { authorizedTransfer, createContract } from './native-contract.mjs';
import { connect, fundIfMissing, whatRuns } from './network.mjs';

const TRIES = 5;
const HIGHEST_FEE = 10_000; // of the inner transaction, in stroops; the fee bump pays what is charged
// The passphrase is this client's own constant: no answer decides for which network the user signs.
const { api, rpc: rpcUrl, passphrase, clientSeedFile } = whatRuns('make demo');
const client = clientSeedFile && Keypair.fromSecret(fs.readFileSync(clientSeedFile, 'utf8').trim());
const network = connect(rpcUrl);

let number = 0;
const step = text => console.log(`\n${++number}. ${text}`);
const show = (name, value) => console.log(`   ${name.padEnd(16)} ${value}`);

/** Repeats after a 503, as each client should. Each try has a token of its own; key: what the tries have in common, of a lease. */
async function call(method, path, body, key) {
  const sent = body && JSON.stringify(body);
  for (let tries = 1; ; tries++) {
    const token = client && signToken(client, method, path, sent, { claims: { idempotencyKey: key } });
    const answer = await fetch(api + path, {
      method,
      headers: { ...(token && { authorization: `Bearer ${token}` }), ...(key && { 'idempotency-key': key }),
        ...(sent && { 'content-type': 'application/json' }) },
      body: sent,
    });
    const json = await answer.json();
    if (answer.ok)
      return json;
    if (answer.status !== 503 || tries === TRIES)
      throw new Error(`${method} ${path}: ${answer.status} ${json.code}: ${json.detail ?? json.title}`);
    await new Promise(wake => setTimeout(wake, 1000 * answer.headers.get('retry-after')));
  }
}
const pool = async () => {
  const { accounts } = await call('GET', '/v1/pool');
  return `${accounts.idle} idle, ${accounts.leased} leased`;
};

step('Friendbot creates two accounts, a user and a shop');
const user = Keypair.random(), shop = Keypair.random();
await Promise.all([fundIfMissing(rpcUrl, user.publicKey()), fundIfMissing(rpcUrl, shop.publicKey())]);
show('user', user.publicKey());
show('shop', shop.publicKey());
show('pool', await pool());

step('The wallet backend builds the payment with the official SDK. The source of the operation is the user');
const draft = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: passphrase })
  .addOperation(Operation.payment({ source: user.publicKey(), destination: shop.publicKey(), asset: Asset.native(), amount: '25' }))
  .setTimeout(120)
  .build();
show('transactionXdr', draft.toXDR().slice(0, 64) + '...');

step('POST /v1/transactions: fairway leases a channel account, makes it the source of the transaction, and signs');
const lease = await call('POST', '/v1/transactions', { transactionXdr: draft.toXDR() }, crypto.randomUUID());
show('channelAccount', lease.channelAccount);
show('sequence', lease.sequence);
show('hash', lease.hash);
show('maxTime', new Date(Number(lease.maxTime) * 1000).toISOString());
show('pool', await pool());

step('The wallet backend checks that this is its own payment, and the user signs it, as the source of the payment');
const inner = transactionToSign(draft, lease,
  { passphrase, own: [user.publicKey()], latestMaxTime: Number(draft.timeBounds.maxTime), highestFee: HIGHEST_FEE });
inner.sign(user);
show('signatures', inner.signatures.length);

step('POST /v1/fee-bumps: the distribution account pays the fee, because channel accounts hold 0 XLM');
const bump = await call('POST', '/v1/fee-bumps', { transactionXdr: inner.toXDR() });
show('feeAccount', bump.feeAccount);
show('fee', `${bump.fee} stroops`);
show('hash', bump.hash);

step('The wallet backend submits the fee bump to the network');
const sent = await network.sendTransaction(TransactionBuilder.fromXDR(bump.transactionXdr, passphrase));
show('status', sent.status);
if (sent.status === 'ERROR')
  throw new Error(`refused: ${JSON.stringify(sent.errorResult)}`);

step('GET /v1/transactions/{hash}?wait=60 returns when a ledger confirms the transaction');
const status = await call('GET', `/v1/transactions/${lease.hash}?wait=60`);
show('status', `${status.status}, ${status.resultCode}`);
show('ledger', status.ledger);

step('The database transaction that committed this ledger also released the channel account');
const { items } = await call('GET', '/v1/channel-accounts?limit=1000');
const account = items.find(item => item.publicKey === lease.channelAccount);
show('state', account.state);
show('sequence', `${account.sequence} (known from ledger ${account.sequenceLedger})`);
show('pool', await pool());
if (status.status !== 'confirmed' || account.state !== 'idle')
  throw new Error('the payment was not confirmed, or its channel account not released');

step('In one call: the user signs an authorization and no transaction. First, a new network gets the native asset\'s contract');
await createContract(network, passphrase, shop);
const authorized = await authorizedTransfer(network, passphrase, user, shop, 250_000_000n);
show('func', authorized.func.slice(0, 64) + '...');
show('auth', authorized.auth[0].slice(0, 64) + '...');

step('POST /v1/submissions?wait=60: fairway simulates, leases, signs, pays, and sends until a ledger decides');
const end = await call('POST', '/v1/submissions?wait=60', authorized, crypto.randomUUID());
show('status', `${end.status}, ${end.resultCode}`);
show('ledger', end.ledger);
show('feeCharged', `${end.feeCharged} stroops`);
show('pool', await pool());
if (end.status !== 'confirmed')
  throw new Error('the call was not confirmed');
