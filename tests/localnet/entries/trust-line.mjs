// Trust lines: the balance of an issued asset, its limit, and what the issuer has authorized. `extension` is 1 once the line has
// had liabilities.

import { assetName, isPoolShare } from '../assets.mjs';
import { hex } from '../network.mjs';
import { publicKey } from '../xdr.mjs';

const TRUST_LINE = 1;

export const trustLineKey = (id, asset) => `trust ${id} ${assetName(asset)}`;

export const newTrustLine = ({ id, asset, limit, balance = 0n, flags = 0 }) => ({
  kind: 'trustLine',
  id,
  asset,
  balance,
  limit,
  flags,
  extension: 0,
  buying: 0n,
  selling: 0n,
  sponsor: undefined,
  modified: 0,
});

const toWire = (line) => ({
  accountId: publicKey(line.id),
  asset: line.asset,
  balance: line.balance,
  limit: line.limit,
  flags: line.flags,
  ext:
    line.extension === 0
      ? { v: 0 }
      : { v: 1, v1: { liabilities: { buying: line.buying, selling: line.selling }, ext: { v: 0 } } },
});

const fromWire = ({ trustLine: wire }) => {
  const { accountId, asset, balance, limit, flags, ext } = wire;
  const { buying = 0n, selling = 0n } = ext.v1?.liabilities ?? {};
  const line = newTrustLine({ id: hex(accountId.ed25519), asset, balance, limit, flags });
  return Object.assign(line, { extension: ext.v, buying, selling });
};

export const trustLine = {
  kind: 'trustLine',
  type: TRUST_LINE,
  keyOf: ({ id, asset }) => trustLineKey(id, asset),
  keyToWire: ({ id, asset }) => ({ type: TRUST_LINE, trustLine: { accountId: publicKey(id), asset } }),
  keyFromWire: ({ trustLine: { accountId, asset } }) =>
    isPoolShare(asset) ? null : trustLineKey(hex(accountId.ed25519), asset),
  toWire: (entry) => ({ type: TRUST_LINE, trustLine: toWire(entry) }),
  fromWire,
};
