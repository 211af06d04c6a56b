// What PostgreSQL's statistics say about fairway's tables: that they are empty, or that a page has a hundred million rows. Sessions plan again by each
// change. In a storm they change again and again, because autovacuum corrects them.
import { sleep } from '../e2e/harness.mjs';

const EVERY_MS = 5000;
export const sizes = { empty: 0, huge: 100_000_000 };

/** The SQL that makes them say this size, a name of sizes; as say() of tests/sql/setup.sql. */
export const say = size => `UPDATE pg_class SET reltuples = ${sizes[size]}, relpages = 1, relallvisible = ${Math.min(sizes[size], 1)}
  WHERE relnamespace = 'fairway'::regnamespace AND relkind IN ('r', 'i')`;

export class Statistics {
  #running = true;
  /** How often they were changed to each. */
  count = Object.fromEntries(Object.keys(sizes).map(size => [size, 0]));

  constructor({ sql, random }) {
    this.done = this.#run(sql, random);
  }

  async #run(sql, random) {
    for (let i = random.between(0, 1); this.#running; i++) {
      for (const end = Date.now() + EVERY_MS; this.#running && Date.now() < end;)
        await sleep(100);
      const size = Object.keys(sizes)[i % 2];
      await sql(say(size)).then(() => this.count[size]++, () => {}); // the database was killed, or autovacuum has changed the same row
    }
  }

  async stop() {
    this.#running = false;
    await this.done;
  }
}
