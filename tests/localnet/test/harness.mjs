// A network in this process whose ledgers are closed by hand and whose clock moves only on request, and a client of it that builds
// with the SDK and uses HTTP.

import { Account, Asset, Keypair, Operation, TransactionBuilder, rpc } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet.mjs';
import { sha256 } from '../network.mjs';
import { decode } from '../xdr.mjs';

const XLM = 10_000_000n;
export const START_MS = 1_800_000_000_000;

export const keypair = (name) => Keypair.fromRawEd25519Seed(sha256(`test ${name}`));

/** The outcome of an envelope: the outer code, that of the inner transaction, and of each operation `any` or `own` code. */
export const outcomeOf = (resultXdr) => {
  const { feeCharged, result } = decode('TransactionResult', Buffer.from(resultXdr, 'base64'));
  const inner = result.innerResultPair?.result;
  const operations = (inner?.result.results ?? result.results ?? []).map((operation) => {
    if (operation.code !== 0) return { any: operation.code };
    const { type, ...arms } = operation.tr;
    return { own: Object.values(arms)[0].code };
  });
  return { code: result.code, inner: inner?.result.code, operations, feeCharged, innerFeeCharged: inner?.feeCharged };
};

export const payment = (destination, amount = '1', source) =>
  Operation.payment({ destination: destination.publicKey(), asset: Asset.native(), amount, source: source?.publicKey() });

export class Client {
  #clock;

  /** Stops with the test. `options` are those of startLocalnet. */
  static async start(t, options = {}) {
    const clock = { now: START_MS };
    const net = await startLocalnet({ ledgerMs: 0, clock: () => clock.now, ...options });
    t.after(() => net.close());
    return new Client(net, clock);
  }

  constructor(net, clock) {
    this.net = net;
    this.#clock = clock;
    this.server = new rpc.Server(net.url, { allowHttp: true });
    this.root = Keypair.fromSecret(net.network.root.secret);
  }

  get passphrase() {
    return this.net.network.passphrase;
  }

  /** Seconds since the epoch on the network's clock. */
  get now() {
    return Math.floor(this.#clock.now / 1000);
  }

  /** Advances the clock and closes a ledger. */
  async close(seconds = 5) {
    this.#clock.now += seconds * 1000;
    return this.net.closeLedger();
  }

  pass(seconds) {
    this.#clock.now += seconds * 1000;
  }

  id(key) {
    return Buffer.from(key.rawPublicKey()).toString('hex');
  }

  account(key) {
    return this.net.chain.state.peek(this.id(key));
  }

  balance(key) {
    return this.account(key).balance;
  }

  /** Creates accounts with this many XLM each, in one ledger. */
  async create(names, balance = '1000') {
    const keys = names.map(keypair);
    for (let first = 0; first < keys.length; first += 100) {
      const operations = keys
        .slice(first, first + 100)
        .map((key) => Operation.createAccount({ destination: key.publicKey(), startingBalance: balance }));
      await this.include(this.build(this.root, operations));
    }
    return keys;
  }

  /**
   * An envelope with the next sequence number, signed by its source and `signers`. `unsigned` leaves it unsigned; `configure` may
   * set other fields of the builder.
   */
  build(source, operations, { fee = '100', sequence, signers = [], unsigned = false, configure = () => {}, timeout = 0, muxed } = {}) {
    const last = sequence === undefined ? (this.account(source)?.sequence ?? 0n) : BigInt(sequence) - 1n;
    const account = new Account(source.publicKey(), String(last));
    const builder = new TransactionBuilder(muxed ? muxed(account) : account, { fee, networkPassphrase: this.passphrase });
    for (const operation of operations) builder.addOperation(operation);
    configure(builder);
    if (timeout !== null && !builder.timebounds) builder.setTimeout(timeout);
    const transaction = builder.build();
    if (!unsigned) transaction.sign(source, ...signers);
    return transaction;
  }

  /** A fee bump that pays `fee` stroops in all. */
  bump(source, inner, fee, { signers = [source] } = {}) {
    const operations = BigInt(inner.operations.length + 1);
    const transaction = TransactionBuilder.buildFeeBumpTransaction(source, String(BigInt(fee) / operations), inner, this.passphrase);
    transaction.sign(...signers);
    return transaction;
  }

  call(method, params = {}) {
    return rpcCall(this.net.url, { jsonrpc: '2.0', id: 1, method, params });
  }

  /** `{status, hash, code?, inner?, operations?, feeCharged?}` */
  async send(transaction) {
    const envelope = typeof transaction === 'string' ? transaction : transaction.toXdr();
    const { result, error } = await this.call('sendTransaction', { transaction: envelope });
    if (error) return { error };
    return { status: result.status, hash: result.hash, ...(result.errorResultXdr && outcomeOf(result.errorResultXdr)) };
  }

  /** The outcome of a transaction in a ledger, with its ledger and metadata. */
  async result(hash) {
    const { result } = await this.call('getTransaction', { hash });
    if (result.status === 'NOT_FOUND') return { status: result.status };
    const meta = decode('TransactionMeta', Buffer.from(result.resultMetaXdr, 'base64')).v4;
    return { status: result.status, ledger: result.ledger, meta, ...outcomeOf(result.resultXdr) };
  }

  /** Sends, closes a ledger and returns the result; throws if it was not accepted. */
  async include(transaction) {
    const sent = await this.send(transaction);
    if (sent.status !== 'PENDING')
      throw new Error(`not accepted: ${JSON.stringify(sent, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`);
    await this.close();
    return this.result(sent.hash);
  }
}

export const rpcCall = async (url, body, headers = { 'Content-Type': 'application/json' }) => {
  const response = await fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  return response.json();
};

export const xlm = (amount) => BigInt(amount) * XLM;
