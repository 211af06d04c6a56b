// Faults of a network and of the nodes in front of it, within the protocol's rules. All are off by default, and a seed decides.
// What happens to a transaction follows from the seed and its hash, whenever it arrives; everything else from the seed and how
// often the same decision was made before.

import { sha256 } from './network.mjs';

const PROBABILITY = { max: 1, isWhole: false };
const count = (max) => ({ max, isWhole: true });

/** Every setting with its bounds; all are 0 at first. Probabilities are from 0 to 1. */
const SETTINGS = Object.freeze({
  // The node that responds.
  lagLedgers: count(40), // is this many ledgers behind
  lagSpread: count(40), // or, behind a load balancer, is up to this many further behind, a different number each time
  loseRequest: PROBABILITY, // closes the connection before it does anything
  loseAnswer: PROBABILITY, // does what was requested, then closes the connection
  delayMs: count(60_000), // takes up to this long
  tooManyRequests: PROBABILITY, // HTTP 429
  unavailable: PROBABILITY, // HTTP 503
  internalError: PROBABILITY, // JSON-RPC error -32603
  tryAgainLater: PROBABILITY, // responds so to sendTransaction, and does nothing
  snapshotMissing: PROBABILITY, // getLedgerEntries: names a ledger whose snapshot its core has not published yet
  emptyStoreMs: count(600_000), // has just started with an empty store, for this long from when it is set
  // A submitted transaction.
  loseSubmission: PROBABILITY, // PENDING, but never included
  delayLedgers: count(100), // reaches the ledgers up to this many later, and so in another order
  late: PROBABILITY, // is included in the last ledger that may include it
  // A ledger.
  emptyLedger: PROBABILITY, // is empty although transactions wait
  dropLedger: PROBABILITY, // agrees on a set and drops it (CAP-83)
  jump: PROBABILITY, // closes ahead of the clock
  jumpSeconds: count(60), // by up to this much
  scatterMs: count(10_000), // closes up to this much later than is due; the next ones are due as without it
});

const hashToUnit = (...parts) => sha256(Buffer.from(parts.join(' '))).readUInt32BE(0) / 2 ** 32;

export class Faults {
  #settings = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, 0]));
  #decided = new Map();
  #emptyUntil = 0;
  /** How often each fault has happened. */
  fired = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, 0]));

  constructor({ seed = 1, ...settings } = {}) {
    this.seed = String(seed);
    this.configure(settings);
  }

  get settings() {
    return { seed: this.seed, ...this.#settings };
  }

  /** Changes what is given; `reset` first turns everything off. Throws RangeError and changes nothing if a value is wrong. */
  configure({ seed = this.seed, reset = false, ...settings }) {
    for (const [name, value] of Object.entries(settings)) {
      const bounds = SETTINGS[name];
      if (!bounds) throw new RangeError(`there is no fault ${name}`);
      const fits = typeof value === 'number' && value >= 0 && value <= bounds.max;
      if (!fits || (bounds.isWhole && !Number.isInteger(value)))
        throw new RangeError(`${name} takes ${bounds.isWhole ? 'a whole number' : 'a probability'} from 0 to ${bounds.max}`);
    }
    if (String(seed) !== this.seed) this.#decided.clear();
    this.seed = String(seed);
    if (reset) for (const name of Object.keys(this.#settings)) this.#settings[name] = 0;
    Object.assign(this.#settings, settings);
    if (reset || settings.emptyStoreMs !== undefined)
      this.#emptyUntil = performance.now() + this.#settings.emptyStoreMs;
  }

  #unit(name) {
    const times = this.#decided.get(name) ?? 0;
    this.#decided.set(name, times + 1);
    return hashToUnit(this.seed, name, times);
  }

  #fire(name, happens) {
    if (happens) this.fired[name]++;
    return happens;
  }

  /** Whether the fault happens this time. */
  happens(name) {
    return this.#settings[name] > 0 && this.#fire(name, this.#unit(name) < this.#settings[name]);
  }

  /** Whether the RPC has no ledger in its store yet. */
  storeIsEmpty() {
    return this.#fire('emptyStoreMs', performance.now() < this.#emptyUntil);
  }

  /** Whether the fault happens to this transaction. */
  happensTo(name, transaction) {
    const probability = this.#settings[name];
    return probability > 0 && this.#fire(name, hashToUnit(this.seed, name, transaction.hashHex) < probability);
  }

  /** A whole number up to the setting. */
  upTo(name) {
    const max = this.#settings[name];
    const value = max === 0 ? 0 : Math.floor(this.#unit(name) * (max + 1));
    this.#fire(name, value > 0);
    return value;
  }

  /** By how many ledgers the transaction is delayed. */
  delayOf(transaction) {
    const max = this.#settings.delayLedgers;
    const value = max === 0 ? 0 : Math.floor(hashToUnit(this.seed, 'delayLedgers', transaction.hashHex) * (max + 1));
    this.#fire('delayLedgers', value > 0);
    return value;
  }

  /** By how many ledgers the responding node lags this time. */
  lag() {
    const lag = this.#settings.lagLedgers + this.upTo('lagSpread');
    this.#fire('lagLedgers', this.#settings.lagLedgers > 0);
    return lag;
  }
}
