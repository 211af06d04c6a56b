// Ledger headers: the first one, and the next one after any.

import { TOTAL_COINS, sha256 } from './network.mjs';
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
  ledgerVersion: network.protocol,
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

/** From this protocol on, the value of a ledger has milliseconds: of the one after the upgrade (CAP-88). */
const MS_PROTOCOL = 30;
const hasMs = (previous) => previous.header.ledgerVersion >= MS_PROTOCOL;

/** The close time in milliseconds, of a value with or without them. */
export const closeTimeMsOf = ({ closeTime, ext }) =>
  (ext.signedMsValue ?? ext.proposedMsValue)?.closeTimeMs ?? closeTime * 1000n;

/** The earliest close time after a ledger. Those of whole seconds may share one here, so that tests need not wait. */
export const earliestAfter = (previous) => {
  const last = closeTimeMsOf(previous.header.scpValue);
  return hasMs(previous) ? last + 1n : last;
};

const signature = (network, txSetHash, times) => ({
  nodeId: publicKey(network.validator.id),
  signature: network.validator.sign(
    Buffer.concat([network.id, uint(4, ENVELOPE_TYPE_SCPVALUE), txSetHash, ...times.map((time) => uint(8, time))]),
  ),
});

/** The value on which the validators agree. If the ledger drops its set, the set's hash moves to the extension (CAP-83). */
const valueAfter = (network, previous, { txSetHash, closeTimeMs, isDropped, upgrades }) => {
  const closeTime = closeTimeMs / 1000n;
  const ms = hasMs(previous) ? { closeTimeMs } : {};
  const lcValueSignature = signature(network, txSetHash, [closeTime, ...Object.values(ms)]);
  const proposed = {
    ...ms,
    txSetHash,
    previousLedgerHash: previous.hash,
    previousLedgerVersion: previous.header.ledgerVersion,
    lcValueSignature,
  };
  const ext = hasMs(previous)
    ? { v: 3, signedMsValue: { ...ms, lcValueSignature } }
    : { v: 1, lcValueSignature };
  const droppedExt = hasMs(previous) ? { v: 4, proposedMsValue: proposed } : { v: 2, proposedValue: proposed };
  return { txSetHash: isDropped ? ZERO_HASH : txSetHash, closeTime, upgrades, ext: isDropped ? droppedExt : ext };
};

/** The header after `previous`. Instead of a bucket list hash it has a running hash over all changes. */
export const nextHeader = (network, previous, parts) => {
  const { txSetHash, closeTimeMs, isDropped = false, upgrades = [] } = parts;
  const { protocol, baseFee, maxTxSetSize } = parts;
  const { txSetResultHash, stateHash, feesCharged } = parts;
  const ledgerSeq = previous.header.ledgerSeq + 1;
  const bucketListHash = sha256(previous.header.bucketListHash, stateHash);
  return {
    ...previous.header,
    ledgerVersion: protocol ?? previous.header.ledgerVersion,
    baseFee: baseFee ?? previous.header.baseFee,
    maxTxSetSize: maxTxSetSize ?? previous.header.maxTxSetSize,
    previousLedgerHash: previous.hash,
    scpValue: valueAfter(network, previous, { txSetHash, closeTimeMs, isDropped, upgrades }),
    txSetResultHash,
    bucketListHash,
    ledgerSeq,
    feePool: previous.header.feePool + feesCharged,
    skipList: skipListAt(ledgerSeq, bucketListHash, previous.header.skipList),
  };
};

// The parts of a LedgerHeaderHistoryEntry, in bytes.
const BEFORE_UPGRADES = 32 + 4 + 32 + 32 + 8; // hash, version, previous hash, set hash, close time
const SIGNATURE = 4 + 32 + 4 + 64;
const EXTENSIONS = [0, SIGNATURE, 68 + SIGNATURE, 8 + SIGNATURE, 76 + SIGNATURE];
const AFTER_VALUE = 32 + 32 + 4 + 8 + 8 + 4 + 8 + 4 + 4 + 4 + 4 * 32 + 4 + 4; // from the result hash to both extensions

/** Extracts the LedgerHeaderHistoryEntry at the start of `xdr`. */
export const cutHeaderEntry = (xdr) => {
  let at = BEFORE_UPGRADES + 4;
  for (let left = xdr.readUInt32BE(BEFORE_UPGRADES); left > 0; left--) at += 4 + 4 * Math.ceil(xdr.readUInt32BE(at) / 4);
  return xdr.subarray(0, at + 4 + EXTENSIONS[xdr.readUInt32BE(at)] + AFTER_VALUE);
};
