// The closed ledgers that are still served, and the ledger of each transaction in them.

import { base64, decode, encode } from './xdr.mjs';
import { cutHeaderEntry } from './header.mjs';
import { hex } from './network.mjs';
import { decodeTransaction } from './transaction.mjs';
import { envelopesIn } from './txset.mjs';

const CACHED_LEDGERS = 16;
/** In LedgerCloseMeta V2 the header entry follows the union's tag and an empty extension. */
const HEADER_OFFSET = 8;

const headerOf = (meta) => meta.v2.ledgerHeader;

const innerHashOf = ({ result }) => {
  const pair = result.result.innerResultPair;
  return pair ? hex(pair.transactionHash) : null;
};

export class History {
  #ledgers = new Map();
  #byHash = new Map();
  #cache = new Map();
  #unindexed = [];
  #store;
  #network;
  #retention;

  constructor({ store, network, retention, header }) {
    this.#store = store;
    this.#network = network;
    this.#retention = retention;
    this.latest = header.ledgerSeq;
    this.oldest = header.ledgerSeq + 1;
  }

  /** Adds a ledger that is durable at `place`; decoded, if the caller has decoded it anyway. */
  add({ place, xdr, meta = null, decodedTransactions = null }) {
    const headerXdr = cutHeaderEntry(xdr.subarray(HEADER_OFFSET));
    const { header, hash } = meta ? headerOf(meta) : decode('LedgerHeaderHistoryEntry', headerXdr);
    const sequence = header.ledgerSeq;
    this.#ledgers.set(sequence, { sequence, hash: hex(hash), closeTime: header.scpValue.closeTime, place, hashes: [] });
    if (this.#ledgers.size === 1) this.oldest = sequence;
    this.latest = sequence;
    if (decodedTransactions) this.#remember(sequence, decodedTransactions);
    if (decodedTransactions)
      this.#index(sequence, decodedTransactions.map(({ hash: own, innerHash }) => ({ own, innerHash })));
    else if (meta) this.#index(sequence, this.#hashesIn(meta));
    else this.#unindexed.push(sequence);
    while (this.oldest + this.#retention <= this.latest) this.#forget(this.oldest++);
  }

  /** `{sequence, hash, closeTime, headerXdr, metadataXdr}` with the XDR as bytes, or null. */
  ledger(sequence) {
    const ledger = this.#ledgers.get(sequence);
    if (!ledger) return null;
    const xdr = this.#store.read(ledger.place);
    return { ...this.summary(sequence), headerXdr: cutHeaderEntry(xdr.subarray(HEADER_OFFSET)), metadataXdr: xdr };
  }

  summary(sequence) {
    const { hash, closeTime } = this.#ledgers.get(sequence);
    return { sequence, hash, closeTime };
  }

  /** A transaction by its own hash or, for a fee bump, by that of its inner transaction: `{ledger, ...transaction}` or null. */
  find(hash) {
    while (!this.#byHash.has(hash) && this.#unindexed.length > 0) {
      const sequence = this.#unindexed.pop();
      if (this.#ledgers.has(sequence)) this.#index(sequence, this.#hashesIn(this.#decode(sequence)));
    }
    const sequence = this.#byHash.get(hash);
    if (sequence === undefined) return null;
    const transaction = this.transactions(sequence).find((candidate) => candidate.hash === hash || candidate.innerHash === hash);
    return { ledger: sequence, ...transaction };
  }

  /**
   * The transactions of a ledger in apply order: `{hash, innerHash, order, isFeeBump, isSuccessful, envelopeXdr, resultXdr,
   * metaXdr}`, the XDR as base64.
   */
  transactions(sequence) {
    if (!this.#cache.has(sequence)) this.#remember(sequence, this.#decodeTransactions(sequence));
    return this.#cache.get(sequence);
  }

  #decode(sequence) {
    return decode('LedgerCloseMeta', this.#store.read(this.#ledgers.get(sequence).place));
  }

  #decodeTransactions(sequence) {
    const { txSet, txProcessing } = this.#decode(sequence).v2;
    const envelopes = new Map();
    for (const wire of envelopesIn(txSet)) {
      const transaction = decodeTransaction(encode('TransactionEnvelope', wire), this.#network);
      envelopes.set(transaction.hashHex, transaction.toBase64());
    }
    return txProcessing.map(({ result, txApplyProcessing }, index) => {
      const hash = hex(result.transactionHash);
      return describeTransaction({
        hash,
        innerHash: innerHashOf(result),
        order: index + 1,
        envelopeXdr: envelopes.get(hash),
        result: result.result,
        meta: txApplyProcessing,
      });
    });
  }

  #hashesIn(meta) {
    return meta.v2.txProcessing.map(({ result }) => ({ own: hex(result.transactionHash), innerHash: innerHashOf(result) }));
  }

  #index(sequence, hashes) {
    const { hashes: kept } = this.#ledgers.get(sequence);
    for (const hash of hashes.flatMap(({ own, innerHash }) => (innerHash ? [own, innerHash] : [own]))) {
      this.#byHash.set(hash, sequence);
      kept.push(hash);
    }
  }

  #remember(sequence, transactions) {
    this.#cache.set(sequence, transactions);
    if (this.#cache.size > CACHED_LEDGERS) this.#cache.delete(this.#cache.keys().next().value);
  }

  #forget(sequence) {
    for (const hash of this.#ledgers.get(sequence)?.hashes ?? []) {
      if (this.#byHash.get(hash) === sequence) this.#byHash.delete(hash);
    }
    this.#ledgers.delete(sequence);
    this.#cache.delete(sequence);
  }
}

/** The form that `transactions` returns, encoded on demand. */
export const describeTransaction = ({ hash, innerHash, order, envelopeXdr, result, meta }) => ({
  hash,
  innerHash,
  order,
  isFeeBump: innerHash !== null,
  isSuccessful: result.result.code >= 0,
  envelopeXdr,
  meta,
  get resultXdr() {
    return base64(encode('TransactionResult', result));
  },
  get metaXdr() {
    return base64(encode('TransactionMeta', meta));
  },
});
