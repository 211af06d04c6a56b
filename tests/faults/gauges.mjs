// During a storm, compares what /metrics and /status.json of a replica say with the database. A comparison counts only when no transaction has
// committed from the database's answer before to that after it.
import { Session } from '../e2e/session.mjs';
import { sleep } from '../e2e/harness.mjs';

const EVERY_MS = 100, QUIET_MS = 20_000;
const accounts = which => `(SELECT count(*) FROM fairway.channel_accounts WHERE ${which})`;
/** Gauges, and where the database has them; those in seconds may be one apart. */
const gauges = {
  'fairway_channel_accounts{state="idle"}': accounts("state = 'active' AND lease_hash IS NULL"),
  'fairway_channel_accounts{state="leased"}': accounts("state = 'active' AND lease_hash IS NOT NULL"),
  'fairway_channel_accounts{state="creating"}': accounts("state = 'creating'"),
  'fairway_channel_accounts{state="retiring"}': accounts("state = 'retiring'"),
  'fairway_channel_accounts{state="quarantined"}': accounts("state = 'quarantined'"),
  'fairway_submissions{state="pending"}': '(SELECT count(*) FROM fairway.submissions WHERE rejected IS NULL)',
  'fairway_submissions{state="rejected"}': '(SELECT count(*) FROM fairway.submissions WHERE rejected IS NOT NULL)',
  fairway_provisioning_pending: "(SELECT (count(*) > 0)::int FROM fairway.provisioning WHERE state = 'pending')",
  fairway_cursor_ledger: '(SELECT sequence FROM fairway.cursor)',
  fairway_cursor_close_time_seconds: '(SELECT close_time FROM fairway.cursor)',
  fairway_grants_held_until_seconds: '(SELECT coalesce(held_until, 0) FROM fairway.cursor)',
  fairway_distribution_balance_stroops: '(SELECT balance FROM fairway.funds)',
  fairway_distribution_spendable_stroops: '(SELECT spendable FROM fairway.funds)',
  fairway_oldest_lease_seconds: `(SELECT coalesce(floor(extract(epoch FROM clock_timestamp() - min(locked_at))), 0) FROM fairway.channel_accounts
    WHERE lease_hash IS NOT NULL)`,
  fairway_cursor_lag_seconds: '(SELECT floor(extract(epoch FROM clock_timestamp())) - close_time FROM fairway.cursor)',
};
const names = Object.keys(gauges), select = `SELECT pg_current_snapshot(), ${Object.values(gauges).join(', ')}`;

export class Gauges {
  #running = true;
  /** How often each gauge was compared. */
  compared = Object.fromEntries(names.map(name => [name, 0]));
  wrong = [];

  constructor({ url, fleet, random }) {
    Object.assign(this, { url, fleet, random, session: new Session(url), tries: 0 });
    this.done = this.#run();
  }

  async #read() {
    if (this.session.over)
      this.session = new Session(this.url);
    const [row] = (await this.session.query(select) ?? '').split('\n');
    return row === '' ? null : row.split('\t');
  }

  async #compare(service) {
    const before = await this.#read(), metrics = await service.metrics(), after = await this.#read();
    if (before === null || before[0] !== after?.[0])
      return;
    for (const [i, name] of names.entries()) {
      const slack = /(oldest_lease|lag)_seconds$/.test(name) ? 1 : 0;
      if (metrics[name] === undefined)
        continue; // the replica could not read the database
      this.compared[name]++;
      if (metrics[name] < Number(before[i + 1]) - slack || metrics[name] > Number(after[i + 1]) + slack)
        this.wrong.push(`gauge: ${name} was ${metrics[name]}, in the database ${before[i + 1]}`);
    }
  }

  async #run() {
    for (; this.#running; await sleep(EVERY_MS))
      if (this.fleet.up.length > 0) {
        this.tries++;
        await this.#compare(this.random.pick(this.fleet.up)).catch(() => {}); // the replica or the database was killed meanwhile
      }
  }

  /** Compares on until each gauge was compared, in a database that is quiet now; what was never compared is wrong, too. */
  async stop() {
    const end = Date.now() + QUIET_MS;
    while (Object.values(this.compared).includes(0) && Date.now() < end)
      await sleep(EVERY_MS);
    this.#running = false;
    await this.done;
    this.session.end();
    for (const [name, count] of Object.entries(this.compared).filter(([, count]) => count === 0))
      this.wrong.push(`gauge: ${name} was compared ${count} times in ${this.tries}`);
  }
}
