// Assets in their wire form: their names here, their issuers, and which are valid.

import { hex } from './network.mjs';

const NATIVE_TYPE = 0;
const POOL_SHARE_TYPE = 3;
/** The number of characters in a code of each type: 1 to 4, and 5 to 12. */
const CODE_LENGTH = new Map([[1, { field: 'alphaNum4', min: 1 }], [2, { field: 'alphaNum12', min: 5 }]]);

export const NATIVE = Object.freeze({ type: NATIVE_TYPE });

export const isNative = ({ type }) => type === NATIVE_TYPE;
export const isPoolShare = ({ type }) => type === POOL_SHARE_TYPE;

const issued = (asset) => asset[CODE_LENGTH.get(asset.type).field];

/** The id of the account that issues it; null for the native asset. */
export const issuerOf = (asset) => (isNative(asset) ? null : hex(issued(asset).issuer.ed25519));

/** The same text for equal assets, also used as a name in errors: `native`, or code and issuer. */
export const assetName = (asset) =>
  isNative(asset) ? 'native' : `${asset.type}:${hex(issued(asset).assetCode)}:${issuerOf(asset)}`;

const isAlphanumeric = (byte) =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);

/** A code consists of letters and digits, padded with zeros to its full width. (core: isAssetValid) */
export const isValidAsset = (asset) => {
  if (isNative(asset)) return true;
  const code = [...issued(asset).assetCode];
  const end = code.indexOf(0);
  const length = end < 0 ? code.length : end;
  if (length < CODE_LENGTH.get(asset.type).min) return false;
  return code.slice(0, length).every(isAlphanumeric) && code.slice(length).every((byte) => byte === 0);
};
