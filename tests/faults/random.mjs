// The random numbers of a storm: a separate stream for each purpose, all from one seed.
import crypto from 'node:crypto';

export class Random {
  #state;

  constructor(seed, name) {
    this.#state = crypto.createHash('sha256').update(`${seed} ${name}`).digest().readUInt32LE(0);
  }

  /** A number from 0 to below 1 (mulberry32). */
  unit() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability) {
    return this.unit() < probability;
  }

  between(low, high) {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  pick(list) {
    return list[Math.floor(this.unit() * list.length)];
  }
}
