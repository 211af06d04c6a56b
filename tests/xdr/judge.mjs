// Runs xdr_judge, our decoder behind a pipe, and rust_judge, the decoder of the crate stellar-xdr.
import { execFileSync, spawnSync } from 'node:child_process';
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
export const hex = (bytes) => Buffer.from(bytes).toString('hex');

// The crate's names that differ from the SDK's.
const RUST_NAMES = { Uint128Parts: 'UInt128Parts', Uint256Parts: 'UInt256Parts', Uint256Bytes: 'Uint256' };

/** Returns for each {name, bytes} the hex text to which the decoded value is encoded again, or "refused". */
export function rustJudge(values) {
  const input = values.map(({ name, bytes }) => `${RUST_NAMES[name] ?? name} ${hex(bytes)}\n`).join('');
  return execFileSync(join(root, 'build/packages/rust_judge'), { input, maxBuffer: 2 ** 30, encoding: 'utf8' }).trimEnd().split('\n');
}
