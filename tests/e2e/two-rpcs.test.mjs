// Two RPCs in RPC_URL, of which one lies, without a list of validators (trusted-validators.test.mjs has one): one that lies about ledgers stops
// ingestion until it agrees again or is removed; one that lies about accounts or transactions decides nothing; one that is unavailable or lags is left out; a ledger that one has dropped is read from the other. A lease
// is open all the time: nothing of that ends it. Some of these tests wait for limits of 30 s, so each group has a world of its own, and all groups run
// at the same time.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet/localnet.mjs';
import { freePort, payment, payThrough, sleep, startWorld, submit, until } from './harness.mjs';
import { dropped, eachAccount, failedResult, flip, forged, outside, setResult, stoppedAt } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const STOPPED_MS = 2000; // in which several ledgers close
const LATE = 20; // ledgers: 6 s, longer than an RPC is waited for
const LEFT_OUT = 'is not waited for', AGAIN = 'is waited for again';

/** A world with two RPCs in front of its network, whose `say` may replace an answer. */
class TwoRpcs {
  async start() {
    this.world = await startWorld({ accounts: 16, ledgerMs: 300 });
    this.rpcs = [await this.#rpc(), await this.#rpc()];
    Object.assign(this.world.env, { INGEST_POLL_MS: '50', START_TIMEOUT: '30', RPC_URL: this.rpcs.map(({ url }) => url).join() });
    this.service = await this.world.serve();
    this.users = [await this.world.newAccount(), await this.world.newAccount()];
  }

  async #rpc() {
    const it = {};
    return Object.assign(it, await proxyRpc(this.world.localnet.url, // null: calls that arrive while the world ends
      (call, forward) => (it.say ?? ((_, answer) => answer()))(call, forward).catch(() => null)));
  }

  async stop() {
    await this.world?.stop();
    this.rpcs?.forEach(rpc => rpc.close());
  }

  /** Waits until both RPCs are compared, and opens a lease. */
  async begin() {
    for (const rpc of this.rpcs)
      rpc.say = undefined;
    await until(() => this.log.lastIndexOf(LEFT_OUT) <= this.log.lastIndexOf(AGAIN), 120_000, 'RPCs are compared');
    await this.atTheTip();
    this.lease = (await this.take()).hash;
  }

  get log() {
    return this.service.log;
  }

  async take() {
    const { status, json } = await this.service.post('/v1/transactions',
      { transactionXdr: payment(this.world, ...this.users).toXDR(), timeoutSeconds: 300 });
    assert.equal(status, 201, JSON.stringify(json));
    return json;
  }

  statusOf = async hash => (await this.service.get(`/v1/transactions/${hash}`)).json.status;

  /** Waits until serve logs something after this call. */
  logs(pattern, ms, what) {
    const from = this.log.length;
    return until(() => pattern.test(this.log.slice(from)), ms, what);
  }

  async follows(what) {
    const start = await this.world.cursor();
    await until(async () => await this.world.cursor() > start + 2, 90_000, `ledgers are followed ${what}:\n${this.log.slice(-2000)}`);
  }

  async atTheTip() {
    await this.follows('again');
    await until(async () => await this.world.cursor() + 5 > (await this.world.network.getLatestLedger()).sequence, 60_000, 'the latest ledger is committed');
  }

  isReady = () => until(async () => (await this.service.get('/readyz')).status === 200, 10_000, 'ready');

  /** No lease has ended, and no account is quarantined. */
  async untouched() {
    const [[closed, states]] = await this.world.sql(`SELECT (SELECT settled_at IS NOT NULL FROM fairway.lease_history WHERE hash = '\\x${this.lease}'),
      (SELECT string_agg(DISTINCT state, ',') FROM fairway.channel_accounts)`);
    assert.equal(closed, 'f', 'the lease is open');
    assert.equal(states, 'active');
  }

  /** The account of the open lease, and an idle one. */
  async accounts() {
    const [[leased]] = await this.world.sql(`SELECT public_key FROM fairway.channel_accounts WHERE lease_hash = '\\x${this.lease}'`);
    const [[idle]] = await this.world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'active' AND lease_hash IS NULL ORDER BY slot LIMIT 1");
    return [leased, idle];
  }

  pay = () => payThrough(this.world, this.service, ...this.users);
}

/** Tests that share a world: define(two). */
function group(name, define) {
  describe(name, { concurrency: 1 }, () => {
    const two = new TwoRpcs();
    before(() => two.start());
    beforeEach(() => two.begin());
    after(() => two.stop());
    define(two);
  });
}

const away = async () => null;
/** Lies by method: functions of the true answer and the call. */
const lying = says => async (call, forward) => {
  const answer = await forward();
  return says[call.method] === undefined ? answer : says[call.method](answer, call);
};
const otherHash = lying({ getLedgers: forged((meta, header) => header.scpValue.closeTime++) });

describe('two RPCs', { concurrency: true, timeout: 900_000 }, () => {
  group('one that lies about ledgers', two => {
    let other;
    before(async () => (other = await startLocalnet({ port: 0, ledgerMs: 30, passphrase: 'another network' }))); // it has every number that ours has
    after(() => other?.close());
    const ofOtherNetwork = async call => (await fetch(other.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })).json();

    test('DR4 the first RPC has another ledger of that number: ingestion stops, says why, and goes on when they agree again', async () => {
      const stops = two.logs(/level=error msg="ingestion stopped.*at RPC [12] of RPC_URL and .* at RPC [12], and no signatures are checked/, 60_000, 'ingestion stops'), [lies] = two.rpcs;
      lies.say = otherHash;
      await stops;
      const stopped = await two.world.cursor();
      await sleep(STOPPED_MS);
      assert.equal(await two.world.cursor(), stopped);
      assert.equal((await two.service.get('/readyz')).status, 503);
      assert.equal(await two.statusOf(two.lease), 'pending');
      await two.untouched();
      const recovers = two.logs(/ingestion recovered/, 60_000, 'the recovery is logged');
      lies.say = undefined;
      await recovers;
      await two.follows('after');
      await two.isReady();
      await two.pay();
    });

    test('DR4 the second RPC serves another network: ledgers are read from the first one', async () => {
      const from = two.log.length;
      two.rpcs[1].say = ofOtherNetwork;
      await two.follows('from the first one');
      await two.follows('from the first one');
      assert.doesNotMatch(two.log.slice(from), /ingestion stopped/);
      await two.untouched();
    });

    for (const liar of [0, 1])
      test(`DR4 RPC ${liar + 1} changes a bit of the metadata: ledgers are read from the other one`, async () => {
        const from = two.log.length;
        two.rpcs[liar].say = lying({ getLedgers: flip(400) });
        await two.follows('from the other one');
        await two.follows('from the other one');
        assert.doesNotMatch(two.log.slice(from), /ingestion stopped/);
        await two.untouched();
      });

    test('a liar that is removed from RPC_URL stops nothing; nor does one that is unavailable at the start', async () => {
      const [first, second] = two.rpcs, stops = two.logs(/ingestion stopped/, 60_000, 'ingestion stops');
      second.say = otherHash;
      await stops;
      await two.service.kill();
      two.service = await two.world.serve({ RPC_URL: first.url });
      await two.follows('with the other one alone');
      await two.pay();
      await two.service.kill();
      second.say = undefined;
      two.service = await two.world.serve({ RPC_URL: `http://127.0.0.1:${await freePort()},${second.url}` });
      await two.follows('with the first one away');
      await two.untouched();
    });
  });

  group('gaps', two => {
    test('DR5 one RPC says that ledgers are lost, and lies about accounts: the other one is read, and grants go on', async () => {
      const from = two.log.length, [leased] = await two.accounts();
      two.rpcs[0].say = lying({ getLedgers: outside(900000, 900010),
        getLedgerEntries: eachAccount((account, address) => address === leased ? { ...account, seqNum: account.seqNum + 1n } : account) });
      await two.atTheTip();
      await sleep(5000);
      assert.doesNotMatch(two.log.slice(from), /grants are suspended/);
      assert.deepEqual(await two.world.sql('SELECT grants_allowed FROM fairway.cursor'), [['t']]);
      await two.untouched();
      await two.pay();
    });

    for (const [name, says, label] of [
      ['one RPC says that the transaction failed: the lease is consumed', { getTransaction: setResult({ status: 'FAILED', resultXdr: failedResult }) }, 'consumed'],
      ['both RPCs say how the transaction ended: so does the lease', {}, 'confirmed'],
    ])
      test(`DR5 after a gap, ${name}`, async () => {
        const paid = await two.take(), inner = TransactionBuilder.fromXDR(paid.transactionXdr, two.world.passphrase), [liar, other] = two.rpcs;
        inner.sign(two.users[0]);
        const bumped = (await two.service.post('/v1/fee-bumps', { transactionXdr: inner.toXDR() })).json;
        liar.say = other.say = lying({ getLedgers: stoppedAt(await two.world.cursor()) });
        await submit(two.world, bumped.transactionXdr);
        const { ledger } = await until(async () => {
          const found = await two.world.network.getTransaction(bumped.hash);
          return found.status === 'SUCCESS' && found;
        }, 30_000, 'the payment is in a ledger');
        await until(async () => (await two.world.network.getLatestLedger()).sequence > ledger, 10_000, 'a ledger after it');
        other.say = lying({ getLedgers: dropped(ledger) });
        liar.say = lying({ getLedgers: dropped(ledger), ...says });
        const status = await until(async () => {
          const now = await two.statusOf(paid.hash);
          return now !== 'pending' && now;
        }, 120_000, 'the gap is recovered');
        assert.equal(status, label);
        await two.untouched();
        liar.say = other.say = undefined;
        await two.follows('after the gap');
      });
  });

  for (const index of [0, 1])
    group(`RPC ${index + 1} is unavailable`, two => test('DR6 it is left out with a warning, and compared again later', async () => {
      const from = two.log.length, rpc = two.rpcs[index], last = await two.world.cursor(), warns = two.logs(new RegExp(LEFT_OUT), 30_000, 'the warning');
      rpc.say = away;
      await warns;
      await until(async () => await two.world.cursor() > last + 20, 60_000, 'ledgers are followed far beyond');
      await two.atTheTip();
      await two.isReady();
      assert.doesNotMatch(two.log.slice(from), /ingestion stopped/);
      await two.untouched();
      const again = two.logs(new RegExp(AGAIN), 60_000, 'it takes part again');
      rpc.say = undefined;
      await again;
      const stops = two.logs(/ingestion stopped/, 30_000, 'it is compared again');
      rpc.say = otherHash;
      await stops;
    }));

  group('one that is late', two => test('DR6 it returns each ledger long after the other one: it is left out, and grants go on', async () => {
    const warns = two.logs(new RegExp(LEFT_OUT), 90_000, 'the warning');
    two.rpcs[0].say = async (call, forward) => {
      const answer = await forward();
      return call.method === 'getLedgers' ? stoppedAt((await two.world.network.getLatestLedger()).sequence - LATE)(answer, call) : answer;
    };
    await warns;
    await two.atTheTip();
    await sleep(STOPPED_MS);
    await two.atTheTip();
    await two.pay();
    await two.untouched();
  }));

  group('both', two => test('DR6 both RPCs are away: nothing changes, and ingestion goes on by itself when they are back', async () => {
    for (const rpc of two.rpcs)
      rpc.say = away;
    await until(async () => (await two.service.get('/readyz')).status === 503, 60_000, 'not ready');
    await two.untouched();
    const recovers = two.logs(/ingestion recovered/, 60_000, 'the recovery is logged');
    for (const rpc of two.rpcs)
      rpc.say = undefined;
    await recovers;
    await two.follows('after');
  }));
});
