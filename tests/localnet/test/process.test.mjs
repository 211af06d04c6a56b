// The program: options, exit codes, signals, and kill -9 at any time.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Keypair } from '@stellar/stellar-sdk';
import { rpcCall } from './harness.mjs';

const main = fileURLToPath(new URL('../main.mjs', import.meta.url));

const directory = (t) => {
  const path = mkdtempSync(join(tmpdir(), 'localnet-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

class Program {
  output = '';
  errors = '';

  constructor(t, args) {
    this.child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => this.child.kill('SIGKILL'));
    this.exited = new Promise((resolve) => this.child.once('exit', (code, signal) => resolve(code ?? signal)));
    this.ready = new Promise((resolve) =>
      this.child.stdout.on('data', (chunk) => ((this.output += chunk), this.output.includes('\n') && resolve())),
    );
    this.child.stderr.on('data', (chunk) => (this.errors += chunk));
  }

  /** Its URL, from the first line. */
  async url() {
    await Promise.race([this.ready, this.exited]);
    const [line] = this.output.split('\n');
    assert.match(line, /^localnet listening on http:\/\/127\.0\.0\.1:\d+$/, this.errors);
    return line.split(' ').at(-1);
  }
}

const call = async (url, method, params = {}) => (await rpcCall(url, { jsonrpc: '2.0', id: 1, method, params })).result;

test('SIGTERM and SIGINT end the process with 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const program = new Program(t, ['--port', '0', '--ledger-ms', '50', '--data', directory(t)]);
    await program.url();
    program.child.kill(signal);
    assert.equal(await program.exited, 0);
    assert.equal(program.errors, '');
  }
});

test('bad options: a message and 64', async (t) => {
  const bad = [
    ['--prot', '1'],
    ['--port', 'x'],
    ['--port', '65536'],
    ['--listen', 'localhost'],
    ['--first-ledger', '1'],
    ['--hide-friendbot=yes'],
    ['--ledger-ms', '-1'],
    ['--retention', '0'],
    ['extra'],
    ['--data', ''],
    ['--passphrase', ''],
  ];
  const programs = bad.map((args) => new Program(t, args));
  for (const [index, program] of programs.entries()) {
    assert.equal(await program.exited, 64, bad[index].join(' '));
    assert.match(program.errors, /^localnet: [^]+\nusage: /);
    assert.equal(program.output, '');
  }
});

test('ledgers that are no chain: a message and 78; a port in use: 69', async (t) => {
  const data = directory(t);
  const first = new Program(t, ['--port', '0', '--ledger-ms', '15', '--data', data]);
  const url = await first.url();
  const busy = new Program(t, ['--port', new URL(url).port]);
  assert.equal(await busy.exited, 69);
  while ((await call(url, 'localnet_status')).latestLedger < 4) await new Promise((resolve) => setTimeout(resolve, 15));
  first.child.kill('SIGTERM');
  await first.exited;
  const file = join(data, readdirSync(data)[0]);
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(4 + bytes.readUInt32BE(0)));
  const second = new Program(t, ['--port', '0', '--data', data]);
  assert.equal(await second.exited, 78);
  assert.match(second.errors, /^localnet: ledger 3 does not follow its predecessor\n$/);
});

test('kill -9 at any time: everything that was served is still there, byte for byte, and the chain continues', async (t) => {
  const data = directory(t);
  const served = new Map();
  const created = [];
  for (let round = 0; round < 6; round++) {
    const program = new Program(t, ['--port', '0', '--ledger-ms', '15', '--data', data]);
    const url = await program.url();
    for (const [sequence, ledger] of served) {
      const { ledgers } = await call(url, 'getLedgers', { startLedger: sequence, pagination: { limit: 1 } });
      assert.deepEqual(ledgers[0], ledger, `ledger ${sequence} in round ${round}`);
    }
    for (const hash of created) assert.equal((await call(url, 'getTransaction', { hash })).status, 'SUCCESS');

    const response = await fetch(`${url}/friendbot?addr=${Keypair.random().publicKey()}`);
    created.push((await response.json()).hash);
    await new Promise((resolve) => setTimeout(resolve, 20 + round * 7));
    const { latestLedger } = await call(url, 'localnet_status');
    const { ledgers } = await call(url, 'getLedgers', { startLedger: Math.max(2, latestLedger - 5) });
    for (const ledger of ledgers) served.set(ledger.sequence, ledger);
    program.child.kill('SIGKILL');
    assert.equal(await program.exited, 'SIGKILL');
  }
  assert.equal(created.length, 6);
});
