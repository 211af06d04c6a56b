// The settled leases of the days before a storm: inserts them (history.sql), and reports at the end which ones the janitor has deleted.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../oracle/envelope.mjs';

const run = promisify(execFile);
const script = path.join(new URL('.', import.meta.url).pathname, 'history.sql');
/** Rows and keys this close to the end of their retention may be deleted before the run is over. */
const MARGIN_HOURS = 3;

export class OldLeases {
  /** body: the request body of every second lease that still has a key. client: its name. */
  static async seed(url, sql, rows, body, client) {
    const leases = new OldLeases();
    const part = Math.ceil(rows / 100), begun = Date.now();
    if (rows > 0)
      await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', `rows=${rows}`, '-v', `old=${part}`, '-v', `stale=${part}`, '-v', `client=${client}`,
        '-v', `digest=${sha256(body).toString('hex')}`, url, '-f', script]);
    const [[seededAt]] = await sql('SELECT clock_timestamp()');
    Object.assign(leases, { sql, seededAt, safeKeys: Math.floor(rows * (24 - MARGIN_HOURS) / (7 * 24)) });
    const [[kept, keys, old, oldKeys]] = await leases.#read();
    leases.count = { rows, withKey: Number(keys), tooOld: Number(old), keysTooOld: Number(oldKeys), seconds: Math.round((Date.now() - begun) / 1000) };
    Object.assign(leases, { kept, keys });
    return leases;
  }

  #read() {
    const at = `timestamptz '${this.seededAt}'`;
    return this.sql(`SELECT count(*) FILTER (WHERE settled_at > ${at} - interval '7 days' + interval '${MARGIN_HOURS} hours'),
        count(*) FILTER (WHERE idempotency_key IS NOT NULL AND granted_at > ${at} - interval '${24 - MARGIN_HOURS} hours'),
        count(*) FILTER (WHERE settled_at < ${at} - interval '7 days'),
        count(*) FILTER (WHERE idempotency_key IS NOT NULL AND granted_at < ${at} - interval '24 hours')
      FROM fairway.lease_history WHERE request_id = 'history'`);
  }

  /** Whether the janitor has deleted everything that was too old at the beginning. */
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
