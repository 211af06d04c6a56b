// Twelve faults of a running service. Of each, fairway status names the cause in the line of its question, the rules that fire are its own (on
// scraped metrics, without their `for`), and the log says it; no other line and no other rule names anything.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { parse, stringify } from 'yaml';
import { restartWithClock } from './clock.mjs';
import { restartWithDisk } from './full-disk.mjs';
import { payment, sleep, startWorld, submit, until } from './harness.mjs';
import { eachLedger, flip } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';
import { unseal } from './unseal.mjs';

const root = path.resolve(import.meta.dirname, '../..'), promtool = path.join(root, 'build/packages/promtool');
const LEASE = 'May I lease?', ROOM = 'Is there room?', LEDGERS = 'Do leases end?', ENDS = 'How do they end?', MONEY = 'Is there money?',
  PART = 'Which part is sick?', SPEED = 'Is it fast?';
const ACCOUNTS = 30, SCRAPE_S = 15, HEALTHY = 60; // scrapes
const TIMEOUT = { timeout: 600_000 };

/** The rules, which fire as soon as their expressions are true. */
const rules = parse(fs.readFileSync(path.join(root, 'docker/prometheus/rules.yml'), 'utf8'));
for (const group of rules.groups)
  for (const rule of group.rules)
    delete rule.for;

/** A world with a service, its RPC behind a proxy that does what `rpc` says. */
class Patient {
  async start({ env = {}, rpcs = 1, ...options } = {}) {
    this.world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 500, ...options });
    this.rpc = null;
    this.proxies = await Promise.all(Array.from({ length: rpcs }, (_, i) => proxyRpc(this.world.localnet.url,
      (call, forward) => this.rpc?.(call, forward, i) ?? forward())));
    const urls = this.proxies.map(({ url }) => url).join(',');
    Object.assign(this.world.env, { LEDGER_SECONDS: '500ms', ...env });
    this.service = await this.world.serve({ RPC_URL: urls });
    this.users = await Promise.all([this.world.newAccount(), this.world.newAccount()]);
    return this;
  }

  async stop() {
    this.proxies?.forEach(proxy => proxy.close());
    await this.world?.stop();
  }

  lease = timeoutSeconds => this.service.post('/v1/transactions',
    { transactionXdr: payment(this.world, ...this.users).toXDR(), timeoutSeconds });

  async status() {
    const { answers } = await (await fetch(`${this.service.adminUrl}/status.json`)).json();
    return Object.fromEntries(answers.map(({ question, level, answer }) => [question, { level, answer }]));
  }

  /** The values of all series. Unix times that rules compare with Prometheus's clock, which is this one, are seconds before it (negative). */
  async scrape() {
    const text = await (await fetch(`${this.service.adminUrl}/metrics`)).text();
    return new Map([...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (-?[\d.e+]+|\+Inf)$/gm)]
      .map(([, name, labels, value]) => [`${name}{job="fairway",instance="a"${labels ? `,${labels}` : ''}}`, 
        name === 'fairway_cursor_close_time_seconds' ? String(Number(value) - Date.now() / 1000) : value]));
  }

  /** Which rules fire after the healthy scrape, repeated, and then these. */
  async firing(healthy, scrapes) {
    const series = new Set([healthy, ...scrapes].flatMap(scrape => [...scrape.keys()]));
    const at = (name, value, i) => name.startsWith('fairway_cursor_close_time_seconds') ? i * SCRAPE_S + Number(value) : value;
    const values = name => [...Array(HEALTHY).fill(healthy), ...scrapes]
      .map((scrape, i) => scrape.has(name) ? at(name, scrape.get(name), i) : '_').join(' ');
    const rulesFile = path.join(this.world.folder, 'rules.yml'), file = path.join(this.world.folder, 'tests.yml');
    fs.writeFileSync(rulesFile, stringify(rules));
    fs.writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: `${SCRAPE_S}s`, tests: [{ interval: `${SCRAPE_S}s`,
      input_series: [...[...series].map(name => ({ series: name, values: values(name) })),
        { series: 'up{job="fairway",instance="a"}', values: `1x${HEALTHY + scrapes.length}` }],
      promql_expr_test: [{ expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${(HEALTHY + scrapes.length - 1) * SCRAPE_S}s`, exp_samples: [{ labels: '{none="none"}', value: 1 }] }] }] }));
    const { stdout, stderr } = await promisify(execFile)(promtool, ['test', 'rules', file]).catch(failed => failed); // the RPCs go on meanwhile
    const got = /got: *(.*)/.exec(stdout + stderr)?.[1];
    assert.ok(got !== undefined, stdout + stderr);
    return [...got.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name).sort();
  }

  /** begin() brings the fault about. names: the lines of the status that name it or follow from it; alerts: its rules; log: its line. */
  async exam({ begin, names, alerts, log, end = () => {} }) {
    const isWell = async () => Object.values(await this.status()).every(({ level }) => level === 'ok');
    await until(isWell, 60_000, 'it is well');
    const healthy = await this.scrape(), from = this.service.log.length;
    await begin();
    try {
      let seen;
      await until(async () => {
        seen = await this.status();
        return Object.entries(names).every(([question, words]) => seen[question].level !== 'ok' && words.test(seen[question].answer));
      }, 60_000, 'the status names it').catch(error => assert.fail(`${error.message}: ${JSON.stringify(seen, null, 1)}\n${this.service.log.slice(from, from + 3000)}`));
      const scrapes = [];
      for (let i = 0; i < 4; i++) {
        scrapes.push(await this.scrape());
        await sleep(700);
      }
      const others = Object.entries(seen).filter(([question, { level }]) => level !== 'ok' && !names[question]);
      assert.deepEqual(others, [], 'no other line names anything');
      assert.deepEqual(await this.firing(healthy, scrapes), alerts.toSorted());
      if (log)
        await until(() => log.test(this.service.log.slice(from)), 10_000, 'the log says it');
    } finally {
      await end();
    }
  }
}

const patients = [];
/** Tests of one world, one after the other. */
function patient(name, { skip = false, ...options }, define) {
  patients.push(() => describe(name, { concurrency: 1 }, () => {
    const one = new Patient();
    let started;
    define((fault, exam) => test(fault, { ...TIMEOUT, skip }, async () => {
      await (started ??= one.start(options));
      await exam(one);
    }));
    after(() => one.stop());
  }));
}

patient('one RPC', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('EX1 protocol vote', async one => one.exam({
    begin: () => fetch(one.world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localnet_upgrade', params: { supportedProtocol: 99 } }) }),
    names: { [PART]: /^the network has protocol 99 or votes for it, this version knows \d+: install a newer one$/ },
    alerts: ['FairwayProtocolVote'], log: /a newer protocol is ahead.*protocol=99/,
  }));
});

patient('its own RPC', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('EX1 RPC late', async one => one.exam({
    begin: () => one.rpc = async (call, forward) => (await sleep(20_000), null),
    names: { [PART]: /getLedgers: .*timed out/, [LEDGERS]: /closed (4[5-9]|[5-9]\d) s before/, [LEASE]: /ingestion is behind/ },
    alerts: ['FairwayLedgersLate', 'FairwayNotGranting', 'FairwayReplicaNotIngesting', 'FairwayRpcFails'],
    log: /ingestion failed.*getLedgers: .*timed out/,
    end: () => one.rpc = null,
  }));
  fault('EX1 clock: the network\'s is fast', async one => one.exam({
    begin: () => one.world.localnet.faults.configure({ jump: 1, jumpSeconds: 60 }),
    names: { [LEASE]: /clock/, [LEDGERS]: /closed \d+ s after the database's clock/ },
    alerts: ['FairwayClock', 'FairwayNotGranting'],
    end: () => one.world.localnet.faults.configure({ reset: true }),
  }));
});

patient('the pool', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('EX1 clients that never submit', async one => one.exam({
    begin: async () => {
      for (let i = 0; i < ACCOUNTS - 6; i++)
        assert.equal((await one.lease(20)).status, 201);
    },
    names: { [ENDS]: new RegExp(`^in the last hour \\d+ confirmed, 0 failed, ${ACCOUNTS - 6} expired`) },
    alerts: ['FairwayLeasesExpire'],
    end: () => one.world.sql('UPDATE fairway.ledgers SET ends = NULL'), // as if it was more than an hour ago
  }));
  fault('EX1 quarantine', async one => one.exam({
    begin: async () => {
      const [[address, keyId, box]] = await one.world.sql(`SELECT public_key, key_id, encode(sealed_seed, 'hex')
        FROM fairway.channel_accounts WHERE lease_hash IS NULL LIMIT 1`);
      const key = unseal({ masterKey: fs.readFileSync(one.world.env.MASTER_KEY_FILE), publicKey: address, keyId, box: Buffer.from(box, 'hex'),
        networkId: crypto.createHash('sha256').update(one.world.passphrase).digest() });
      const inner = new TransactionBuilder(await one.world.network.getAccount(address), { fee: '100', networkPassphrase: one.world.passphrase })
        .addOperation(Operation.bumpSequence({ bumpTo: '0' })).setTimeout(60).build();
      inner.sign(key);
      const bump = TransactionBuilder.buildFeeBumpTransaction(one.users[0], '1000', inner, one.world.passphrase);
      bump.sign(one.users[0]);
      await submit(one.world, bump.toXDR());
    },
    names: { [ROOM]: /1 quarantined \(its sequence number was consumed by a transaction that fairway did not sign\)/ }, alerts: ['FairwayQuarantine'], log: /channel account quarantined.*account=G/,
    end: async () => {
      const [[address]] = await one.world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'quarantined'");
      await one.world.fairway('accounts', 'release', address);
    },
  }));
  fault('EX1 full pool', async one => one.exam({
    begin: async () => {
      for (let i = 0; i < ACCOUNTS; i++)
        assert.equal((await one.lease(20)).status, 201);
      one.refused = one.lease(20).catch(() => {}); // it waits, and is refused
      await sleep(6500);
    },
    names: { [ROOM]: new RegExp(`^0 idle of ${ACCOUNTS} active accounts`), [SPEED]: /99 % at most 10000 ms/ },
    alerts: ['FairwayPoolExhausted', 'FairwayPoolNearlyLeased'],
  }));
});

patient('the account', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('EX1 money', async one => one.exam({
    begin: async () => {
      const key = one.world.distribution.publicKey(), { balance, numSubEntries, ext } = await one.world.network.getAccountEntry(key);
      const { numSponsoring, numSponsored } = ext.v1.ext.v2, reserves = BigInt(2 + numSubEntries + numSponsoring - numSponsored);
      const stroops = balance - reserves * 5_000_000n - 100n - 5n * 20_000n;
      const source = await one.world.network.getAccount(key);
      const transaction = new TransactionBuilder(new Account(key, source.sequenceNumber()), { fee: '100', networkPassphrase: one.world.passphrase })
        .addOperation(Operation.payment({ destination: one.users[0].publicKey(), asset: Asset.native(),
          amount: `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, '0')}` })).setTimeout(60).build();
      transaction.sign(one.world.distribution);
      await submit(one.world, transaction.toXDR());
    },
    names: { [LEASE]: /distribution account/, [MONEY]: /^for 5 payments/ },
    alerts: ['FairwayFundsLow', 'FairwayFundsRunOut', 'FairwayNotGranting'], log: /distribution account/,
  }));
});

patient('the clock of the database', {}, fault => {
  fault('EX1 clock: the database\'s is fast', async one => {
    const clock = await restartWithClock(one.world);
    await one.exam({
      begin: () => clock.set('+60'),
      names: { [LEASE]: /clock/, [LEDGERS]: /closed (59|6\d) s before the database's clock, and ledgers come in: that clock is fast/ },
      alerts: ['FairwayClock', 'FairwayNotGranting'],
      end: () => clock.set('+0'),
    });
  });
});

for (const [place, liar] of [['first', 0], ['second', 1]])
  patient(`two RPCs, of which the ${place} lies`, { rpcs: 2 }, fault => {
    fault('EX1 RPC lying: it changes a bit of each ledger', async one => one.exam({
      begin: () => one.rpc = async (call, forward, i) => {
        const answer = await forward();
        return call.method === 'getLedgers' && i === liar ? flip(400)(answer) : answer;
      },
      names: { [PART]: new RegExp(`^RPC ${liar + 1}: \\d+ of its ledgers are not the network's`) },
      alerts: ['FairwayRpcLies'], log: new RegExp(`another RPC's was used.*rpc=${liar + 1}`),
    }));
  });

patient('two RPCs', { rpcs: 2 }, fault => {
  fault('EX1 RPC lying: it names another hash', async one => one.exam({
    begin: () => one.rpc = async (call, forward, i) => {
      const answer = await forward();
      return call.method === 'getLedgers' && i === 1 ? eachLedger(ledger => (ledger.hash = 'ab'.repeat(32)))(answer) : answer;
    },
    names: { [PART]: /RPC 2|rpc 2|differ|contradict/i },
    alerts: ['FairwayReplicaNotIngesting'], log: /rpc=2|RPC 2|differ/i,
    end: () => one.rpc = null,
  }));
});

patient('the database, for long', { skip: process.env.FAIRWAY_SIZE !== 'long' && 'a snapshot is old after five minutes' }, fault => {
  fault('EX1 old snapshot', async one => {
    const sleeper = one.world.sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(400); COMMIT").catch(() => {});
    await sleep(290_000);
    await one.exam({
      begin: () => {},
      names: { [PART]: /keeps dead rows since \d+ s$/ }, alerts: ['FairwayOldSnapshot'], log: /snapshot/,
      end: async () => {
        await one.world.postgres('stop', { mode: 'immediate' });
        await sleeper;
      },
    });
  });
});

patient('the database', { env: { DATABASE_FAILOVER: 'asynchronous' } }, fault => {
  fault('EX1 standby lost', async one => one.exam({
    begin: () => one.world.setStandby('nobody'),
    names: { [PART]: /^no standby is connected, and each commit waits for one/ },
    alerts: ['FairwayNoStandby'],
    end: () => one.world.setStandby(''),
  }));
});

patient('the disk', {}, fault => {
  fault('EX1 disk full', async one => {
    const disk = await restartWithDisk(one.world);
    await one.exam({
      begin: () => disk.fill(),
      names: { [PART]: /^the database cannot write: is its disk full\?/ },
      alerts: ['FairwayDatabaseDiskFull'],
      end: () => disk.free(),
    });
  });
  fault('EX1 wrong key', async one => {
    const other = path.join(one.world.folder, 'other.key');
    await one.world.fairway('keygen', other);
    const { code, out } = await one.world.start(['serve'], { MASTER_KEY_FILE: other }).ended;
    assert.equal(code, 78, out);
    assert.match(out, /level=error msg="cannot start".*master key/);
    const checked = await one.world.start(['check'], { MASTER_KEY_FILE: other }).ended;
    assert.deepEqual([...checked.out.matchAll(/^ACT +(\w+)/gm)].map(([, name]) => name), ['keys'], checked.out);
  });
});

describe('the exam', { concurrency: 3 }, () => patients.forEach(define => define()));
