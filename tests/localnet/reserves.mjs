// Balances and the reserve that they must cover: 2 base reserves per account and 1 per entry it owns, less what others sponsor,
// plus what it sponsors for others. (core: TransactionUtils.cpp)

import { INT64_MAX } from './network.mjs';

export const minBalance = (ledger, account) =>
  BigInt(2 + account.subEntries + account.sponsoring - account.sponsored) * ledger.baseReserve;

export const availableBalance = (ledger, account) => account.balance - minBalance(ledger, account);

/** Returns false and changes nothing if the account may not hold or spend this much. */
export const addBalance = (ledger, account, delta) => {
  const balance = account.balance + delta;
  if (balance < 0n || balance > INT64_MAX) return false;
  if (delta < 0n && balance - minBalance(ledger, account) < 0n) return false;
  account.balance = balance;
  return true;
};
