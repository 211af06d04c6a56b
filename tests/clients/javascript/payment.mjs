// One payment: a lease, the check of what it is, the user's signature, and the submission, which ends when a ledger has decided.
//   FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... node payment.mjs KEY DESTINATION AMOUNT
// KEY is this payment's own, such as an order number: run again with the same key until the end of the next day (UTC), it pays nothing
// twice, unless fairway's database has lost leases.
import fs from 'node:fs';
import { Account, Asset, Keypair, Networks, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { transactionToSign } from '../../dev/check.mjs';
import { connect } from './fairway.mjs';

const PASSPHRASE = process.env.NETWORK_PASSPHRASE ?? Networks.TESTNET; // a constant of this program, no answer's
const SECONDS = 120, HIGHEST_FEE = 10_000, MAX_FEE = '100000'; // of the inner transaction; of the bid
const [key, destination, amount] = process.argv.slice(2);
const user = Keypair.fromSecret(fs.readFileSync(process.env.USER_SEED_FILE, 'utf8').trim());
const call = connect();

// The operation has its own source. The transaction's source and sequence number are placeholders.
const draft = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: PASSPHRASE })
  .addOperation(Operation.payment({ source: user.publicKey(), destination, asset: Asset.native(), amount }))
  .setTimeout(0).build();

const lease = await call('POST', '/v1/transactions', { transactionXdr: draft.toXDR(), timeoutSeconds: SECONDS, reference: key }, key);
const latestMaxTime = Math.floor(Date.now() / 1000) + SECONDS + 10; // clocks differ
const transaction = transactionToSign(draft, lease,
  { passphrase: PASSPHRASE, own: [user.publicKey()], latestMaxTime, highestFee: HIGHEST_FEE });
transaction.sign(user);

let end = await call('POST', '/v1/submissions?wait=60', { transactionXdr: transaction.toXDR(), maxFee: MAX_FEE });
while (end.status === 'pending' && !end.rejected)
  end = await call('GET', `/v1/transactions/${lease.hash}?wait=60`);
console.log(JSON.stringify(end));
process.exitCode = end.status === 'confirmed' ? 0 : 1;
