// Runs xdr_judge, our decoder behind a pipe.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const program = process.env.XDR_JUDGE ?? join(root, process.env.BUILD ?? 'build', 'tests/xdr/xdr_judge');
/** tests/inspect, which prints XDR as JSON. */
export const inspector = join(program, '../../inspect/inspect');

/** Returns one answer for each line. */
export function judge(lines) {
  const { status, stdout, stderr, error } = spawnSync(program, { input: lines.map((line) => `${line}\n`).join(''), maxBuffer: 2 ** 30 });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return stdout.toString().trimEnd().split('\n');
}

export const base64 = (bytes) => Buffer.from(bytes).toString('base64');
