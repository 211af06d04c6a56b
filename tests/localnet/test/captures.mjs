// Reads and follows ledgers that stellar-core's own test suites closed (../shared/ledgers/core).

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { hex } from '../network.mjs';
import { decode } from '../xdr.mjs';

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

/** Contract code and config settings do not exist here. */
const known = (change) => [0, 1, 2, 3, 6, 9].includes(Object.values(change)[1].data?.type ?? Object.values(change)[1].type);

/** Applies the changes that core's metadata lists for a ledger. */
export const follow = (state, { txProcessing, upgradesProcessing }) => {
  const replay = (changes) => state.replay(changes.filter(known));
  for (const { feeProcessing } of txProcessing) replay(feeProcessing);
  for (const { txApplyProcessing: meta, postTxApplyFeeProcessing } of txProcessing) {
    const { txChangesBefore, operations, txChangesAfter } = meta.v4;
    for (const changes of [txChangesBefore, ...operations.map((operation) => operation.changes), txChangesAfter])
      replay(changes);
  }
  for (const { postTxApplyFeeProcessing } of txProcessing) replay(postTxApplyFeeProcessing);
  for (const { changes } of upgradesProcessing) replay(changes);
};
