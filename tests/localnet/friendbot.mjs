// Friendbot: creates and funds accounts on request, with real transactions of the root account. All requests that wait when a
// ledger is nominated share one transaction.

import { Account, Keypair, Operation, StrKey, TransactionBuilder } from '@stellar/stellar-sdk';
import { accountKey } from './entries.mjs';
import { hex } from './network.mjs';
import { Status } from './queue.mjs';
import { decodeTransaction } from './transaction.mjs';

export const STARTING_BALANCE = '10000';
const MAX_OPERATIONS = 100;

/** The request cannot be fulfilled; `message` goes to the client. */
export class FriendbotRefusal extends Error {}

export class Friendbot {
  #chain;
  #network;
  #root;
  #waiting = [];
  #batch = null;

  constructor(chain, network) {
    this.#chain = chain;
    this.#network = network;
    this.#root = Keypair.fromSecret(network.root.secret);
    chain.on('nominating', () => this.#submitBatch());
    chain.on('closed', ({ items }) => this.#settleBatch(items));
  }

  /** The number of requests that wait for a ledger. */
  get waiting() {
    return this.#waiting.length;
  }

  /** Resolves to the hash of the transaction that created the account, once it is in a ledger. */
  fund(address) {
    if (!StrKey.isValidEd25519PublicKey(address ?? '')) throw new FriendbotRefusal('addr is not a public key (G...)');
    const id = hex(StrKey.decodeEd25519PublicKey(address));
    this.#refuseExisting(id);
    return new Promise((resolve, reject) => this.#waiting.push({ address, id, resolve, reject }));
  }

  #refuseExisting(id) {
    if (this.#chain.state.peek(accountKey(id)))
      throw new FriendbotRefusal('account already funded (createAccountAlreadyExist)');
  }

  #submitBatch() {
    if (this.#batch) return;
    this.#waiting = this.#waiting.filter((request) => this.#isStillNeeded(request));
    if (this.#waiting.length === 0) return;
    const requests = this.#waiting.splice(0, MAX_OPERATIONS);
    const addresses = new Set(requests.map(({ address }) => address));
    const transaction = this.#build([...addresses]);
    const { status } = this.#chain.submit(transaction);
    if (status === Status.PENDING) this.#batch = { requests, hash: transaction.hashHex };
    else this.#waiting.unshift(...requests); // the root account was used elsewhere; the next ledger may work
  }

  #build(addresses) {
    const { sequence } = this.#chain.state.peek(accountKey(this.#network.root.id));
    const builder = new TransactionBuilder(new Account(this.#network.root.publicKey, String(sequence)), {
      fee: String(this.#chain.head.header.baseFee),
      networkPassphrase: this.#network.passphrase,
    });
    for (const destination of addresses)
      builder.addOperation(Operation.createAccount({ destination, startingBalance: STARTING_BALANCE }));
    const transaction = builder.setTimeout(0).build();
    transaction.sign(this.#root);
    return decodeTransaction(Buffer.from(transaction.toXdr(), 'base64'), this.#network);
  }

  /** A batch fails as a whole if one of its accounts was created meanwhile; then each request is retried. */
  #settleBatch(items) {
    const batch = this.#batch;
    const item = batch && items.find(({ transaction }) => transaction.hashHex === batch.hash);
    if (!item) return;
    this.#batch = null;
    for (const request of batch.requests) {
      if (item.outcome.ok) request.resolve(batch.hash);
      else this.#waiting.push(request);
    }
  }

  #isStillNeeded(request) {
    try {
      this.#refuseExisting(request.id);
      return true;
    } catch (refusal) {
      request.reject(refusal);
      return false;
    }
  }
}
