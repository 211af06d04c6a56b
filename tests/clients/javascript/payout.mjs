// Payouts of a file, each once, however often this program crashes. Each line of the file is: ID DESTINATION AMOUNT
//   FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... node payout.mjs FILE
// FILE.state has the cursor, and of each payout its lease and what became of it. What can never be included (expired, superseded) it tries
// again. What has failed, and what is to be looked up elsewhere (consumed), it leaves to a person. When fairway's database has lost a lease, it
// ends with an error: look the hash up on the network.
import fs from 'node:fs';
import { Account, Asset, Keypair, Networks, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { transactionToSign } from '../../dev/check.mjs';
import { connect } from './fairway.mjs';

const PASSPHRASE = process.env.NETWORK_PASSPHRASE ?? Networks.TESTNET; // a constant of this program, no answer's
const SECONDS = 120, TRIES = 3, IN_FLIGHT = 10; // IN_FLIGHT: at most what GET /v1/info allows
const [file] = process.argv.slice(2), place = `${file}.state`;
const payer = Keypair.fromSecret(fs.readFileSync(process.env.USER_SEED_FILE, 'utf8').trim());
const payouts = fs.readFileSync(file, 'utf8').trim().split('\n').map(line => line.split(' '));
const call = connect(), started = new Set();

// payouts: by id the number of the try, the hash of its lease, and its end once there is one
const state = fs.existsSync(place) ? JSON.parse(fs.readFileSync(place, 'utf8')) : { cursor: '0', payouts: {} };
const of = id => (state.payouts[id] ??= { number: 1 });
function store() {
  fs.writeFileSync(`${place}.new`, JSON.stringify(state), { flush: true });
  fs.renameSync(`${place}.new`, place);
}
function take(id, { status, hash, resultCode }) {
  const { number } = of(id);
  const tries = ['expired', 'superseded'].includes(status) && number < TRIES;
  state.payouts[id] = tries ? { number: number + 1 } : { number, end: status, hash, resultCode };
}

/** Takes the ends after the cursor, and stores them with the next cursor in one step. Each has its payout and try as its reference. */
async function reconcile(wait) {
  const { transactions, next } = await call('GET', `/v1/transactions?after=${state.cursor}&wait=${wait}`);
  for (const end of transactions) {
    const [id, number] = end.reference?.split('#') ?? [];
    if (payouts.some(([known]) => known === id) && Number(number) === of(id).number)
      take(id, end);
  }
  state.cursor = next;
  store();
  return transactions.length;
}

/** Leases and submits a try. After a crash the same key and body get the same lease, and what has not ended is submitted again. */
async function start(id, destination, amount) {
  const key = `${id}#${of(id).number}`;
  if (of(id).hash) { // of an earlier run
    const end = await call('GET', `/v1/transactions/${of(id).hash}`);
    if (end.status !== 'pending')
      return take(id, end);
  }
  const draft = new TransactionBuilder(new Account(payer.publicKey(), '0'), { fee: '100', networkPassphrase: PASSPHRASE })
    .addOperation(Operation.payment({ source: payer.publicKey(), destination, asset: Asset.native(), amount })).setTimeout(0).build();
  const lease = await call('POST', '/v1/transactions', { transactionXdr: draft.toXDR(), timeoutSeconds: SECONDS, reference: key }, key);
  if (lease.status !== 'pending' || Number(lease.maxTime) < Date.now() / 1000)
    return; // the cursor brings its end
  of(id).hash = lease.hash;
  store();
  const transaction = transactionToSign(draft, lease,
    { passphrase: PASSPHRASE, own: [payer.publicKey()], latestMaxTime: Math.floor(Date.now() / 1000) + SECONDS + 10, highestFee: 10_000 });
  transaction.sign(payer);
  await call('POST', '/v1/submissions', { transactionXdr: transaction.toXDR() });
  started.add(key);
}

while (await reconcile(0) > 0); // first of all what has ended while this program was away
for (let open; (open = payouts.filter(([id]) => !of(id).end)).length > 0; await reconcile(10))
  await Promise.all(open.slice(0, IN_FLIGHT).filter(([id]) => !started.has(`${id}#${of(id).number}`)).map(payout => start(...payout)));
const ends = payouts.map(([id]) => ({ id, ...of(id) }));
console.log(JSON.stringify(ends));
process.exitCode = ends.every(({ end }) => end === 'confirmed') ? 0 : 1;
