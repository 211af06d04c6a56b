// Balances and the reserve that they must cover: 2 base reserves an account, 1 an entry it owns, less what others sponsor,
// plus what it sponsors for others. (core: TransactionUtils.cpp)

import { INT64_MAX } from './network.mjs';

export const minBalance = (ledger, account) =>
  BigInt(2 + account.subEntries + account.sponsoring - account.sponsored) * ledger.baseReserve;

export const availableBalance = (ledger, account) => account.balance - minBalance(ledger, account) - account.selling;

/** False, and nothing changed, if the account may not hold or may not spend so much. */
export const addBalance = (ledger, account, delta) => {
  const balance = account.balance + delta;
  if (balance < 0n || balance > INT64_MAX - account.buying) return false;
  if (delta < 0n && balance - minBalance(ledger, account) < account.selling) return false;
  account.balance = balance;
  return true;
};
