// Additional rules for a contract call to be in a ledger.
// (core: TransactionFrame::checkSorobanResources, validateSorobanMemo, XDRProvidesValidFee)

import { LIMITS } from './contracts/config.mjs';
import { diskEntries, nonRefundableFee } from './contracts/fees.mjs';
import { hex } from './network.mjs';
import { Tx } from './results.mjs';
import { encode } from './xdr.mjs';

const MAX_RESOURCE_FEE = 2n ** 50n;
/** Kinds of entries that a footprint may name: accounts, trust lines, contract data and code. */
const FOOTPRINT_TYPES = new Set([0, 1, 6, 7]);

const exceedsLimits = ({ footprint, instructions, diskReadBytes, writeBytes }, { xdr }) =>
  instructions > LIMITS.instructions ||
  diskReadBytes > LIMITS.diskReadBytes ||
  writeBytes > LIMITS.writeBytes ||
  diskEntries(footprint) > LIMITS.diskReadEntries ||
  footprint.readWrite.length > LIMITS.writeEntries ||
  footprint.readOnly.length + footprint.readWrite.length > LIMITS.footprintEntries ||
  xdr.length > LIMITS.transactionBytes;

const isBadFootprint = ({ readOnly, readWrite }) => {
  const keys = [...readOnly, ...readWrite];
  const names = new Set(keys.map((key) => hex(encode('LedgerKey', key))));
  return names.size < keys.length || keys.some(({ type }) => !FOOTPRINT_TYPES.has(type));
};

/** Whether the transaction declares resources that no call may have. */
export const hasBadResources = ({ sorobanData, xdr }) =>
  sorobanData !== null && (exceedsLimits(sorobanData.resources, { xdr }) || isBadFootprint(sorobanData.resources.footprint));

/** The transaction's result code, or null. The inner fee of a fee bump may be less than its resources cost. */
export const sorobanError = (transaction, chargeFee) => {
  const { operations, sorobanData, resourceFee } = transaction;
  if (operations.some((operation) => operation.isSoroban && !operation.isSupported)) return Tx.NOT_SUPPORTED;
  if (operations.length > 1 || !sorobanData) return Tx.MALFORMED;
  if (resourceFee < 0n || resourceFee > MAX_RESOURCE_FEE) return Tx.MALFORMED;
  if (transaction.hasMemo || transaction.hasMuxedSource) return Tx.SOROBAN_INVALID;
  if (hasBadResources(transaction)) return Tx.SOROBAN_INVALID;
  if (chargeFee && resourceFee > transaction.fee) return Tx.SOROBAN_INVALID;
  return resourceFee < nonRefundableFee(sorobanData.resources, transaction.xdr.length) ? Tx.SOROBAN_INVALID : null;
};
