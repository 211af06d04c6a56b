// The host of a contract call: the entries that it may access, the authorizations that it may use, and its effects.
//
// A call that is applied may access what its footprint names. A simulated call may access everything, and its accesses become the
// footprint. Both run the same code.

import { entryKey, entryToWire, keyFromWire, keyOf } from '../entries.mjs';
import { newContractData, newTtl, ttlHash, ttlKey, contractDataKey, Durability } from '../entries/contract-data.mjs';
import { encode } from '../xdr.mjs';
import { INSTRUCTIONS, LIFETIME } from './config.mjs';

/** The call failed; `kind` is as in a HostError, such as `Contract, #10`. */
export class HostError extends Error {
  constructor(kind, words) {
    super(`HostError: Error(${kind})\n\n${words}`);
    this.words = words;
  }
}

export class Host {
  #footprint;
  #touched = new Map();

  /**
   * `footprint` is `{readOnly, readWrite}` of LedgerKeys, or null during simulation. `source` is the id of the account whose
   * operation it is. `authorization` decides what has been authorized.
   */
  constructor({ layer, footprint, source, network, verifier, authorization }) {
    this.layer = layer;
    this.source = source;
    this.network = network;
    this.verifier = verifier;
    this.authorization = authorization;
    this.events = [];
    this.instructions = 0;
    /** `{size, isPersistent, ledgers}` of entries whose life was extended, which has to be paid for. */
    this.rents = [];
    this.#footprint = footprint && {
      readOnly: new Set(footprint.readOnly.map(keyFromWire)),
      readWrite: new Set(footprint.readWrite.map(keyFromWire)),
    };
  }

  get ledger() {
    return this.layer.ledger;
  }

  /** Counts work; `what` is one of INSTRUCTIONS. */
  charge(what) {
    this.instructions += INSTRUCTIONS[what];
  }

  #touch(key, wireKey, isWrite) {
    const known = this.#touched.get(key);
    if (known?.isWrite || (known && !isWrite)) return;
    if (this.#footprint) {
      const allowed = this.#footprint.readWrite.has(key) || (!isWrite && this.#footprint.readOnly.has(key));
      if (!allowed) throw new HostError('Storage, ExceededLimit', 'the footprint does not have an entry that the call uses');
    }
    this.#touched.set(key, { wireKey, isWrite });
  }

  /** All accesses, as a footprint. */
  get footprint() {
    const keys = [...this.#touched.values()];
    const those = (isWrite) => keys.filter((touched) => touched.isWrite === isWrite).map(({ wireKey }) => wireKey);
    return { readOnly: those(false), readWrite: those(true) };
  }

  /** An entry for reading, or null. `like` is any entry with its key. */
  peek(like) {
    const key = keyOf(like);
    this.#touch(key, entryKey(like), false);
    return this.layer.peek(key);
  }

  /** An entry for changing, or null. */
  load(like) {
    const key = keyOf(like);
    this.#touch(key, entryKey(like), true);
    return this.layer.load(key);
  }

  /** The value of contract data, or null. `fields` are `{contract, key, durability}`. */
  read(fields) {
    return this.peek(newContractData(fields))?.val ?? null;
  }

  /** Sets contract data. A new entry lives for the minimum that the network allows. */
  write(fields, val) {
    const existing = this.load(newContractData(fields));
    if (existing) {
      existing.val = val;
      return;
    }
    const isPersistent = fields.durability === Durability.PERSISTENT;
    const ledgers = isPersistent ? LIFETIME.minPersistent : LIFETIME.minTemporary;
    const entry = this.layer.create(newContractData({ ...fields, val }));
    const liveUntil = this.ledger.sequence + ledgers - 1;
    this.layer.create(newTtl({ keyHash: ttlHash(fields), liveUntil }));
    this.rents.push({ size: encode('LedgerEntry', entryToWire(entry)).length, isPersistent, ledgers });
  }

  /** Extends contract data to `to` more ledgers if it has less than `threshold` left. */
  extend(fields, { threshold, to }) {
    const key = ttlKey(ttlHash(fields));
    const { liveUntil } = this.layer.peek(key);
    const wanted = this.ledger.sequence + Math.min(to, LIFETIME.max - 1);
    if (liveUntil - this.ledger.sequence > threshold || wanted <= liveUntil) return;
    this.layer.load(key).liveUntil = wanted;
    const size = encode('LedgerEntry', entryToWire(this.layer.peek(contractDataKey(fields)))).length;
    const isPersistent = fields.durability === Durability.PERSISTENT;
    this.rents.push({ size, isPersistent, ledgers: wanted - liveUntil });
  }

  emit(event) {
    this.events.push(event);
  }
}
