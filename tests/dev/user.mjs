// A user of the network of `make run`, for the examples of the pages. The seed is in run/user.seed; a new user's account is funded.
//
//   user.mjs            prints the user's address
//   user.mjs pay        prints a payment, for POST /v1/transactions
//   user.mjs sign FILE  checks the answer to it, signs, and prints what is signed, for POST /v1/fee-bumps and POST /v1/submissions
//   user.mjs send FILE  sends the fee bump in FILE to the RPC
//   user.mjs call       prints a contract call that the user has authorized, for POST /v1/submissions
import fs from 'node:fs';
import path from 'node:path';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { transactionToSign } from './check.mjs';
import { authorizedTransfer, createContract } from './native-contract.mjs';
import { connect, fundIfMissing, whatRuns } from './network.mjs';

const SECONDS = 240;
const [command, file] = process.argv.slice(2);
const read = name => fs.readFileSync(name, 'utf8').trim();
const print = object => console.log(JSON.stringify(object));
const { folder, rpc, passphrase } = whatRuns('user.mjs');
const network = connect(rpc), seed = path.join(folder, 'user.seed');
if (!fs.existsSync(seed))
  fs.writeFileSync(seed, `${Keypair.random().secret()}\n`, { mode: 0o600, flag: 'wx' });
const user = Keypair.fromSecret(read(seed)), shop = Keypair.master(passphrase); // the shop: the account that each network begins with
await fundIfMissing(rpc, user.publicKey());

const draft = new TransactionBuilder(new Account(user.publicKey(), '0'), { fee: '100', networkPassphrase: passphrase })
  .addOperation(Operation.payment({ source: user.publicKey(), destination: shop.publicKey(), asset: Asset.native(), amount: '25' }))
  .setTimeout(0).build();
const commands = {
  pay: () => print({ transactionXdr: draft.toXDR(), timeoutSeconds: SECONDS }),
  sign: () => {
    const leased = transactionToSign(draft, JSON.parse(read(file)),
      { passphrase, own: [user.publicKey()], latestMaxTime: Date.now() / 1000 + SECONDS + 10, highestFee: 10_000 });
    leased.sign(user);
    print({ transactionXdr: leased.toXDR() });
  },
  send: async () => print(await network.sendTransaction(TransactionBuilder.fromXDR(JSON.parse(read(file)).transactionXdr, passphrase))),
  call: async () => {
    await createContract(network, passphrase, user);
    print(await authorizedTransfer(network, passphrase, user, shop, 250_000_000n));
  },
};
await (commands[command] ?? (() => console.log(user.publicKey())))();
