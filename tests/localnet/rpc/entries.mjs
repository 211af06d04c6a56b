// getLedgerEntries: accounts and data entries as of the latest ledger.

import { entryToWire, keyFromWire } from '../entries.mjs';
import { base64, decode, encode } from '../xdr.mjs';
import { invalidParams } from './error.mjs';
import { base64Bytes, requireBase64 } from './params.mjs';

const MAX_KEYS = 200;
const MAX_KEY_BYTES = 16 * 1024;
const TTL = 9;

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

export const entryMethods = ({ chain }) => ({
  getLedgerEntries(params) {
    requireBase64(params);
    const { keys = [] } = params;
    if (!Array.isArray(keys)) throw invalidParams('invalid parameters');
    if (keys.length > MAX_KEYS)
      throw invalidParams(`key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`);
    const entries = keys.map(parseKey).flatMap((key, index) => {
      const name = keyFromWire(key);
      const entry = name === null ? null : chain.state.peek(name);
      if (!entry) return [];
      const wire = entryToWire(entry);
      return {
        key: keys[index],
        xdr: base64(encode('LedgerEntryData', wire.data)),
        lastModifiedLedgerSeq: entry.modified,
        extXdr: base64(encode('LedgerEntryExt', wire.ext)),
      };
    });
    return { entries, latestLedger: chain.history.latest };
  },
});
