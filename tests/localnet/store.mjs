// Storage of ledgers, in a file or in memory. Both return what was appended, in order. The file has each LedgerCloseMeta after its length (4 bytes,
// big endian), and a start applies them again, 15,000 a second. A process that is killed loses nothing that was served; a host may.

import { appendFileSync, closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { genesisHeader, hashHeader } from './header.mjs';
import { newAccount } from './entries.mjs';
import { TOTAL_COINS } from './network.mjs';
import { State } from './state.mjs';
import { decode } from './xdr.mjs';

const HEADER_LENGTH = 4;

/** The file does not have a chain of ledgers; the message says why. */
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
  /** `{head: {header, hash}, state, ledgers: [{place, xdr}]}` */
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

  close() {}
}

/** Each network has a file of its own in the directory. One process at a time may open it. */
export class FileStore extends MemoryStore {
  #descriptor;
  #end = 0;

  constructor(directory, network) {
    super();
    mkdirSync(directory, { recursive: true });
    this.#descriptor = openSync(join(directory, `ledgers-${network.id.toString('hex').slice(0, 16)}.xdr`), 'a+');
  }

  /** Cuts off the incomplete ledger of a process that was killed. */
  async load(network) {
    const loaded = await super.load(network);
    const bytes = readFileSync(this.#descriptor);
    for (let place; (place = this.#next(bytes)) !== null; this.#end = place.offset + place.length) {
      const xdr = bytes.subarray(place.offset, place.offset + place.length);
      loaded.head = follow(loaded.head, loaded.state, decode('LedgerCloseMeta', xdr));
      loaded.ledgers.push({ place, xdr });
    }
    ftruncateSync(this.#descriptor, this.#end);
    return loaded;
  }

  #next(bytes) {
    const offset = this.#end + HEADER_LENGTH;
    const length = offset <= bytes.length ? bytes.readUInt32BE(this.#end) : Infinity;
    return offset + length <= bytes.length ? { offset, length } : null;
  }

  async append(meta) {
    const length = Buffer.alloc(HEADER_LENGTH);
    length.writeUInt32BE(meta.length);
    appendFileSync(this.#descriptor, Buffer.concat([length, meta]));
    const place = { offset: this.#end + HEADER_LENGTH, length: meta.length };
    this.#end = place.offset + place.length;
    return place;
  }

  read({ offset, length }) {
    const bytes = Buffer.alloc(length);
    readSync(this.#descriptor, bytes, 0, length, offset);
    return bytes;
  }

  close() {
    closeSync(this.#descriptor);
  }
}
