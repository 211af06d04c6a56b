// The chain as one node sees it: the last closed ledger, the state after it, the queue for the next ledger, and the history.

import { EventEmitter } from 'node:events';
import { closeLedger } from './close.mjs';
import { Faults } from './faults.mjs';
import { earliestAfter } from './header.mjs';
import { History, describeTransaction } from './history.mjs';
import { Past } from './past.mjs';
import { Status } from './queue.mjs';
import { Queues } from './queues.mjs';
import { selectTransactions } from './txset.mjs';
import { Delayed } from './delayed.mjs';
import { checkValid } from './validity.mjs';
import { decode } from './xdr.mjs';

/** The target of a real network. Decides how early a transaction is refused as too late when ledgers are closed by hand. */
const DEFAULT_TARGET_MS = 5_000;

/**
 * Emits `nominating` before a ledger's transactions are chosen, and `closed` with `{header, items, queued}` once it is durable and
 * served. `queued` is what `queued` was when they were chosen.
 */
export class Chain extends EventEmitter {
  #network;
  #verifier;
  #store;
  #clock;
  #targetMs;
  #retention;
  #faults;
  #delayed;
  #closing = Promise.resolve();
  #upgrades = {};

  constructor({ network, verifier, store, clock, targetMs, retention, faults = new Faults() }) {
    super();
    this.#network = network;
    this.#verifier = verifier;
    this.#store = store;
    this.#clock = clock;
    this.targetMs = targetMs;
    this.#retention = retention;
    this.#faults = faults;
    this.#delayed = new Delayed(faults);
    this.past = new Past();
    this.queue = new Queues({ verifier, maxOperations: () => this.head.header.maxTxSetSize });
  }

  async open() {
    const { head, state, ledgers } = await this.#store.load(this.#network);
    this.head = head;
    /** The newest protocol that the node understands: the first number of its version. */
    this.supportedProtocol = head.header.ledgerVersion;
    this.state = state;
    this.history = new History({ store: this.#store, network: this.#network, retention: this.#retention, header: head.header });
    for (const ledger of ledgers) this.history.add(ledger);
    if (ledgers.length === 0) await this.closeLedger();
    return this;
  }

  /** The next ledger upgrades the network: `{protocol?, baseFee?, maxTxSetSize?}`. */
  upgrade(upgrades) {
    Object.assign(this.#upgrades, upgrades);
    this.supportedProtocol = Math.max(this.supportedProtocol, upgrades.protocol ?? 0);
  }

  set targetMs(ms) {
    this.#targetMs = ms || DEFAULT_TARGET_MS;
  }

  get closeTime() {
    return this.head.header.scpValue.closeTime;
  }

  now() {
    return BigInt(Math.floor(this.#clock() / 1000));
  }

  /** What waits for a ledger, as `{hash, innerHash, fee}`; without a fee bump both hashes are the same. What is delayed is marked. */
  get queued() {
    const describe = ({ hashHex, innermost, fee }) => ({ hash: hashHex, innerHash: innermost.hashHex, fee: String(fee) });
    return [
      ...this.queue.transactions.map(describe),
      ...this.#delayed.transactions.map((transaction) => ({ ...describe(transaction), delayed: true })),
    ];
  }

  /** Submits to an up-to-date node. Returns `{status, outcome?}`, as the queue does. */
  submit(transaction) {
    return this.#submit(transaction, this.state, this.#nextLedger(this.closeTime), this.#latenessMargin());
  }

  /** Submits to a node whose last ledger is `sequence`: it validates with the state of that ledger. */
  submitAt(transaction, sequence, state, closeTime) {
    const next = { ...this.#nextLedger(closeTime), sequence: sequence + 1 };
    const outcome = checkValid(transaction, state, next, this.#verifier, this.#latenessMargin());
    return outcome.ok ? this.submit(transaction) : { status: Status.ERROR, outcome };
  }

  /** The head after an earlier ledger that is still served. */
  headAt(sequence) {
    if (sequence === this.head.header.ledgerSeq) return this.head;
    const { header, hash } = decode('LedgerHeaderHistoryEntry', this.history.ledger(sequence).headerXdr);
    return { header, hash: Buffer.from(hash) };
  }

  #submit(transaction, state, ledger, late) {
    if (this.#delayed.has(transaction)) return { status: Status.DUPLICATE };
    const result = this.queue.submit(transaction, state, ledger, late);
    if (result.status === Status.PENDING && this.#delayed.take(transaction, this.history.latest))
      this.queue.withdraw(transaction);
    return result;
  }

  /**
   * Closes one ledger with what is queued, and resolves to its header. Calls run one after the other. After a failed call no
   * other is tried, because the state that it left is unknown.
   */
  closeLedger() {
    this.#closing = this.#closing.then(() => this.#closeNow());
    return this.#closing;
  }

  /** Resolves once no ledger is being closed. */
  async settled() {
    await this.#closing.catch(() => {});
  }

  async #closeNow() {
    this.emit('nominating');
    const queued = this.queued;
    const closeTimeMs = this.#closeTimeMsNow();
    const closeTime = closeTimeMs / 1000n;
    const upgrades = this.#upgrades;
    this.#upgrades = {};
    const { chosen, baseFees, isDropped } = this.#choose(this.#nextLedger(closeTime));
    const { header, hash, meta, layer, items } = await closeLedger({
      network: this.#network,
      verifier: this.#verifier,
      state: this.state,
      previous: this.head,
      transactions: chosen,
      baseFees,
      closeTimeMs,
      isDropped,
      upgrades,
    });
    const place = await this.#store.append(meta);
    this.past.add(header.ledgerSeq, layer.before());
    layer.commit();
    this.head = { header, hash };
    this.history.add({ place, xdr: meta, decodedTransactions: items.map(describeItem) });
    this.queue.ledgerClosed(isDropped ? [] : chosen, this.state, this.#nextLedger(closeTime), this.#latenessMargin());
    this.emit('closed', { header, items, queued });
    return header;
  }

  #closeTimeMsNow() {
    const jump = this.#faults.happens('jump') ? BigInt(this.#faults.upTo('jumpSeconds')) : 0n;
    const now = BigInt(Math.floor(this.#clock())) + jump * 1000n;
    const earliest = earliestAfter(this.head);
    return now > earliest ? now : earliest;
  }

  /** Chooses the transactions of the ledger: `{chosen, baseFees, isDropped}`. */
  #choose(ledger) {
    const nextCloseTime = ledger.closeTime + BigInt(Math.max(1, Math.ceil(this.#targetMs / 1000)));
    const arrived = this.#delayed.arrive(this.state, ledger, nextCloseTime, this.#verifier);
    const sources = new Set(arrived.map(({ source }) => source));
    const waiting = this.queue.nominate(this.state, ledger).filter(({ source }) => !sources.has(source));
    const isEmpty = waiting.length > 0 && arrived.length === 0 && this.#faults.happens('emptyLedger');
    const candidates = isEmpty ? [] : [...arrived, ...waiting];
    const isDropped = candidates.length > 0 && this.#faults.happens('dropLedger');
    if (isDropped) this.#delayed.putBack(arrived, ledger.sequence + 1);
    return { ...selectTransactions(candidates, { ...ledger, maxOperations: this.head.header.maxTxSetSize }), isDropped };
  }

  #nextLedger(closeTime) {
    const { ledgerSeq, baseFee, baseReserve } = this.head.header;
    return { sequence: ledgerSeq + 1, closeTime, baseFee: BigInt(baseFee), baseReserve: BigInt(baseReserve) };
  }

  /** A node requires two ledgers' time of validity, counted from now. (core: getUpperBoundCloseTimeOffset) */
  #latenessMargin() {
    const drift = this.now() - this.closeTime;
    return BigInt(Math.ceil((2 * this.#targetMs) / 1000)) + (drift > 0n ? drift : 0n);
  }
}

const describeItem = ({ transaction, outcome, meta }, index) =>
  describeTransaction({
    hash: transaction.hashHex,
    innerHash: transaction.isFeeBump ? transaction.inner.hashHex : null,
    order: index + 1,
    envelopeXdr: transaction.toBase64(),
    result: outcome.toWire(),
    meta,
  });
