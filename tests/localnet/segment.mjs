// A segment of the chain on disk: the state before its first ledger, and its ledgers.
//
//   state-N.xdr     the LedgerHeader of ledger N-1, then every LedgerEntry at that point; written whole, then renamed
//   ledgers-N.xdr   the LedgerCloseMeta of ledgers N, N+1, ...; appended to, each synced before it is served
//
// Both are streams of record-marked frames as core writes them: 4 bytes big-endian length with the top bit set, then one
// value. A process that is killed can leave half a frame at the end of the ledgers, which is cut off.

import {
  closeSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { entryFromWire, entryToWire } from './entries.mjs';
import { State } from './state.mjs';
import { decode, encode } from './xdr.mjs';

const writeAt = promisify(write);
const sync = promisify(fdatasync);
const LAST_FRAGMENT = 0x80000000;
const HEADER_LENGTH = 4;

const frame = (bytes) => {
  const framed = Buffer.allocUnsafe(HEADER_LENGTH + bytes.length);
  framed.writeUInt32BE((LAST_FRAGMENT | bytes.length) >>> 0);
  bytes.copy(framed, HEADER_LENGTH);
  return framed;
};

/** The complete frames in `bytes`, with their offsets. */
function* frames(bytes) {
  let offset = 0;
  while (offset + HEADER_LENGTH <= bytes.length) {
    const length = bytes.readUInt32BE(offset) & ~LAST_FRAGMENT;
    const start = offset + HEADER_LENGTH;
    if (start + length > bytes.length) return;
    yield { offset: start, length, payload: bytes.subarray(start, start + length) };
    offset = start + length;
  }
}

const number = (sequence) => String(sequence).padStart(10, '0');
const statePath = (directory, first) => join(directory, `state-${number(first)}.xdr`);
const ledgersPath = (directory, first) => join(directory, `ledgers-${number(first)}.xdr`);

export const syncDirectory = (directory) => {
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
};

export const writeDurably = (directory, path, chunks) => {
  const temporary = `${path}.tmp`;
  const descriptor = openSync(temporary, 'w');
  for (const chunk of chunks) writeSync(descriptor, chunk);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(temporary, path);
  syncDirectory(directory);
};

export class Segment {
  #descriptor;
  #end = 0;

  constructor(directory, first) {
    this.directory = directory;
    this.first = first;
    this.#descriptor = openSync(ledgersPath(directory, first), 'a+');
  }

  /** Starts a segment with the state before its first ledger. */
  static create(directory, header, state) {
    const first = header.ledgerSeq + 1;
    const chunks = function* () {
      yield frame(encode('LedgerHeader', header));
      for (const entry of state.values()) yield frame(encode('LedgerEntry', entryToWire(entry)));
    };
    writeDurably(directory, statePath(directory, first), chunks());
    const segment = new Segment(directory, first);
    syncDirectory(directory);
    return segment;
  }

  get size() {
    return this.#end;
  }

  /** `{header, state}` before the first ledger. */
  readState() {
    const state = new State();
    let header = null;
    for (const { payload } of frames(readFileSync(statePath(this.directory, this.first)))) {
      if (header) state.add(entryFromWire(decode('LedgerEntry', payload)));
      else header = decode('LedgerHeader', payload);
    }
    return { header, state };
  }

  /** `{place, xdr}` of each ledger. Cuts off the incomplete frame of a killed process. */
  scan() {
    const bytes = readFileSync(ledgersPath(this.directory, this.first));
    const found = [];
    for (const { offset, length, payload } of frames(bytes)) {
      found.push({ place: { segment: this, offset, length }, xdr: payload });
      this.#end = offset + length;
    }
    if (this.#end < bytes.length) ftruncateSync(this.#descriptor, this.#end);
    return found;
  }

  /** Resolves to the ledger's place once it is durable. */
  async append(meta) {
    const framed = frame(meta);
    const place = { segment: this, offset: this.#end + HEADER_LENGTH, length: meta.length };
    for (let written = 0; written < framed.length;) {
      written += (await writeAt(this.#descriptor, framed, written, framed.length - written)).bytesWritten;
    }
    await sync(this.#descriptor);
    this.#end += framed.length;
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

  remove() {
    this.close();
    rmSync(ledgersPath(this.directory, this.first), { force: true });
    rmSync(statePath(this.directory, this.first), { force: true });
  }
}
