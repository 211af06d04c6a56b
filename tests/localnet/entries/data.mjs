// Data entries: a name and a value, under an account.

import { hex } from '../network.mjs';
import { XdrString, publicKey } from '../xdr.mjs';

const DATA = 3;

export const dataKey = (id, name) => `${id}:${hex(name)}`;

export const newData = ({ id, name, value }) => ({ kind: 'data', id, name, value, sponsor: undefined, modified: 0 });

const keyFields = ({ id, name }) => ({ accountId: publicKey(id), dataName: new XdrString(name) });

export const data = {
  kind: 'data',
  type: DATA,
  keyOf: ({ id, name }) => dataKey(id, name),
  keyToWire: (entry) => ({ type: DATA, data: keyFields(entry) }),
  keyFromWire: ({ data: key }) => dataKey(hex(key.accountId.ed25519), key.dataName.bytes),
  toWire: (entry) => ({ type: DATA, data: { ...keyFields(entry), dataValue: entry.value, ext: { v: 0 } } }),
  fromWire: ({ data: wire }) =>
    newData({ id: hex(wire.accountId.ed25519), name: wire.dataName.bytes, value: wire.dataValue }),
};
