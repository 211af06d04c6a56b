// What an account holds of an asset: its own balance, a trust line, or, as the issuer, an unlimited amount.
// (core: TrustLineWrapper.cpp)

import { isNative, issuerOf } from './assets.mjs';
import { newAccount, newTrustLine } from './entries.mjs';
import { addBalance } from './reserves.mjs';

/**
 * Changes what account `id` holds by `delta`. `load` returns the entry with the key of the one that it is given, for changing, or null.
 * Returns null if there is no such entry, and false if the account may not hold or spend this much; then nothing is changed.
 */
export const addHolding = (load, ledger, id, asset, delta) => {
  if (issuerOf(asset) === id) return true;
  if (isNative(asset)) {
    const account = load(newAccount({ id }));
    return account && addBalance(ledger, account, delta);
  }
  const line = load(newTrustLine({ id, asset }));
  if (!line) return null;
  const balance = line.balance + delta;
  if (balance < 0n || balance > line.limit) return false;
  line.balance = balance;
  return true;
};
