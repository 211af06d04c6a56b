// Assets as they are on the wire: what they are called here, who issues them, and which are valid.

import { hex } from './network.mjs';

const NATIVE_TYPE = 0;
const POOL_SHARE_TYPE = 3;
/** How many characters a code of each type has: 1 to 4, and 5 to 12. */
const CODE_LENGTH = new Map([
  [1, { field: 'alphaNum4', min: 1 }],
  [2, { field: 'alphaNum12', min: 5 }],
]);

export const NATIVE = Object.freeze({ type: NATIVE_TYPE });

export const isNative = ({ type }) => type === NATIVE_TYPE;
export const isPoolShare = ({ type }) => type === POOL_SHARE_TYPE;

const issued = (asset) => asset[CODE_LENGTH.get(asset.type).field];

/** The id of the account that issues it; null for the native asset. */
export const issuerOf = (asset) => (isNative(asset) ? null : hex(issued(asset).issuer.ed25519));

/** Equal for equal assets, and the same as a name for errors: `native`, or code and issuer. */
export const assetName = (asset) =>
  isNative(asset) ? 'native' : `${asset.type}:${hex(issued(asset).assetCode)}:${issuerOf(asset)}`;

export const sameAsset = (a, b) => assetName(a) === assetName(b);

const isAlphanumeric = (byte) =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);

/** A code is of letters and digits, with zeros behind it to its full width. (core: isAssetValid) */
export const isValidAsset = (asset) => {
  if (isNative(asset)) return true;
  const code = [...issued(asset).assetCode];
  const end = code.indexOf(0);
  const length = end < 0 ? code.length : end;
  if (length < CODE_LENGTH.get(asset.type).min) return false;
  return code.slice(0, length).every(isAlphanumeric) && code.slice(length).every((byte) => byte === 0);
};
