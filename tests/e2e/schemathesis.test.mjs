// schemathesis makes requests from the document that fairway serves. None gets a 5xx or an answer that is not in the document, also when what
// it sends is. Its requests have tokens and values of this world (schemathesis_hooks.py), so that each operation is reached.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { authorize } from '../faults/duplicates.mjs';
import { payThrough, payment, startWorld } from './harness.mjs';
import { document } from './openapi.mjs';

// EXAMPLES: random requests for each operation, beside those that schemathesis makes of each bound in the document.
const SEED = process.env.FAIRWAY_SEED ?? '7', EXAMPLES = '30', ACCOUNTS = 100, EACH = 6;
const here = import.meta.dirname, packages = path.resolve(here, '../../build/packages');
let world, service, user, shop;

const several = make => Promise.all(Array.from({ length: EACH }, make));
const draft = async () => ({ transactionXdr: payment(world, user, shop).toXDR() });
const call = () => authorize(world, user, shop);

/** A leased payment that its user has signed. */
async function leased() {
  const { json } = await service.post('/v1/transactions', { ...await draft(), timeoutSeconds: 300 });
  const transaction = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  transaction.sign(user);
  return { transactionXdr: transaction.toXDR(), maxFee: '100000' };
}

/** Runs schemathesis on the service: {code, out, answers: {operation: {status: count}}}. values: as schemathesis_hooks.py wants them. That a
 * request of the right form is accepted cannot be checked: few random transactions are valid. */
async function schemathesis(values) {
  const [WORLD, ANSWERS] = ['world.json', 'answers.json'].map(name => path.join(world.folder, name));
  fs.writeFileSync(WORLD, JSON.stringify(values));
  const child = spawn('python3', ['-m', 'schemathesis.cli', 'run', `${service.url}/openapi.json`, '--seed', SEED, '--max-examples', EXAMPLES,
    '--phases', 'examples,coverage,fuzzing', '--continue-on-failure', '--no-shrink', '--suppress-health-check', 'all', '--request-timeout', '60',
    '--no-color', '--warnings', 'off', '--generation-database', 'none', '--exclude-checks', 'positive_data_acceptance'], {
    cwd: world.folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, SCHEMATHESIS_HOOKS: 'schemathesis_hooks', WORLD, ANSWERS,
      PYTHONPATH: [packages, here, `${here}/../clients/python`].join(':'), PYTHONPYCACHEPREFIX: `${packages}/cache` } });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (out += text));
  const code = await new Promise(ended => child.on('close', ended));
  return { code, out, answers: code <= 1 ? JSON.parse(fs.readFileSync(ANSWERS, 'utf8')) : {} };
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  [user, shop] = await Promise.all([world.newAccount(), world.newAccount()]);
  await createContract(world.network, world.passphrase, shop);
});
after(() => world?.stop());

test('schemathesis finds no 5xx and no answer outside the document, and reaches each operation', { timeout: 900_000 }, async () => {
  const paid = await several(() => payThrough(world, service, user, shop));
  await service.get(`/v1/transactions/${paid[0].hash}?wait=60`);
  const { json: page } = await service.get('/v1/transactions');
  const { code, out, answers } = await schemathesis({ seed: world.client.secret(), adminUrl: service.adminUrl,
    parameters: { hash: paid.map(({ hash }) => hash), after: [page.next, 'now', '0'] },
    bodies: { LeaseRequest: [...await several(draft), ...await several(call)], FeeBumpRequest: await several(leased),
      SubmissionRequest: [...await several(leased), ...await several(call)] } });
  assert.equal(code, 0, out);
  for (const [operation, counts] of Object.entries(answers))
    console.log(`# ${operation}: ${Object.entries(counts).map(([status, count]) => `${count} times ${status}`).join(', ')}`);
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) => Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`))
    .filter(operation => operation !== 'GET /openapi.json'); // schemathesis has read it
  const reached = operations.filter(operation => Object.keys(answers[operation] ?? {}).some(status => status < 300));
  console.log(`# ${reached.length} of ${operations.length} operations gave schemathesis an answer of 2xx`);
  assert.deepEqual(reached, operations);
  assert.deepEqual(Object.values(answers).flatMap(counts => Object.keys(counts).filter(status => status >= 500)), []);
});
