// A contest for accounts that are short: clients in groups of equal size, each pinned to one replica, while all replicas live. Every
// request, how long its answer took and what it was, goes to the oracle, which judges whether the replicas served their clients alike.
import crypto from 'node:crypto';
import { sleep } from '../e2e/harness.mjs';
import { Random } from './random.mjs';

export class Contest {
  #running = true;

  constructor({ number, requests, swarm, fleet, history, seed }) {
    Object.assign(this, { number, requests, swarm, fleet, history, seed });
  }

  /** clients: of each replica. Resolves when the last request has been answered. */
  async run(clients, ms) {
    this.requests.running = true;
    const loops = this.fleet.places.flatMap((_, replica) => Array.from({ length: clients }, (_, i) =>
      this.#client(new Random(this.seed, `contest ${this.number} ${replica} ${i}`), replica, i % this.swarm.users.length)));
    await sleep(ms);
    this.#running = false;
    await Promise.all(loops);
    this.requests.running = false;
  }

  async #client(random, replica, user) {
    let key = null;
    while (this.#running) {
      key ??= `${this.seed}-${crypto.randomUUID()}`;
      const begun = performance.now();
      const answer = await this.requests.post(this.fleet.places[replica], '/v1/transactions', this.swarm.body(user), key);
      this.history.append('contest_request', this.number, replica, Math.round(performance.now() - begun), answer?.status ?? null,
        answer?.json.code ?? null);
      if (answer?.status === 201) {
        await this.requests.bumpAndSubmit(random, this.swarm.users[user], this.requests.take(random, answer.json, key));
        key = null;
      } else
        await sleep(random.between(50, 150));
    }
  }
}
