// The ledger's entries, and layers of changes over them.
//
// A layer is core's LedgerTxn: changes stay in it until `commit`, and it records them. Layers nest: ledger, transaction,
// operation. Call `load` on the innermost layer only. Entries that `peek` returns must not be changed.

import { createHash } from 'node:crypto';
import { copyEntry, entryFromWire, entryKey, entryToWire, isTransient, keyFromWire, keyOf } from './entries.mjs';
import { encode } from './xdr.mjs';

const CREATED = 0;
const UPDATED = 1;
const REMOVED = 2;
const STATE = 3;

export class State {
  #entries = new Map();

  peek(key) {
    return this.#entries.get(key) ?? null;
  }

  absorb(key, entry) {
    if (entry) this.#entries.set(key, entry);
    else this.#entries.delete(key);
  }

  add(entry) {
    this.absorb(keyOf(entry), entry);
  }

  values() {
    return this.#entries.values();
  }

  get size() {
    return this.#entries.size;
  }

  /** Replays LedgerEntryChanges from a ledger's metadata. */
  replay(changes) {
    for (const change of changes) {
      if (change.type === CREATED) this.add(entryFromWire(change.created));
      else if (change.type === UPDATED) this.add(entryFromWire(change.updated));
      else if (change.type === REMOVED) this.absorb(keyFromWire(change.removed), null);
    }
  }
}

export class Layer {
  #parent;
  #touched = new Map();

  constructor(parent, ledger = parent.ledger) {
    this.#parent = parent;
    /** `{sequence, closeTime, baseFee, baseReserve}` of the ledger in which the changes happen. */
    this.ledger = ledger;
  }

  /** The current entry for reading, or null. */
  peek(key) {
    const touched = this.#touched.get(key);
    return touched ? touched.after : this.#parent.peek(key);
  }

  /** The entry for changing; it counts as modified in this ledger. Null when there is none. */
  load(key) {
    const touched = this.#touched.get(key);
    if (touched) return touched.after;
    const before = this.#parent.peek(key);
    if (!before) return null;
    const after = copyEntry(before);
    after.modified = this.ledger.sequence;
    this.#touched.set(key, { before, after });
    return after;
  }

  create(entry) {
    const key = keyOf(entry);
    if (this.peek(key)) throw new Error(`entry ${key} exists`);
    entry.modified = this.ledger.sequence;
    this.absorb(key, entry);
    return entry;
  }

  erase(key) {
    if (!this.peek(key)) throw new Error(`entry ${key} does not exist`);
    this.absorb(key, null);
  }

  absorb(key, entry) {
    const touched = this.#touched.get(key);
    if (touched) touched.after = entry;
    else this.#touched.set(key, { before: this.#parent.peek(key), after: entry });
  }

  commit() {
    for (const [key, { after }] of this.#touched) this.#parent.absorb(key, after);
  }

  /** The earlier value of each entry that this layer accessed; null for none. */
  before() {
    return new Map([...this.#touched].map(([key, { before }]) => [key, before]));
  }

  /** The entries of `kind` that this layer leaves. */
  *remaining(kind) {
    for (const { after } of this.#touched.values()) if (after?.kind === kind) yield after;
  }

  /** `{before, after}` of each entry that changed; null for none. */
  differences() {
    return [...this.#touched.values()].filter(({ before, after }) => !isTransient(before ?? after ?? {}));
  }

  /** The changes as LedgerEntryChanges, in the order of first access. */
  changes() {
    const changes = [];
    for (const { before, after } of this.differences()) {
      if (before) changes.push({ type: STATE, state: entryToWire(before) });
      if (before && after) changes.push({ type: UPDATED, updated: entryToWire(after) });
      else if (before) changes.push({ type: REMOVED, removed: entryKey(before) });
      else if (after) changes.push({ type: CREATED, created: entryToWire(after) });
    }
    return changes;
  }

  /** A hash over the current values of the changed entries. */
  hash() {
    const hash = createHash('sha256');
    for (const [key, { after }] of this.#touched) hash.update(after ? encode('LedgerEntry', entryToWire(after)) : key);
    return hash.digest();
  }
}
