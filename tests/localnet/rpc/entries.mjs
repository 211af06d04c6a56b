// getLedgerEntries: accounts, trust lines and contract data as of the latest ledger.

import { entryToWire, keyFromWire } from '../entries.mjs';
import { ttlHash, ttlKey } from '../entries/contract-data.mjs';
import { base64, decode, encode } from '../xdr.mjs';
import { internalError, invalidParams } from './error.mjs';
import { array, base64Bytes, requireBase64 } from './params.mjs';

const MAX_KEYS = 200;
const MAX_KEY_BYTES = 16 * 1024;
const TTL = 9;
const CONTRACT_DATA = 6;

/** The RPC's error when core's query server reports one. */
const coreFailed = (reason) => internalError(`could not query captive core: ${reason}`);
const NOT_FOUND = 'http request failed with non-200 status code (404)';

const parseKey = (text, index) => {
  const bytes = typeof text === 'string' ? base64Bytes(text) : null;
  const bad = (reason) => invalidParams(`cannot unmarshal key value ${text} at index ${index}: ${reason}`);
  if (!bytes || bytes.length > MAX_KEY_BYTES) throw bad('not base64 of a LedgerKey');
  let key;
  try {
    key = decode('LedgerKey', bytes);
  } catch (error) {
    throw bad(error.message);
  }
  if (key.type === TTL) throw invalidParams('ledger ttl entries cannot be queried directly');
  return key;
};

/** Contract data expires with a ledger. */
const liveUntil = (key, state) =>
  key.type === CONTRACT_DATA
    ? { liveUntilLedgerSeq: state.peek(ttlKey(ttlHash(key.contractData)))?.liveUntil }
    : {};

export const entryMethods = ({ chain, faults }) => ({
  getLedgerEntries(params) {
    requireBase64(params);
    const keys = array(params, 'keys');
    if (keys.length > MAX_KEYS)
      throw invalidParams(`key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`);
    const parsed = keys.map(parseKey);
    if (keys.length === 0) throw coreFailed('no keys specified in request');
    // Core refuses a request with a duplicate key, and one for a ledger whose snapshot it has not published yet.
    if (new Set(keys).size < keys.length || faults.happens('snapshotMissing')) throw coreFailed(NOT_FOUND);
    const entries = parsed.flatMap((key, index) => {
      const name = keyFromWire(key);
      const entry = name === null ? null : chain.state.peek(name);
      if (!entry) return [];
      const wire = entryToWire(entry);
      return {
        key: keys[index],
        xdr: base64(encode('LedgerEntryData', wire.data)),
        lastModifiedLedgerSeq: entry.modified,
        ...liveUntil(key, chain.state),
        extXdr: base64(encode('LedgerEntryExt', wire.ext)),
      };
    });
    return { entries, latestLedger: chain.history.latest };
  },
});
