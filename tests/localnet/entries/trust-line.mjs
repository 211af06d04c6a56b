// Trust lines: the balance of an issued asset, and its limit. All are authorized.

import { assetName, isPoolShare } from '../assets.mjs';
import { hex } from '../network.mjs';
import { publicKey } from '../xdr.mjs';

const TRUST_LINE = 1;
const AUTHORIZED = 1;

export const trustLineKey = (id, asset) => `trust ${id} ${assetName(asset)}`;

export const newTrustLine = ({ id, asset, limit, balance = 0n }) => ({
  kind: 'trustLine',
  id,
  asset,
  balance,
  limit,
  sponsor: undefined,
  modified: 0,
});

const toWire = (line) => ({
  accountId: publicKey(line.id),
  asset: line.asset,
  balance: line.balance,
  limit: line.limit,
  flags: AUTHORIZED,
  ext: { v: 0 },
});

const fromWire = ({ trustLine: wire }) => {
  const { accountId, asset, balance, limit } = wire;
  return newTrustLine({ id: hex(accountId.ed25519), asset, balance, limit });
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
