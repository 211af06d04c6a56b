// The cost of a contract call: the fixed part, the part that is refunded as far as it was not used, and the cost of
// extending entries. (soroban-env-host: fees.rs)

import { encode } from '../xdr.mjs';
import { RATES } from './config.mjs';

const KB = 1024n;
const INSTRUCTIONS_UNIT = 10_000n;
/** A result is stored with every transaction; this is its assumed size. */
const RESULT_BYTES = 300n;
const TTL_BYTES = 48n;
const CLASSIC_TYPES = new Set([0, 1]);

const ceiling = (dividend, divisor) => (dividend + divisor - 1n) / divisor;
const forBytes = (bytes, rate) => ceiling(BigInt(bytes) * rate, KB);

/** Entries that are read from disk: accounts. Contract data is in memory. */
export const diskEntries = ({ readOnly, readWrite }) =>
  [...readOnly, ...readWrite].filter(({ type }) => CLASSIC_TYPES.has(type)).length;

/** Due whatever the result of the call is; `resources` are SorobanResources. */
export const nonRefundableFee = ({ footprint, instructions, diskReadBytes, writeBytes }, transactionBytes) => {
  const writes = footprint.readWrite.length;
  return (
    ceiling(BigInt(instructions) * RATES.instructions, INSTRUCTIONS_UNIT) +
    BigInt(diskEntries(footprint) + writes) * RATES.diskReadEntry +
    BigInt(writes) * RATES.writeEntry +
    forBytes(diskReadBytes, RATES.diskRead1Kb) +
    forBytes(writeBytes, RATES.write1Kb) +
    forBytes(BigInt(transactionBytes) + RESULT_BYTES, RATES.historical1Kb) +
    forBytes(transactionBytes, RATES.bandwidth1Kb)
  );
};

export const eventBytes = (events) =>
  events.reduce((sum, event) => sum + encode('ContractEvent', event).length, 0);

const rentFee = ({ size, isPersistent, ledgers }) => {
  const denominator = isPersistent ? RATES.persistentRentDenominator : RATES.temporaryRentDenominator;
  const rent = ceiling(BigInt(size) * RATES.rent1Kb * BigInt(ledgers), KB * denominator);
  return rent + RATES.writeEntry + forBytes(TTL_BYTES, RATES.write1Kb);
};

/** The used part of the refundable fee; `returned` is the size of the call's value. */
export const refundableFee = ({ events, rents, returned }) =>
  rents.reduce((sum, rent) => sum + rentFee(rent), 0n) + forBytes(eventBytes(events) + returned, RATES.events1Kb);
