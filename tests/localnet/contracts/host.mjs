// The host of a contract call: the entries that it may access, the authorizations that it may use, and its effects.
//
// A call that is applied may access what its footprint names. A simulated call may access everything, and its accesses become the
// footprint. Both run the same code.

import { entryKey, entryToWire, keyFromWire, keyOf } from '../entries.mjs';
import { newContractData, newTtl, ttlHash, ttlKey, contractDataKey, Durability } from '../entries/contract-data.mjs';
import { encode } from '../xdr.mjs';
import { diagnosticEvent } from '../diagnostics.mjs';
import { INSTRUCTIONS, LIFETIME } from './config.mjs';
import * as values from './values.mjs';

/** The call failed; `kind` is as in a HostError, such as `Contract, #10`. `data` is that of its event, and `cause` the error before it. */
export class HostError extends Error {
  contractId = null;

  constructor(kind, words, { data = values.string(words), cause } = {}) {
    const log = [`topics:[error, Error(${kind})], data:"${words}"`, ...(cause?.log ?? [])];
    super(`HostError: Error(${kind})\n\nEvent log (newest first):\n${log.map((line, index) => `   ${index}: ${line}`).join('\n')}`, { cause });
    Object.assign(this, { kind, log, data });
  }

  /** DiagnosticEvents, the oldest first. */
  get events() {
    const { cause, contractId, kind, data } = this;
    return [...(cause?.events ?? []), diagnosticEvent({ contractId, topics: [values.error(kind)], data })];
  }
}

export class Host {
  /** What is being executed, outermost first: `{contract, fn}`, the contract's address and the call as a SorobanAuthorizedFunction. */
  frames = [];
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

  /** Runs a part of the call in a frame of its own; an error is attributed to its contract. */
  within(frame, run) {
    this.frames.push(frame);
    try {
      return run();
    } catch (error) {
      if (error instanceof HostError) error.contractId ??= frame.contract?.contractId ?? null;
      throw error;
    } finally {
      this.frames.pop();
    }
  }

  /** Throws HostError unless `address` has authorized the current call. What a contract itself calls it authorizes. */
  requireAuth(address) {
    const caller = this.frames.at(-2)?.contract;
    if (!caller || values.addressName(caller) !== values.addressName(address)) this.authorization.require(this, address);
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
