// Ledger headers: the first one, and each next one.

import { PROTOCOL, TOTAL_COINS, sha256 } from './network.mjs';
import { encode, publicKey } from './xdr.mjs';

const ZERO_HASH = Buffer.alloc(32);
const ENVELOPE_TYPE_SCPVALUE = 4;
const SKIP_1 = 50;
const SKIP_2 = 5_000;
const SKIP_3 = 50_000;
const SKIP_4 = 500_000;

export const hashHeader = (header) => sha256(encode('LedgerHeader', header));

/** Ledger 1, in which the root account holds everything. It has no metadata, so the first ledger served is 2. */
export const genesisHeader = (network) => ({
  ledgerVersion: PROTOCOL,
  previousLedgerHash: ZERO_HASH,
  scpValue: { txSetHash: ZERO_HASH, closeTime: 0n, upgrades: [], ext: { v: 0 } },
  txSetResultHash: ZERO_HASH,
  bucketListHash: ZERO_HASH,
  ledgerSeq: 1,
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

const signedValue = (network, txSetHash, closeTime) => ({
  txSetHash,
  closeTime,
  upgrades: [],
  ext: {
    v: 1,
    lcValueSignature: {
      nodeId: publicKey(network.validator.id),
      signature: network.validator.sign(
        Buffer.concat([network.id, uint(4, ENVELOPE_TYPE_SCPVALUE), txSetHash, uint(8, closeTime)]),
      ),
    },
  },
});

/** The header above `previous`. In place of the bucket list there is a running hash over what changed. */
export const nextHeader = (network, previous, { txSetHash, closeTime, txSetResultHash, stateHash, feesCharged }) => {
  const ledgerSeq = previous.header.ledgerSeq + 1;
  const bucketListHash = sha256(previous.header.bucketListHash, stateHash);
  return {
    ...previous.header,
    ledgerVersion: PROTOCOL,
    previousLedgerHash: previous.hash,
    scpValue: signedValue(network, txSetHash, closeTime),
    txSetResultHash,
    bucketListHash,
    ledgerSeq,
    feePool: previous.header.feePool + feesCharged,
    skipList: skipListAt(ledgerSeq, bucketListHash, previous.header.skipList),
  };
};

/** The length of a LedgerHeaderHistoryEntry, which is the same for all ledgers: none has upgrades, all values are signed. */
export const headerEntryLength = (network, header) => {
  const nothing = {
    txSetHash: ZERO_HASH,
    closeTime: 0n,
    txSetResultHash: ZERO_HASH,
    stateHash: ZERO_HASH,
    feesCharged: 0n,
  };
  const next = nextHeader(network, { header, hash: ZERO_HASH }, nothing);
  return encode('LedgerHeaderHistoryEntry', { hash: ZERO_HASH, header: next, ext: { v: 0 } }).length;
};
