// Ledger entries as the network works on them: flat objects, with account ids as hex of the ed25519 key, and conversion to XDR. One
// file per kind in entries/, each with `{kind, type, keyOf, keyToWire, keyFromWire, toWire, fromWire, copy}`.
//
// `sponsor` is undefined while the entry never had a sponsor, an id while it has one, and null afterwards.

import { hex } from './network.mjs';
import { publicKey } from './xdr.mjs';
import { account } from './entries/account.mjs';
import { contractData, ttl } from './entries/contract-data.mjs';
import { trustLine } from './entries/trust-line.mjs';

export { accountKey, accountOf, extendAccount, newAccount, newSigner } from './entries/account.mjs';
export { newTrustLine, trustLineKey } from './entries/trust-line.mjs';

const kinds = [account, trustLine, contractData, ttl];
const byKind = new Map(kinds.map((kind) => [kind.kind, kind]));
const byType = new Map(kinds.map((kind) => [kind.type, kind]));

const kindOf = ({ kind }) => byKind.get(kind);

/** Whether the entry exists within a transaction only, such as a sponsorship that is being established. */
export const isTransient = (entry) => !byKind.has(entry.kind);

/** The key of an entry as text. */
export const keyOf = (entry) => (isTransient(entry) ? entry.key : kindOf(entry).keyOf(entry));

export const copyEntry = (entry) => kindOf(entry)?.copy?.(entry) ?? { ...entry };

export const entryKey = (entry) => kindOf(entry).keyToWire(entry);

export const entryToWire = (entry) => ({
  lastModifiedLedgerSeq: entry.modified,
  data: kindOf(entry).toWire(entry),
  ext:
    entry.sponsor === undefined
      ? { v: 0 }
      : { v: 1, v1: { sponsoringId: entry.sponsor ? publicKey(entry.sponsor) : null, ext: { v: 0 } } },
});

export const entryFromWire = ({ lastModifiedLedgerSeq, data: wire, ext }) => {
  const kind = byType.get(wire.type);
  if (!kind) throw new Error(`ledger entries of type ${wire.type} do not exist on this network`);
  const entry = kind.fromWire(wire);
  entry.modified = lastModifiedLedgerSeq;
  if (ext.v === 1) entry.sponsor = ext.v1.sponsoringId ? hex(ext.v1.sponsoringId.ed25519) : null;
  return entry;
};

/** The key of a LedgerKey, or null for kinds of entries that this network does not implement. */
export const keyFromWire = (wire) => byType.get(wire.type)?.keyFromWire(wire) ?? null;
