// A list of validators: what a lying RPC does to ledgers, when it is the only one and with a second one that tells the truth. The table of
// docker/security.md says the same; tests/integration/test_follow.c has more lies.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { encode } from '../localnet/xdr.mjs';
import { payment, payThrough, sleep, startWorld, until } from './harness.mjs';
import { flip, forged, outside, setResult, stoppedAt } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const LEDGER_MS = 600;
const OTHER = 'GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK';

const lies = [
  ['another close time', forged((meta, header) => (header.scpValue.closeTime += 400n))],
  ['one bit of the header', flip],
  ['that ledgers are dropped', outside(900000, 900010)],
];

for (const [name, addresses] of [['one RPC', 1], ['a second RPC tells the truth', 2]])
  describe(`trusted validators, ${name}`, { concurrency: 1, timeout: 900_000 }, () => {
    let world, rpc, service, users, say, validator, live;
    const list = keys => fs.writeFileSync(world.env.TRUSTED_VALIDATORS, keys.map(key => `Local network ${key}\n`).join(''));
    const follows = async (by = 2) => {
      const start = await world.cursor();
      await until(async () => await world.cursor() > start + by, 60_000, `ledgers are followed:\n${service.log.slice(-2000)}`);
    };
    const logged = (pattern, from) => until(() => pattern.test(service.log.slice(from)), 60_000, `${pattern}:\n${service.log.slice(-1500)}`);
    const lease = async (timeoutSeconds, transactionXdr = payment(world, ...users).toXDR()) =>
      (await service.post('/v1/transactions', { transactionXdr, timeoutSeconds })).json;
    // The network upgrades with its next ledger, and the leader loses its session, so a replica begins a new term.
    const upgradeAndChangeTheLead = async () => {
      const [[term]] = await world.sql('SELECT term FROM fairway.cursor');
      world.localnet.chain.upgrade(world.localnet.chain.head.header.ledgerVersion);
      await world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairway ingest' AND datname = current_database()");
      return async () => Number((await world.sql('SELECT term FROM fairway.cursor'))[0][0]) > Number(term);
    };
    const statusOf = async ({ hash }) => (await service.get(`/v1/transactions/${hash}`)).json.status;

    before(async () => {
      world = await startWorld({ accounts: 8, ledgerMs: LEDGER_MS });
      await world.trustValidator();
      [, validator] = /Local network (\w+)/.exec(fs.readFileSync(world.env.TRUSTED_VALIDATORS, 'utf8'));
      rpc = await proxyRpc(world.localnet.url, async (call, forward) => {
        const answer = await forward();
        return say?.[call.method] === undefined ? answer : say[call.method](answer, call);
      });
      Object.assign(world.env, { RPC_URL: [rpc.url, world.localnet.url].slice(0, addresses).join(), LEDGER_SECONDS: '600ms' });
      users = [await world.newAccount(), await world.newAccount()];
      service = await world.serve();
      await follows();
      live = await lease(300);
    });
    after(async () => {
      await world?.stop();
      rpc?.close();
    });

    describe('beside a second replica, with an upgrade and a change of the lead in the middle', () => {
      let second;
      before(async () => (second = await world.serve()));
      after(() => second.kill('SIGTERM'));

      for (const [what, lie] of lies)
        test(`DR4 the RPC tells ${what}: ${addresses === 1 ? 'ingestion waits, and' : 'the other is followed, and'} nothing ends`, async () => {
          const from = service.log.length;
          say = { getLedgers: lie };
          if (addresses === 1) {
            await sleep(2 * LEDGER_MS);
            const start = await world.cursor();
            await upgradeAndChangeTheLead();
            await sleep(4 * LEDGER_MS);
            assert.ok(await world.cursor() <= start + 1, 'nothing is committed');
          } else {
            await follows();
            const changed = await upgradeAndChangeTheLead();
            await follows(4);
            await until(changed, 60_000, 'a replica takes the lead');
            assert.doesNotMatch(service.log.slice(from), /ingestion (stopped|failed)(?!.*DATABASE_UNAVAILABLE)|grants are suspended/);
          }
          assert.equal(await statusOf(live), 'pending');
          say = undefined;
          await follows();
          assert.equal(await statusOf(live), 'pending');
        });
    });

    test('a node that is not in the file: its ledgers wait, the log names it, and they go on when it is added', async () => {
      const from = service.log.length;
      list([OTHER]);
      await logged(new RegExp(`a ledger waits for a later one that a trusted validator has signed.*signed_by=${validator}`), from);
      await logged(new RegExp(`ingestion stopped.*no trusted validator has signed ledger \\d+ \\(${validator}\\) and the 16 after it`), from);
      list([validator]);
      await follows();
    });

    if (addresses === 1)
      for (const [what, change] of [
        ['number, above the max ledger of a lease', header => (header.ledgerSeq += 100000)],
        ['protocol', header => (header.ledgerVersion = 99)],
      ])
        test(`DR4 DR5 the first ledger after a gap has a false ${what}: nothing ends, and ledgers are followed after the truth`, async () => {
          const latest = async () => (await world.network.getLatestLedger()).sequence;
          await until(async () => await world.cursor() + 1 >= await latest(), 30_000, 'ingestion is at the tip');
          const from = service.log.length, top = await world.cursor();
          const bounded = await lease(300, new TransactionBuilder(new Account(users[0].publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
            .addOperation(Operation.payment({ source: users[0].publicKey(), destination: users[1].publicKey(), asset: Asset.native(), amount: '1' }))
            .setTimeout(0).setLedgerbounds(0, top + 5000).build().toXDR());
          say = { getLedgers: stoppedAt(await world.cursor()) };
          await until(async () => await latest() > await world.cursor() + 3, 30_000, 'ledgers close');
          let number;
          const fetched = {};
          const gap = async (answer, call) => {
            if (number === undefined) {
              const { result } = await (await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getLedgers', params: { startLedger: await latest(), pagination: { limit: 1 } } }) })).json();
              Object.assign(fetched, forged((meta, header, ledger) => {
                change(header);
                ledger.sequence = number = header.ledgerSeq;
              })({ result }).result);
            }
            return call.params.startLedger === number
              ? { jsonrpc: '2.0', id: answer.id, result: { ...fetched, latestLedger: number, oldestLedger: number } }
              : outside(number, number)(answer);
          };
          say = { getLedgers: gap, getLedgerEntries: answer => setResult({ latestLedger: number ?? answer.result.latestLedger })(answer) };
          await logged(/ledgers are missing: grants are suspended/, from);
          await sleep(6 * LEDGER_MS);
          assert.equal(await statusOf(bounded), 'pending', 'the lease is open');
          assert.equal(await statusOf(live), 'pending');
          say = undefined;
          await follows();
          assert.equal(await statusOf(bounded), 'pending');
        });

    test('DR4 false results: corrected by the next ledger where they are believed', async () => {
      const from = service.log.length;
      let told = 0;
      say = { getLedgers: answer => {
        const [first] = answer.result?.ledgers ?? [];
        if (first === undefined || (told !== 0 && first.sequence !== told))
          return answer;
        return forged((meta, header) => {
          if (meta.txProcessing.length === 0)
            return;
          told = first.sequence;
          meta.txProcessing.forEach(({ result }) => result.result.feeCharged++);
          header.txSetResultHash = crypto.createHash('sha256').update(encode('TransactionResultSet', { results: meta.txProcessing.map(({ result }) => result) })).digest();
        })(answer);
      } };
      const paid = await payThrough(world, service, ...users);
      await until(() => told !== 0, 60_000, 'the lie is told');
      if (addresses === 1) {
        await until(async () => await world.cursor() >= told, 60_000, 'it is committed');
        say = undefined;
        await logged(/the last committed ledger had false results.*ends=1/, from);
      }
      await until(async () => await statusOf(paid) === 'confirmed', 60_000, 'the payment is confirmed');
      say = undefined;
      await follows();
      const { result } = await (await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params: { hash: (await service.get(`/v1/transactions/${paid.hash}`)).json.ledgerHash ?? paid.hash } }) })).json();
      const [[charged, state]] = await world.sql(`SELECT h.fee_charged, a.state FROM fairway.lease_history h JOIN fairway.channel_accounts a ON a.public_key = h.account
        WHERE h.hash = '\\x${paid.hash}'`);
      assert.equal(Buffer.from(result.resultXdr, 'base64').readBigInt64BE(0), BigInt(charged), 'the fee is the network\'s');
      assert.equal(state, 'active');
      assert.equal(await statusOf(await lease(60)), 'pending', 'leases are granted');
    });
  });

test('without a list serve warns at its start', { timeout: 600_000 }, async () => {
  const world = await startWorld({ accounts: 1 });
  try {
    const service = await world.serve();
    assert.equal(service.log.split('there is no list of validators').length, 2);
  } finally {
    await world.stop();
  }
});
