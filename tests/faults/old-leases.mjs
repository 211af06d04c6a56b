// The settled leases of the days before a storm: inserts them (history.sql), and reports at the end which ones housekeeping has dropped.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../oracle/envelope.mjs';

const run = promisify(execFile);
const script = path.join(new URL('.', import.meta.url).pathname, 'history.sql');
/** A day whose retention ends within this time may be dropped before the run is over. */
const MARGIN = "interval '3 hours'";

export class OldLeases {
  /** body: the request body of every second lease that still has a key. client: its name. */
  static async seed(url, sql, rows, body, client) {
    const leases = new OldLeases();
    const part = Math.ceil(rows / 100), begun = Date.now();
    if (rows > 0)
      await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', `rows=${rows}`, '-v', `old=${part}`, '-v', `stale=${part}`, '-v', `client=${client}`,
        '-v', `digest=${sha256(body).toString('hex')}`, url, '-f', script]);
    const [[seededAt]] = await sql('SELECT clock_timestamp()');
    Object.assign(leases, { sql, seededAt });
    const [[kept, keys, old, oldKeys]] = await leases.#read();
    // the keys that are kept belong to the newest leases, which have the lowest numbers
    Object.assign(leases, { kept, keys, safeKeys: Number(keys),
      count: { rows, withKey: Number(keys), tooOld: Number(old), keysTooOld: Number(oldKeys), seconds: Math.round((Date.now() - begun) / 1000) } });
    return leases;
  }

  /**
   * Counts what was there before the run, by whole days (UTC): leases, results and fee bumps that must stay, keys that must stay, and
   * those of both that were too old at the beginning.
   */
  #read() {
    const day = moment => `date_trunc('day', ${moment}, 'UTC')`, at = `timestamptz '${this.seededAt}'`;
    return this.sql(`SELECT count(*) FILTER (WHERE NOT is_key AND granted_at >= ${day(`${at} + ${MARGIN} - interval '7 days'`)}),
        count(*) FILTER (WHERE is_key AND granted_at >= ${day(`${at} + ${MARGIN} - interval '1 day'`)}),
        count(*) FILTER (WHERE NOT is_key AND granted_at < ${day(`${at} - interval '7 days'`)}),
        count(*) FILTER (WHERE is_key AND granted_at < ${day(`${at} - interval '1 day'`)})
      FROM (SELECT false AS is_key, granted_at FROM fairway.leases
        UNION ALL SELECT false, granted_at FROM fairway.lease_results
        UNION ALL SELECT false, granted_at FROM fairway.fee_bumps
        UNION ALL SELECT true, granted_at FROM fairway.idempotency_keys) h
      WHERE granted_at < ${at}`);
  }

  /** Whether housekeeping has dropped everything that was too old at the beginning. */
  async gone() {
    const [[, , old, oldKeys]] = await this.#read();
    return old === '0' && oldKeys === '0';
  }

  /** A row of the oracle's final_history. */
  async left() {
    const [[kept, keys, old, oldKeys]] = await this.#read();
    return [this.kept, kept, this.keys, keys, old, oldKeys];
  }
}
