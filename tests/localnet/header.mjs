// Ledger headers: the first one, and the next one after any.

import { PROTOCOL, TOTAL_COINS, sha256 } from './network.mjs';
import { encode, publicKey } from './xdr.mjs';

const ZERO_HASH = Buffer.alloc(32);
const ENVELOPE_TYPE_SCPVALUE = 4;
const SKIP_1 = 50;
const SKIP_2 = 5_000;
const SKIP_3 = 50_000;
const SKIP_4 = 500_000;

export const hashHeader = (header) => sha256(encode('LedgerHeader', header));

/** The genesis, in which the root account holds everything. It has no metadata; the first ledger served is the next one. */
export const genesisHeader = (network) => ({
  ledgerVersion: PROTOCOL,
  previousLedgerHash: ZERO_HASH,
  scpValue: { txSetHash: ZERO_HASH, closeTime: 0n, upgrades: [], ext: { v: 0 } },
  txSetResultHash: ZERO_HASH,
  bucketListHash: ZERO_HASH,
  ledgerSeq: network.firstLedger - 1,
  totalCoins: TOTAL_COINS,
  feePool: 0n,
  inflationSeq: 0,
  idPool: 0n,
  baseFee: Number(network.baseFee),
  baseReserve: Number(network.baseReserve),
  maxTxSetSize: network.maxOperations,
  skipList: [ZERO_HASH, ZERO_HASH, ZERO_HASH, ZERO_HASH],
  ext: { v: 0 },
});

/** core: BucketManagerImpl::calculateSkipValues */
const skipListAt = (sequence, bucketListHash, previous) => {
  const skipList = [...previous];
  if (sequence % SKIP_1 !== 0) return skipList;
  const isDue = (value, step) => value > 0 && value % step === 0;
  if (isDue(sequence - SKIP_1, SKIP_2)) {
    if (isDue(sequence - SKIP_2 - SKIP_1, SKIP_3)) {
      if (isDue(sequence - SKIP_3 - SKIP_2 - SKIP_1, SKIP_4)) skipList[3] = skipList[2];
      skipList[2] = skipList[1];
    }
    skipList[1] = skipList[0];
  }
  skipList[0] = bucketListHash;
  return skipList;
};

const uint = (size, value) => {
  const bytes = Buffer.alloc(size);
  bytes[size === 8 ? 'writeBigUInt64BE' : 'writeUInt32BE'](value);
  return bytes;
};

const signature = (network, txSetHash, closeTime) => ({
  nodeId: publicKey(network.validator.id),
  signature: network.validator.sign(
    Buffer.concat([network.id, uint(4, ENVELOPE_TYPE_SCPVALUE), txSetHash, uint(8, closeTime)]),
  ),
});

const signedValue = (network, txSetHash, closeTime) => ({
  txSetHash,
  closeTime,
  upgrades: [],
  ext: { v: 1, lcValueSignature: signature(network, txSetHash, closeTime) },
});

/** The value of a ledger whose set was dropped (CAP-83): the set's hash moves to the extension. */
const droppedValue = (network, previous, txSetHash, closeTime) => ({
  txSetHash: ZERO_HASH,
  closeTime,
  upgrades: [],
  ext: {
    v: 2,
    proposedValue: {
      txSetHash,
      previousLedgerHash: previous.hash,
      previousLedgerVersion: previous.header.ledgerVersion,
      lcValueSignature: signature(network, txSetHash, closeTime),
    },
  },
});

/** The header after `previous`. Instead of a bucket list hash it has a running hash over all changes. */
export const nextHeader = (network, previous, parts) => {
  const { txSetHash, closeTime, isDropped = false, txSetResultHash, stateHash, idPool, feesCharged } = parts;
  const ledgerSeq = previous.header.ledgerSeq + 1;
  const bucketListHash = sha256(previous.header.bucketListHash, stateHash);
  return {
    ...previous.header,
    ledgerVersion: PROTOCOL,
    previousLedgerHash: previous.hash,
    scpValue: isDropped
      ? droppedValue(network, previous, txSetHash, closeTime)
      : signedValue(network, txSetHash, closeTime),
    txSetResultHash,
    bucketListHash,
    ledgerSeq,
    idPool,
    feePool: previous.header.feePool + feesCharged,
    skipList: skipListAt(ledgerSeq, bucketListHash, previous.header.skipList),
  };
};

/** Where the value's extension begins in a LedgerHeaderHistoryEntry without upgrades: after hash, version, previous hash,
 * set hash, close time and the number of upgrades. */
const VALUE_EXTENSION_OFFSET = 32 + 4 + 32 + 32 + 8 + 4;
const DROPPED_EXTRA = 32 + 32 + 4;

/**
 * Extracts the LedgerHeaderHistoryEntry at the start of `xdr`; `signedLength` is its length in a ledger with a signed value. No
 * ledger of this network has upgrades; ledgers that dropped their set are longer.
 */
export const cutHeaderEntry = (xdr, signedLength) =>
  xdr.subarray(0, signedLength + (xdr.readUInt32BE(VALUE_EXTENSION_OFFSET) === 2 ? DROPPED_EXTRA : 0));

/** The length of a LedgerHeaderHistoryEntry whose value is signed, which is the same for all of them. */
export const headerEntryLength = (network, header) => {
  const nothing = {
    txSetHash: ZERO_HASH,
    closeTime: 0n,
    txSetResultHash: ZERO_HASH,
    stateHash: ZERO_HASH,
    idPool: 0n,
    feesCharged: 0n,
  };
  const next = nextHeader(network, { header, hash: ZERO_HASH }, nothing);
  return encode('LedgerHeaderHistoryEntry', { hash: ZERO_HASH, header: next, ext: { v: 0 } }).length;
};
