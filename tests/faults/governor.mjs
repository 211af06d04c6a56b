// Keeps the pool of a storm as full as required: measures the share of active accounts that is leased, and makes clients hold their leases
// longer or shorter. When they hold them no longer and the pool is still too full, for example on a slow machine, it makes them ask less often.
import { sleep } from '../e2e/harness.mjs';
import { HOLD_MAX_MS } from './swarm.mjs';

const EVERY_MS = 400, GAIN = 0.35, HOLD_START_MS = 1500, HOLD_MIN_MS = 20, THINK_MAX_MS = 10_000;

const SAMPLE = `SELECT count(*) FILTER (WHERE lease_hash IS NOT NULL), count(*) FROM fairway.channel_accounts WHERE state = 'active'`;

export class Governor {
  #running = true;
  /** {at, share, holdMs} */
  samples = [];

  /** sql: runs a query, and throws while the database is unavailable. target: the share of active accounts that should be leased. */
  constructor({ sql, swarm, target }) {
    Object.assign(this, { sql, swarm, target });
    swarm.holdMs = HOLD_START_MS;
    this.thinkMs = swarm.thinkMs;
    this.done = this.#run();
  }

  async #run() {
    while (this.#running) {
      await sleep(EVERY_MS * (0.5 + Math.random())); // so that samples and ledgers do not stay in step
      const rows = await this.sql(SAMPLE).catch(() => []);
      const [leased, active] = (rows[0] ?? []).map(Number);
      if (!(active > 0))
        continue;
      const share = leased / active, { swarm } = this;
      this.samples.push({ at: Date.now(), share, holdMs: swarm.holdMs });
      this.#steer(Math.exp(GAIN * (this.target - share)));
    }
  }

  /** factor: above 1 for more leases at a time. */
  #steer(factor) {
    const { swarm } = this, asksLess = swarm.thinkMs > this.thinkMs || swarm.holdMs === HOLD_MIN_MS && factor < 1;
    if (asksLess)
      swarm.thinkMs = Math.min(THINK_MAX_MS, Math.max(this.thinkMs, swarm.thinkMs / factor));
    else
      swarm.holdMs = Math.min(HOLD_MAX_MS, Math.max(HOLD_MIN_MS, swarm.holdMs * factor));
  }

  async stop() {
    this.#running = false;
    await this.done;
    this.swarm.thinkMs = this.thinkMs;
  }

  /** {minutes, mean, p10, p50, p90, byMinute} of the shares, without the first skipMs, in which the pool fills up. */
  report(skipMs = 15_000) {
    const round = x => Math.round(x * 1000) / 1000, mean = list => round(list.reduce((sum, x) => sum + x, 0) / list.length);
    const begun = this.samples[0]?.at ?? 0, kept = this.samples.filter(({ at }) => at - begun >= skipMs);
    if (kept.length === 0)
      return { minutes: 0, mean: 0 };
    const sorted = kept.map(({ share }) => share).sort((a, b) => a - b), at = p => round(sorted[Math.floor(p * (sorted.length - 1))]);
    const minutes = Object.groupBy(kept, sample => Math.floor((sample.at - begun) / 60_000));
    return { minutes: round((kept.at(-1).at - kept[0].at) / 60_000), mean: mean(sorted), p10: at(0.1), p50: at(0.5), p90: at(0.9),
      byMinute: Object.values(minutes).map(list => mean(list.map(({ share }) => share))) };
  }
}
