// What an account holds of an asset: its own balance, a trust line, or, as the issuer, an unlimited amount.
// (core: TrustLineWrapper.cpp, TransactionUtils.cpp)

import { isNative, issuerOf } from './assets.mjs';
import { accountKey, extendAccount, trustLineKey } from './entries.mjs';
import { INT64_MAX } from './network.mjs';
import { addBalance, availableBalance, minBalance } from './reserves.mjs';

/** Flags of a trust line. */
export const AUTHORIZED = 1;
export const MAINTAIN_LIABILITIES = 2;
export const CLAWBACK_ENABLED = 4;

const isOutside = (value, max) => value < 0n || value > max;

class AccountHolding {
  isAuthorized = true;
  #ledger;
  #account;

  constructor(ledger, account) {
    this.#ledger = ledger;
    this.#account = account;
  }

  get balance() {
    return this.#account.balance;
  }

  /** What it can spend; negative when it is below the reserve. */
  get available() {
    return availableBalance(this.#ledger, this.#account);
  }

  /** What it can receive. */
  get room() {
    return INT64_MAX - this.#account.balance - this.#account.buying;
  }

  /** Returns false and changes nothing if it may not hold or spend this much. */
  add(delta) {
    return addBalance(this.#ledger, this.#account, delta);
  }

  /** Liabilities are what the account's offers may still buy or sell. Returns false and changes nothing if they do not fit. */
  addBuying(delta) {
    const buying = this.#account.buying + delta;
    if (isOutside(buying, INT64_MAX - this.#account.balance)) return false;
    extendAccount(this.#account, 1).buying = buying;
    return true;
  }

  addSelling(delta) {
    const selling = this.#account.selling + delta;
    if (isOutside(selling, this.#account.balance - minBalance(this.#ledger, this.#account))) return false;
    extendAccount(this.#account, 1).selling = selling;
    return true;
  }
}

class TrustLineHolding {
  #line;

  constructor(line) {
    this.#line = line;
  }

  get isAuthorized() {
    return (this.#line.flags & AUTHORIZED) !== 0;
  }

  get #maintainsLiabilities() {
    return maintainsLiabilities(this.#line);
  }

  get balance() {
    return this.#line.balance;
  }

  get available() {
    return this.#maintainsLiabilities ? this.#line.balance - this.#line.selling : 0n;
  }

  get room() {
    return this.#maintainsLiabilities ? this.#line.limit - this.#line.balance - this.#line.buying : 0n;
  }

  add(delta) {
    const { limit, buying, selling } = this.#line;
    const balance = this.#line.balance + delta;
    if (delta === 0n) return true;
    if (!this.#maintainsLiabilities || balance < selling || balance > limit - buying) return false;
    this.#line.balance = balance;
    return true;
  }

  addBuying(delta) {
    const buying = this.#line.buying + delta;
    if (isOutside(buying, this.#line.limit - this.#line.balance)) return false;
    extendAccount(this.#line, 1).buying = buying;
    return true;
  }

  addSelling(delta) {
    const selling = this.#line.selling + delta;
    if (isOutside(selling, this.#line.balance)) return false;
    extendAccount(this.#line, 1).selling = selling;
    return true;
  }
}

/** An issuer has no trust line: what it pays is created, and what it is paid is destroyed. */
const issuing = Object.freeze({
  isAuthorized: true,
  balance: INT64_MAX,
  available: INT64_MAX,
  room: INT64_MAX,
  add: () => true,
  addBuying: () => true,
  addSelling: () => true,
});

export const maintainsLiabilities = ({ flags }) => (flags & (AUTHORIZED | MAINTAIN_LIABILITIES)) !== 0;

const holdingOf = (get, ledger, id, asset) => {
  if (issuerOf(asset) === id) return issuing;
  if (isNative(asset)) return new AccountHolding(ledger, get(accountKey(id)));
  const line = get(trustLineKey(id, asset));
  return line && new TrustLineHolding(line);
};

/** For changing; null without a trust line. The account must exist. */
export const loadHolding = (layer, id, asset) => holdingOf((key) => layer.load(key), layer.ledger, id, asset);

/** For reading only, which leaves no trace in the metadata. */
export const peekHolding = (layer, id, asset) => holdingOf((key) => layer.peek(key), layer.ledger, id, asset);
