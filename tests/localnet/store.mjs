// Storage of ledgers, in a directory or in memory. Both return what was appended, in order, and lose nothing after `append` has
// resolved.

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { genesisHeader, hashHeader } from './header.mjs';
import { newAccount } from './entries.mjs';
import { lockDirectory } from './lock.mjs';
import { TOTAL_COINS } from './network.mjs';
import { Segment, writeDurably } from './segment.mjs';
import { State } from './state.mjs';
import { decode } from './xdr.mjs';

const FORMAT = 1;
const SEGMENT_BYTES = 16 * 1024 * 1024;
const SEGMENT_LEDGERS = 5_000;

/** The data directory cannot be used by this network; the message says why. */
export class UnusableData extends Error {}

const genesis = (network) => {
  const header = genesisHeader(network);
  const state = new State();
  state.add({ ...newAccount({ id: network.root.id, balance: TOTAL_COINS, sequence: 0n }), modified: header.ledgerSeq });
  return { header, state };
};

/** Follows the metadata of one ledger: returns the state after it, provided that it continues `head`. */
const follow = (head, state, meta) => {
  const { ledgerHeader, txProcessing } = meta.v2;
  const { header, hash } = ledgerHeader;
  if (!hashHeader(header).equals(hash))
    throw new UnusableData(`ledger ${header.ledgerSeq} does not have the hash that it claims`);
  if (!head.hash.equals(header.previousLedgerHash))
    throw new UnusableData(`ledger ${header.ledgerSeq} does not follow its predecessor`);
  for (const { feeProcessing } of txProcessing) state.replay(feeProcessing);
  for (const { txApplyProcessing } of txProcessing) {
    const { txChangesBefore, operations, txChangesAfter } = txApplyProcessing.v4;
    state.replay(txChangesBefore);
    for (const { changes } of operations) state.replay(changes);
    state.replay(txChangesAfter);
  }
  for (const { postTxApplyFeeProcessing } of txProcessing) state.replay(postTxApplyFeeProcessing);
  return { header, hash: Buffer.from(hash) };
};

export class MemoryStore {
  /** `{head: {header, hash}, state, ledgers: [{place, xdr, meta?}]}` */
  async load(network) {
    const { header, state } = genesis(network);
    return { head: { header, hash: hashHeader(header) }, state, ledgers: [] };
  }

  async append(meta) {
    return meta;
  }

  read(place) {
    return place;
  }

  /** Called now and then with a committed head, when ledgers older than `oldest` are no longer needed. */
  async trim() {}

  async close() {}
}

export class DirectoryStore {
  #directory;
  #segments = [];
  #unlock;
  #segmentLedgers;

  constructor(directory, unlock, segmentLedgers) {
    this.#directory = directory;
    this.#unlock = unlock;
    this.#segmentLedgers = segmentLedgers;
  }

  /** Throws UnusableData if the directory is in use, or holds anything but this network's ledgers. */
  static async open(directory, network, { segmentLedgers = SEGMENT_LEDGERS } = {}) {
    mkdirSync(directory, { recursive: true });
    const unlock = await lockDirectory(directory);
    if (!unlock) throw new UnusableData(`${directory} is in use by another process`);
    const store = new DirectoryStore(directory, unlock, segmentLedgers);
    try {
      store.#identify(network);
    } catch (error) {
      await unlock();
      throw error;
    }
    return store;
  }

  #identify(network) {
    const path = join(this.#directory, 'network.json');
    if (!existsSync(path)) {
      if (readdirSync(this.#directory).some((name) => name !== 'network.json.tmp')) {
        throw new UnusableData(`${this.#directory} is not empty, and holds no local network`);
      }
      const identity = { format: FORMAT, passphrase: network.passphrase };
      writeDurably(this.#directory, path, [`${JSON.stringify(identity)}\n`]);
      return;
    }
    let identity;
    try {
      identity = JSON.parse(readFileSync(path, 'utf8'));
    } catch {
      throw new UnusableData(`${path} is not readable as JSON`);
    }
    if (identity?.format !== FORMAT)
      throw new UnusableData(`${this.#directory} has format ${identity?.format}, not ${FORMAT}`);
    if (identity.passphrase !== network.passphrase) {
      throw new UnusableData(`${this.#directory} holds the network "${identity.passphrase}", not "${network.passphrase}"`);
    }
  }

  async load(network) {
    const names = readdirSync(this.#directory);
    for (const name of names) if (name.endsWith('.tmp')) rmSync(join(this.#directory, name));
    const firsts = names.filter((name) => /^state-\d{10}\.xdr$/.test(name)).map((name) => Number(name.slice(6, 16)));
    firsts.sort((a, b) => a - b);
    this.#segments = firsts.map((first) => new Segment(this.#directory, first));
    if (this.#segments.length === 0) {
      const { header, state } = genesis(network);
      this.#segments.push(Segment.create(this.#directory, header, state));
    }
    return this.#replay();
  }

  /** Replays only the last segment; of the others it only locates the ledgers. */
  #replay() {
    const last = this.#segments.at(-1);
    const ledgers = this.#segments.slice(0, -1).flatMap((segment) => segment.scan());
    const { header, state } = last.readState();
    let head = { header, hash: hashHeader(header) };
    for (const { place, xdr } of last.scan()) {
      const meta = decode('LedgerCloseMeta', xdr);
      head = follow(head, state, meta);
      ledgers.push({ place, meta, xdr });
    }
    return { head, state, ledgers };
  }

  append(meta) {
    return this.#segments.at(-1).append(meta);
  }

  read(place) {
    return place.segment.read(place);
  }

  async trim(header, state, oldest) {
    const last = this.#segments.at(-1);
    if (last.size >= SEGMENT_BYTES || header.ledgerSeq - last.first + 1 >= this.#segmentLedgers) {
      this.#segments.push(Segment.create(this.#directory, header, state));
    }
    while (this.#segments.length > 1 && this.#segments[1].first <= oldest) this.#segments.shift().remove();
  }

  async close() {
    for (const segment of this.#segments) segment.close();
    await this.#unlock();
  }
}
