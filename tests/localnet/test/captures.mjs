// Reads and follows ledgers that stellar-core's own test suites closed (../shared/ledgers/core).

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { entryFromWire, entryToWire } from '../entries.mjs';
import { hex } from '../network.mjs';
import { decode, encode } from '../xdr.mjs';

export const directory = fileURLToPath(new URL('../../../../shared/ledgers/core/', import.meta.url));

export function* ledgers(path) {
  const bytes = gunzipSync(readFileSync(path));
  for (let offset = 0; offset < bytes.length;) {
    const length = bytes.readUInt32BE(offset) & 0x7fffffff;
    yield decode('LedgerCloseMeta', bytes.subarray(offset + 4, offset + 4 + length)).v2;
    offset += 4 + length;
  }
}

const plain = (_, value) =>
  typeof value === 'bigint' ? String(value) : value instanceof Uint8Array ? hex(value) : value;

/** Core lists changes in no particular order. */
export const unordered = (changes) => changes.map((change) => JSON.stringify(change, plain)).sort();

/** Other kinds of entries do not exist here. */
const known = (change) => [0, 1, 6, 9].includes(Object.values(change)[1].data?.type ?? Object.values(change)[1].type);

/** All changes of a ledger, in their order. */
const changesIn = ({ txProcessing, upgradesProcessing }) => [
  ...txProcessing.flatMap(({ feeProcessing }) => feeProcessing),
  ...txProcessing.flatMap(({ txApplyProcessing: { v4: meta } }) => [
    ...meta.txChangesBefore,
    ...meta.operations.flatMap(({ changes }) => changes),
    ...meta.txChangesAfter,
  ]),
  ...txProcessing.flatMap(({ postTxApplyFeeProcessing }) => postTxApplyFeeProcessing),
  ...upgradesProcessing.flatMap(({ changes }) => changes),
];

/** Applies the changes that core's metadata lists for a ledger. */
export const follow = (state, core) => state.replay(changesIn(core).filter(known));

/** Whether an entry has what does not exist here: an account's flags, liabilities, or a trust line that is not authorized. */
export const isForeign = (core) =>
  changesIn(core).filter(known).some(({ created, updated, state }) => {
    const entry = created ?? updated ?? state;
    const isKept = () => encode('LedgerEntry', entry).equals(encode('LedgerEntry', entryToWire(entryFromWire(entry))));
    return entry && ((entry.data.account?.flags ?? 0) !== 0 || !isKept());
  });
