// A submitted transaction: decoded, hashed, with accessors. Its validity is decided elsewhere.

import { accountOf } from './entries.mjs';
import { base64, decode, encode } from './xdr.mjs';
import { hex, sha256 } from './network.mjs';
import { Operation } from './operations/operation.mjs';

const ENVELOPE_TX_V0 = 0;
const ENVELOPE_TX = 2;
const ENVELOPE_FEE_BUMP = 5;

const tag = (type) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(type);
  return bytes;
};

/** V0 and V1 have the same hash and the same meaning; like a node, the network keeps the V1 form. */
const v0ToV1 = ({ tx, signatures }) => ({
  type: ENVELOPE_TX,
  v1: {
    tx: {
      sourceAccount: { type: 0, ed25519: tx.sourceAccountEd25519 },
      fee: tx.fee,
      seqNum: tx.seqNum,
      cond: tx.timeBounds ? { type: 1, timeBounds: tx.timeBounds } : { type: 0 },
      memo: tx.memo,
      operations: tx.operations,
      ext: { v: 0 },
    },
    signatures,
  },
});

class Envelope {
  constructor(wire, signatures, hash) {
    this.wire = wire;
    this.xdr = encode('TransactionEnvelope', wire);
    this.signatures = signatures;
    /** The hash that is signed and by which the ledger identifies the transaction. */
    this.hash = hash;
    this.hashHex = hex(hash);
    /** The hash of the whole envelope with its signatures: the queue finds duplicates by it, and it orders a set. */
    this.fullHash = sha256(this.xdr);
    this.fullHashHex = hex(this.fullHash);
  }

  toBase64() {
    return base64(this.xdr);
  }
}

export class Transaction extends Envelope {
  isFeeBump = false;

  constructor(wire, network) {
    const { tx, signatures } = wire.v1;
    super(wire, signatures, sha256(network.id, tag(ENVELOPE_TX), encode('Transaction', tx)));
    this.source = accountOf(tx.sourceAccount);
    this.sequence = tx.seqNum;
    this.fee = BigInt(tx.fee);
    this.operations = tx.operations.map((operation) => new Operation(operation, this.source, network));
    this.isSoroban = this.operations.some((operation) => operation.isSoroban);
    this.sorobanData = tx.ext.v === 1 ? tx.ext.sorobanData : null;
    this.hasMemo = tx.memo.type !== 0;
    this.hasMuxedSource =
      tx.sourceAccount.type !== 0 || this.operations.some((operation) => operation.hasMuxedSource);
    const v2 = tx.cond.v2;
    const timeBounds = tx.cond.timeBounds ?? v2?.timeBounds;
    this.minTime = timeBounds?.minTime ?? 0n;
    this.maxTime = timeBounds?.maxTime ?? 0n;
    this.minLedger = v2?.ledgerBounds?.minLedger ?? 0;
    this.maxLedger = v2?.ledgerBounds?.maxLedger ?? 0;
    this.minSequence = v2?.minSeqNum ?? null;
    this.minSequenceAge = v2?.minSeqAge ?? 0n;
    this.minSequenceLedgerGap = v2?.minSeqLedgerGap ?? 0;
    this.extraSigners = v2?.extraSigners ?? [];
  }

  get feeSource() {
    return this.source;
  }

  /** The fee for the resources of a contract call; the rest of the fee is for inclusion. */
  get resourceFee() {
    return this.isSoroban ? (this.sorobanData?.resourceFee ?? 0n) : 0n;
  }

  get inclusionFee() {
    return this.fee - this.resourceFee;
  }

  /** The number of operations that are paid for. */
  get operationCount() {
    return this.operations.length;
  }

  get innermost() {
    return this;
  }
}

export class FeeBump extends Envelope {
  isFeeBump = true;

  constructor(wire, network) {
    const { tx, signatures } = wire.feeBump;
    super(wire, signatures, sha256(network.id, tag(ENVELOPE_FEE_BUMP), encode('FeeBumpTransaction', tx)));
    this.inner = new Transaction({ type: ENVELOPE_TX, v1: tx.innerTx.v1 }, network);
    this.feeSource = accountOf(tx.feeSource);
    this.fee = tx.fee;
  }

  get source() {
    return this.inner.source;
  }

  get sequence() {
    return this.inner.sequence;
  }

  get operations() {
    return this.inner.operations;
  }

  get isSoroban() {
    return this.inner.isSoroban;
  }

  get resourceFee() {
    return this.inner.resourceFee;
  }

  get inclusionFee() {
    return this.fee - this.resourceFee;
  }

  get operationCount() {
    return this.inner.operationCount + 1;
  }

  get innermost() {
    return this.inner;
  }
}

/** Throws the SDK's XdrError if the bytes are not exactly one TransactionEnvelope. */
export const decodeTransaction = (bytes, network) => {
  const wire = decode('TransactionEnvelope', bytes);
  if (wire.type === ENVELOPE_FEE_BUMP) return new FeeBump(wire, network);
  return new Transaction(wire.type === ENVELOPE_TX_V0 ? v0ToV1(wire.v0) : wire, network);
};

/** The phase of a set, and the queue, to which a transaction belongs. */
export const phaseOf = ({ isSoroban }) => (isSoroban ? 'soroban' : 'classic');

/** Compares the inclusion fees of two transactions by what they pay per operation: negative if `a` pays less. */
export const compareFeeRates = (a, b) => {
  const rates = [a.inclusionFee * BigInt(Math.max(1, b.operationCount)), b.inclusionFee * BigInt(Math.max(1, a.operationCount))];
  const difference = rates[0] - rates[1];
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};
