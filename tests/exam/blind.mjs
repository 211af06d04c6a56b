// make exam: brings about one fault, which SEED chooses, and prints what an operator sees; the reader says which it is. SEED=n: the same one again.
import crypto from 'node:crypto';
import readline from 'node:readline/promises';
import { patients } from './faults.mjs';
import { Patient } from './patient.mjs';

const seed = process.env.SEED || String(crypto.randomInt(1e9)), say = text => console.log(text);
const indent = text => text.trimEnd().replace(/^/gm, '    ');

class Examined extends Patient {
  async judge(fault, { firing, log }) {
    const { out } = await this.world.start(['status'], { ADMIN_PORT: new URL(this.service.adminUrl).port }).ended;
    say(`fairway status:\n\n${indent(out)}\n\nrules that fire, without their waiting times: ${firing.join(', ') || 'none'}\n`);
    say(`the log since it began, without level=info:\n\n${indent(log().split('\n').filter(line => !line.includes('level=info')).slice(-20).join('\n'))}\n`);
  }

  judgeStart(fault, { code, log, check }) {
    say(`another replica was to be started, and ended with exit code ${code}. Its log:\n\n${indent(log)}\n\nfairway check:\n\n${indent(check)}\n`);
  }
}

const all = patients.flatMap(({ name, options, faults }) => faults.map(fault => ({ name, options, fault })));
const { name, options, fault } = all[crypto.createHash('sha256').update(seed).digest().readUInt32LE(0) % all.length];
const patient = new Examined();
try {
  say(`seed ${seed}: one of ${all.length} faults. It takes a minute or two, one of them six.\n`);
  await patient.start(options);
  await fault.run(patient);
  const reader = readline.createInterface(process.stdin);
  say('Which fault is it? Enter shows the answer.');
  if (!(await reader[Symbol.asyncIterator]().next()).done)
    say(`${fault.name} (${name})`);
  reader.close();
} finally {
  await patient.stop();
}
process.exit();
