// ensure-accounts against the local network: growing and shrinking, every answer of an RPC, kill -9 at any moment, two runs at once. After
// each test network and table agree: as many accounts are sponsored as there are active rows, and no key is lost.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { payment, sleep, slowerSeconds, until } from './harness.mjs';
import { answers, startProvisioning } from './provisioning.mjs';

let provisioning, world, proxy, start, ensure, exists, assertExactly, ensureExactly;

before(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy, start, ensure, exists, assertExactly, ensureExactly } = provisioning);
});
after(() => provisioning?.stop());

test('DP4: pools of 1, 19, 20, 41, 200, 201 and 1,000 accounts grow and shrink in transactions of at most 18', { timeout: 600_000 }, async () => {
  for (const count of [1, 19, 20, 41, 200, 201, 1000, 41, 20, 19, 1])
    await ensureExactly(count);
  const before = proxy.sent;
  await ensureExactly(1);
  assert.equal(proxy.sent, before, 'nothing is sent when the number is right');
  const batches = await world.sql('SELECT kind, cardinality(accounts), state FROM fairway.provisioning ORDER BY id');
  assert.ok(batches.every(([, size, state]) => Number(size) <= 18 && state === 'succeeded'));
  assert.equal(batches.reduce((sum, [kind, size]) => sum + (kind === 'creation' ? Number(size) : 0), 0), 1000);
  const ledgers = await world.sql("SELECT ledger, count(*) FROM fairway.provisioning WHERE kind = 'creation' GROUP BY ledger");
  assert.ok(ledgers.some(([, count]) => Number(count) > 2), 'several are pending at a time'); // how many depends on the machine
});

test('Z2 H6: keys and the signed transaction are stored before anything is sent', async () => {
  await ensureExactly(4);
  const seen = [];
  proxy.onSend = async (forward, call) => {
    const envelope = Buffer.from(call.params.transaction, 'base64').toString('hex');
    seen.push(...await world.sql(`SELECT count(*) FROM fairway.provisioning p, unnest(p.accounts) k
      JOIN fairway.channel_accounts a ON a.public_key = k AND a.state = 'creating' AND octet_length(a.sealed_seed) = 72
      WHERE p.state = 'pending' AND encode(p.envelope, 'hex') = '${envelope}'`));
    return null;
  };
  await ensureExactly(7);
  proxy.onSend = () => null;
  assert.deepEqual(seen[0], ['3']);
});

test('DP1: no answer of the RPC counts as the outcome', { timeout: 600_000 }, async t => {
  let wanted = 7;
  for (const [name, answer] of Object.entries(answers))
    await t.test(name, async () => {
      let first = true;
      proxy.onSend = (forward, call) => {
        const mine = first;
        first = false;
        return mine ? answer(forward, call) : null;
      };
      wanted += wanted > 8 ? -2 : 3;
      await ensureExactly(wanted);
      const [[last]] = await world.sql('SELECT count(*) FROM fairway.provisioning WHERE state <> \'succeeded\'');
      assert.equal(last, '0', 'the same transaction was sent until the ledger had it');
    });
  proxy.onSend = () => null;
});

/** Runs ensure-accounts while the network drops what is sent. `act` gets the id of the transaction that was sent first, before the network
 *  works again. */
async function whileSwallowed(count, act) {
  let id;
  proxy.onSend = async () => {
    id ??= (await world.sql("SELECT id FROM fairway.provisioning WHERE state = 'pending'"))[0][0];
    return 'hang up';
  };
  const run = start(['ensure-accounts', String(count)]);
  await until(() => id, 10_000, 'a transaction is sent');
  await act(id);
  proxy.onSend = () => null;
  const ended = await run.ended;
  assert.equal((await fates(id))[0]?.[2], id, 'what was sent stays stored');
  return { id: Number(id), ...ended };
}
const fates = id => world.sql(`SELECT state, accounts, id FROM fairway.provisioning WHERE id >= ${id} ORDER BY id`);
const isMadeAgain = id => until(async () => {
  const rows = await fates(id);
  assert.equal(rows[0]?.[2], id, 'what was sent stays stored');
  return rows.length === 2;
}, 10_000, 'a second transaction is stored');

test('a transaction that a ledger proves dead is made again with the same keys', async () => {
  await ensureExactly(3);
  const { id, code, out } = await whileSwallowed(6, async pending => {
    await sleep(1100); // within the same second, the second transaction would have the same max time, thus the same hash
    await world.sql(`UPDATE fairway.channel_accounts SET lease_max_time = 1 WHERE lease_hash IN (SELECT hash FROM fairway.provisioning);
      UPDATE fairway.provisioning SET max_time = 1 WHERE id = ${pending}`);
    await isMadeAgain(pending);
  });
  assert.equal(code, 0, out);
  const [first, second] = await fates(id);
  assert.equal(first[0], 'expired');
  assert.equal(second[0], 'succeeded');
  assert.equal(first[1], second[1]);
  await assertExactly(6);
});

test('a sequence number that the distribution account used elsewhere delays the run by one ledger only', async () => {
  await world.sql("UPDATE fairway.cursor SET paused = 'so that it is the source itself'");
  const { id, code, out } = await whileSwallowed(9, async pending => {
    const builder = new TransactionBuilder(await world.network.getAccount(world.distribution.publicKey()),
      { fee: '100', networkPassphrase: world.passphrase });
    const transaction = builder.addOperation(Operation.bumpSequence({ bumpTo: '0' })).setTimeout(30).build();
    transaction.sign(world.distribution);
    await world.network.sendTransaction(transaction);
    await isMadeAgain(pending);
  });
  await world.sql('UPDATE fairway.cursor SET paused = NULL');
  assert.equal(code, 0, out);
  const [first, second] = await fates(id);
  assert.equal(first[0], 'superseded');
  assert.equal(second[0], 'succeeded');
  assert.equal(first[1], second[1]);
  await assertExactly(9);
});

test('a creation that fails in a ledger is reported, and the rest is created without it', async () => {
  let stranger;
  const { id, code, out } = await whileSwallowed(12, async pending => {
    [[, stranger]] = await fates(pending);
    stranger = stranger.slice(1, -1).split(',')[1];
    await world.fund(stranger); // anybody who sees a key in a queue may create its account
  });
  assert.equal(code, 0, out);
  assert.match(out, /provisioning transaction failed.*txFAILED in ledger/);
  const [first, second] = await fates(id);
  assert.equal(first[0], 'failed');
  assert.equal(second[0], 'succeeded');
  await assertExactly(12, [stranger]);
  await ensureExactly(1);
});

/** How often the lock is lost: on a busy machine, runs that lose it several times a second make no progress. */
const CUTS = 15;

test('DP2: two runs at the same time end at N, while the lock is lost repeatedly', { timeout: 600_000 }, async () => {
  for (const counts of [[30, 30], [12, 25]]) {
    let running = true;
    const cutting = (async () => {
      for (let cuts = 0; running && cuts < CUTS; cuts++) {
        await sleep(150);
        await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway provision'");
      }
    })();
    const runs = await Promise.all(counts.map(count => ensure(count)));
    running = false;
    await cutting;
    for (const { code, out } of runs)
      assert.equal(code, 0, out);
    const [[active]] = await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'active'");
    assert.ok(counts.includes(Number(active)));
    await assertExactly(Number(active));
  }
});

test('DP3 H7 Z5: leased accounts are merged only after their leases have ended', { timeout: 600_000 }, async () => {
  await ensureExactly(6);
  const service = await world.serve();
  const user = await world.newAccount();
  const leases = await Promise.all(Array.from({ length: 3 }, () =>
    service.post('/v1/transactions', { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: slowerSeconds(20) })));
  assert.ok(leases.every(({ status }) => status === 201));
  const leased = leases.map(({ json }) => json.channelAccount);
  const run = start(['ensure-accounts', '1']);
  await until(async () => (await world.sql("SELECT 1 FROM fairway.channel_accounts WHERE state = 'retiring' AND lease_hash IS NOT NULL")).length === 2
    && (await world.sql("SELECT 1 FROM fairway.channel_accounts WHERE state = 'retiring'")).length === 2, 20_000, 'idle ones merged, leased ones wait');
  for (const key of leased)
    assert.ok(exists(key), 'a leased account is never merged');
  const { code, out } = await run.ended;
  assert.equal(code, 0, out);
  for (const { json } of leases)
    assert.equal((await service.get(`/v1/transactions/${json.hash}?wait=30`)).json.status, 'expired', 'also that of the account that stays');
  await service.kill();
  await assertExactly(1);
});

test('DP4: each permanent failure reports its reason and exit code', { timeout: 600_000 }, async t => {
  await ensureExactly(1);
  const cases = [
    ['a058ecd4: zero accounts', ['0'], {}, 64, /from 1 to 100000/],
    ['too many accounts', ['100001'], {}, 64, /from 1 to 100000/],
    ['no number', ['many'], {}, 64, /from 1 to 100000/],
    ['two numbers', ['1', '2'], {}, 64, /unexpected argument 2/],
    ['more than the distribution account can pay', ['90000'], {}, 78, /has [\d.]+ XLM and needs [\d.]+ XLM to sponsor 89999 more/],
    ['a fee cap below the minimum', ['2'], { MAX_FEE: '200' }, 78, /MAX_FEE/],
    ['another network', ['2'], { NETWORK_PASSPHRASE: 'somewhere else' }, 78, /somewhere else/],
    ['RPC unavailable', ['2'], { RPC_URL: 'http://127.0.0.1:1', START_TIMEOUT: '1' }, 69, /RPC/],
    ['database unavailable', ['2'], { DATABASE_URL: 'postgresql://127.0.0.1:1/x', START_TIMEOUT: '1' }, 69, /database/i],
    ['ledgers do not close', ['2'], { START_TIMEOUT: '1' }, 69, /last ledger committed/],
  ];
  for (const [name, args, env, expected, words] of cases)
    await t.test(name, async () => {
      if (name === 'ledgers do not close') {
        world.localnet.pause();
        await world.localnet.chain.settled();
        await ensure(1); // reaches the latest ledger
        await world.sql('UPDATE fairway.cursor SET close_time = close_time - 1000');
      }
      const { code, out } = await start(['ensure-accounts', ...args], env).ended;
      world.localnet.resume();
      assert.equal(code, expected, out);
      assert.match(out, words);
    });
  await t.test('the reserves of the distribution account\'s own entries count', async () => {
    const needed = async () => Math.round(/needs ([\d.]+) XLM/.exec((await ensure(90000)).out)[1]);
    const before = await needed();
    const builder = new TransactionBuilder(await world.network.getAccount(world.distribution.publicKey()),
      { fee: '100', networkPassphrase: world.passphrase });
    for (let entry = 0; entry < 4; entry++)
      builder.addOperation(Operation.changeTrust({ asset: new Asset(`LINE${entry}`, world.localnet.network.root.publicKey) }));
    const transaction = builder.setTimeout(30).build();
    transaction.sign(world.distribution);
    assert.equal((await world.network.sendTransaction(transaction)).status, 'PENDING');
    await until(async () => await needed() === before + 2, 10_000, 'four base reserves, 2 XLM, more');
  });
  await t.test('the key of another distribution account', async () => {
    const file = path.join(world.folder, 'other.seed');
    fs.writeFileSync(file, Keypair.random().secret(), { mode: 0o600 });
    const { code, out } = await ensure(2, { DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE: file });
    assert.equal(code, 78, out);
    assert.match(out, /sponsored by G/);
  });
  await ensureExactly(2);
});
