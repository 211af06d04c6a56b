// ensure-accounts with many transactions at a time: how many, whose they are, and what they leave to others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { Address, Asset, Operation, TransactionBuilder, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { sleep, slower } from './harness.mjs';
import { startProvisioning } from './provisioning.mjs';

const TIMEOUT = { timeout: 300_000 }, LEDGER_MS = 500;
const MAX_OPERATIONS = 300, ACCOUNTS = 18, ROOM = Math.floor(MAX_OPERATIONS * 0.9 / (3 * ACCOUNTS + 1));
let provisioning, world;

before(async () => {
  provisioning = await startProvisioning({ ledgerMs: LEDGER_MS, network: { maxOperations: MAX_OPERATIONS } });
  ({ world } = provisioning);
});
after(() => provisioning?.stop());

const ledgers = kind => world.sql(`SELECT ledger, count(*)::int, bool_and(source <> (SELECT distribution_account FROM fairway.network))
  FROM fairway.provisioning WHERE kind = '${kind}' GROUP BY ledger ORDER BY ledger`);

/** Closes each ledger when it has so many transactions and nothing more is sent for it, until the work is done: on a busy machine the clock's
 *  ledgers close half empty. */
async function byHand(work, least = 0) {
  const { localnet } = world, done = work.finally(() => (work = null));
  done.catch(() => {}); // the caller gets it
  for (localnet.pause(); work !== null; await localnet.closeLedger())
    for (let sent = -1; work !== null && (sent < least || sent !== localnet.chain.queued.length); await sleep(slower(200)))
      sent = localnet.chain.queued.length;
  localnet.resume();
  return done;
}

async function grow() {
  for (let kills = 0; kills < 3; kills++) {
    const run = provisioning.start(['ensure-accounts', '600']);
    await sleep(2 * LEDGER_MS);
    run.process.kill('SIGKILL');
    await run.ended;
  }
  await provisioning.ensureExactly(600);
}

test('DP5 a pool grows as fast as the ledger has room, killed or not, and shrinks as fast', TIMEOUT, async () => {
  await byHand(grow());
  const grown = (await ledgers('creation')).map(([, count]) => Number(count));
  assert.ok(Math.max(...grown) === ROOM, `${ROOM} at a time, and not ${grown}`);
  assert.ok(grown.length <= 600 / ACCOUNTS / ROOM + 10, `it took ${grown.length} ledgers`);
  await byHand(provisioning.ensureExactly(40));
  const shrunk = await ledgers('merge');
  assert.ok(shrunk.length <= 600 / ACCOUNTS / ROOM, `merges took ${shrunk.length} ledgers`);
});

test('DP5 the operations of others are left to them', TIMEOUT, async () => {
  const users = await Promise.all([1, 2].map(() => world.newAccount()));
  const [[before]] = await world.sql('SELECT max(id) FROM fairway.provisioning');
  let running = true;
  const others = Promise.all(users.map(async user => {
    while (running) { // each ledger has 90 operations of each
      const builder = new TransactionBuilder(await world.network.getAccount(user.publicKey()), { fee: '30000', networkPassphrase: world.passphrase });
      for (let i = 0; i < 90; i++)
        builder.addOperation(Operation.bumpSequence({ bumpTo: '0' }));
      const transaction = builder.setTimeout(30).build();
      transaction.sign(user);
      const closed = once(world.localnet.chain, 'closed');
      await world.network.sendTransaction(transaction);
      await closed;
    }
  }));
  await sleep(3 * LEDGER_MS);
  await byHand(provisioning.ensureExactly(200).finally(() => (running = false)), users.length);
  await others;
  const counts = await world.sql(`SELECT p.ledger, count(*)::int, g.operations FROM fairway.provisioning p JOIN fairway.ledgers g ON g.sequence = p.ledger
    WHERE p.id > ${before} GROUP BY 1, 3 ORDER BY 1`);
  assert.ok(counts.some(([, count, all]) => Number(all) > 180 && Number(count) === 1), JSON.stringify(counts));
});

test('DP5 contract calls that the distribution account pays for delay nothing', TIMEOUT, async () => {
  const callers = await Promise.all([1, 2, 3].map(() => world.newAccount()));
  await createContract(world.network, world.passphrase, callers[0]);
  let running = true;
  const calls = Promise.all(callers.map(async (caller, i) => {
    const address = new Address(caller.publicKey()).toScVal();
    const call = Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'transfer',
      args: [address, address, nativeToScVal(1n, { type: 'i128' })] });
    while (running) {
      const draft = new TransactionBuilder(await world.network.getAccount(caller.publicKey()), { fee: '100', networkPassphrase: world.passphrase })
        .addOperation(call).setTimeout(30).build();
      const inner = await world.network.prepareTransaction(draft);
      inner.sign(caller);
      const bump = TransactionBuilder.buildFeeBumpTransaction(world.distribution, String(1000 + 100 * i), inner, world.passphrase);
      bump.sign(world.distribution);
      await world.network.sendTransaction(bump);
      await sleep(LEDGER_MS / 3);
    }
  }));
  await sleep(2 * LEDGER_MS);
  const { code, out } = await provisioning.ensure(260);
  running = false;
  await calls;
  assert.equal(code, 0, out);
  assert.doesNotMatch(out, /refused the transaction/);
  await provisioning.assertExactly(260);
});
