// Contract data, and for each such entry its time to live (ttl). Keys and values are SCVals in wire form.

import { hex, sha256 } from '../network.mjs';
import { encode } from '../xdr.mjs';

const CONTRACT_DATA = 6;
const TTL = 9;

export const Durability = Object.freeze({ TEMPORARY: 0, PERSISTENT: 1 });

const keyToWire = ({ contract, key, durability }) => ({ type: CONTRACT_DATA, contractData: { contract, key, durability } });

/** `contract` is the ScAddress that owns the data; for nonces it is an account. */
export const contractDataKey = (fields) => `contract ${hex(encode('LedgerKey', keyToWire(fields)))}`;

export const newContractData = ({ contract, key, durability, val }) => ({
  kind: 'contractData',
  contract,
  dataKey: key,
  durability,
  val,
  sponsor: undefined,
  modified: 0,
});

const fieldsOf = ({ contract, dataKey, durability }) => ({ contract, key: dataKey, durability });

export const contractData = {
  kind: 'contractData',
  type: CONTRACT_DATA,
  keyOf: (entry) => contractDataKey(fieldsOf(entry)),
  keyToWire: (entry) => keyToWire(fieldsOf(entry)),
  keyFromWire: ({ contractData: fields }) => contractDataKey(fields),
  toWire: (entry) => ({ type: CONTRACT_DATA, contractData: { ext: { v: 0 }, ...fieldsOf(entry), val: entry.val } }),
  fromWire: ({ contractData: wire }) => newContractData(wire),
};

/** The key of a contract data entry's ttl. */
export const ttlHash = (fields) => hex(sha256(encode('LedgerKey', keyToWire(fields))));
export const ttlKey = (keyHash) => `ttl ${keyHash}`;

export const newTtl = ({ keyHash, liveUntil }) => ({ kind: 'ttl', keyHash, liveUntil, sponsor: undefined, modified: 0 });

export const ttl = {
  kind: 'ttl',
  type: TTL,
  keyOf: ({ keyHash }) => ttlKey(keyHash),
  keyToWire: ({ keyHash }) => ({ type: TTL, ttl: { keyHash: Buffer.from(keyHash, 'hex') } }),
  keyFromWire: ({ ttl: { keyHash } }) => ttlKey(hex(keyHash)),
  toWire: ({ keyHash, liveUntil }) => ({ type: TTL, ttl: { keyHash: Buffer.from(keyHash, 'hex'), liveUntilLedgerSeq: liveUntil } }),
  fromWire: ({ ttl: wire }) => newTtl({ keyHash: hex(wire.keyHash), liveUntil: wire.liveUntilLedgerSeq }),
};
