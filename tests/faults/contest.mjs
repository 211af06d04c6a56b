// A contest for scarce accounts: groups of clients of equal size, each pinned to one replica, while all replicas run. Every request, with
// its response and how long it took, goes to the oracle, which judges whether all replicas served their clients equally.
import crypto from 'node:crypto';
import { sleep } from '../e2e/harness.mjs';
import { Random } from './random.mjs';

export class Contest {
  #running = true;

  constructor({ number, requests, swarm, fleet, history, seed }) {
    Object.assign(this, { number, requests, swarm, fleet, history, seed });
  }

  /** clients: number per replica. Resolves when the last request has its response. */
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
      if (answer?.status === 201 || answer?.status === 200) { // 200: an earlier answer was lost
        await this.requests.bumpAndSubmit(random, this.swarm.users[user], this.requests.take(random, answer.json, key));
        key = null;
      } else
        await sleep(random.between(50, 150));
    }
  }
}
