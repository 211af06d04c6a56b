// A client asks for three leases a second, and somebody asks /readyz four times a second, of services that are months old, while faults come and go: what
// /readyz says is not what the client gets for at most 10 s. Some 90 s, in four worlds at a time: each fault lasts for as long as a wrong answer takes
// to be one, and its recovery is waited for. FAIRWAY_SIZE=long has all faults, and Prometheus: each lasts until its alerts have fired.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep, slower, until } from '../e2e/harness.mjs';
import { flip } from '../e2e/lies.mjs';
import { fastHost, restartSick } from '../e2e/sick-server.mjs';
import { Patient } from './patient.mjs';
import { Prometheus } from './prometheus.mjs';
import { setOptions } from './faults.mjs';

const LONG = process.env.FAIRWAY_SIZE === 'long', WORLDS = 4, WELL_MS = 2000;
/** For how long an answer may be wrong; of a loaded machine, too, no more is known after twice that time. */
const wrongMs = () => Math.min(slower(10_000), 20_000);

class Judged extends Patient {
  leases = [];
  said = [];

  async start() {
    await super.start({ rpcs: 2 });
    this.server = await restartSick(this.world);
    for (const [ms, act] of [[300, () => this.leaseAndSend()], [250, () => this.ask()]])
      this.every(ms, act);
    return this;
  }

  async stop() {
    this.over = true;
    await super.stop();
  }

  async every(ms, act) {
    for (const all = new Set(); !this.over; await sleep(ms)) {
      const acts = act().finally(() => all.delete(acts));
      all.add(acts);
    }
  }

  /** A lease and its fee bump, which is submitted, so that it ends. */
  async leaseAndSend() {
    const begun = Date.now(), { status, json } = await this.lease(20).catch(() => ({ status: 0 }));
    if (status !== 201) {
      this.leases.push({ begun, granted: json?.code === 'CHANNEL_ACCOUNT_UNAVAILABLE' ? undefined : false });
      return;
    }
    const transaction = TransactionBuilder.fromXDR(json.transactionXdr, this.world.passphrase);
    transaction.sign(this.users[0]);
    const bump = await this.service.post('/v1/fee-bumps', { transactionXdr: transaction.toXDR() }).catch(() => ({}));
    this.leases.push({ begun, granted: bump.status === 200 });
    if (bump.status === 200)
      await this.world.network.sendTransaction(TransactionBuilder.fromXDR(bump.json.transactionXdr, this.world.passphrase)).catch(() => {});
  }

  async ask() {
    const at = Date.now(), { status } = await fetch(`${this.service.adminUrl}/readyz`, { signal: AbortSignal.timeout(3000) }).catch(() => ({ status: 0 }));
    this.said.push({ at, ready: status === 200 });
  }

  /** A lease that began from now on is granted, and /readyz says so. */
  well(from = Date.now()) {
    return until(() => this.said.at(-1)?.ready && this.leases.some(({ begun, granted }) => granted && begun > from), 120_000, 'all is well');
  }

  /** The longest time for which what was said is not what the leases that began then got, since from: [ms, what was said]. */
  wrongFor(from) {
    let longest = [0], since;
    for (const { at, ready } of this.said.filter(({ at }) => at >= from).toSorted((a, b) => a.at - b.at)) {
      const got = this.leases.filter(({ begun }) => begun <= at).toSorted((a, b) => a.begun - b.begun).at(-1);
      since = got?.granted === undefined || got.granted === ready ? undefined : since ?? at;
      if (since !== undefined && at - since > longest[0])
        longest = [at - since, `ready: ${ready}`];
    }
    return longest;
  }
}

const lock = statement => one => {
  one.locker = one.world.sql(`BEGIN; ${statement}; SELECT pg_sleep(300); COMMIT`).catch(() => {});
};
const unlock = async one => {
  await one.world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(300)%' AND pid <> pg_backend_pid()");
  await one.locker;
};
const signer = (weight, ...signers) => one => setOptions(one, { lowThreshold: 2 * weight, signer: { ed25519PublicKey: one.users[1].publicKey(), weight } },
  one.world.distribution, ...signers.map(i => one.users[i]));

const sql = (begin, end) => [one => one.world.sql(begin), one => one.world.sql(end)];
const locked = (table, mode = 'EXCLUSIVE') => [lock(`LOCK TABLE fairway.${table} IN ${mode} MODE`), unlock];
const rpc = (say, ...which) => [one => one.rpc = async (call, forward, i) => which.length === 0 || which.includes(i) ? say(call, forward, one) : forward(), one => one.rpc = null];
const lies = settings => [one => one.world.localnet.faults.configure(settings), one => one.world.localnet.faults.configure({ reset: true })];
const END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fairway'";
const onRole = (begin, end) => sql(`ALTER ROLE fairway ${begin}; ${END_SESSIONS}`, `ALTER ROLE fairway ${end}; ${END_SESSIONS}`);
const onLease = body => sql(`CREATE FUNCTION public.test_fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$;
  CREATE TRIGGER fault BEFORE INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.test_fault()`, 'DROP FUNCTION public.test_fault CASCADE');
const failed = (call, message) => ({ jsonrpc: '2.0', id: call.id, error: { code: -32600, message } });
const slow = ms => async (call, forward) => (await sleep(ms), forward());
const REFUSED = ['FairwayCheckFails', 'FairwayNotGranting'], PART = ['FairwayCheckWarns'], BUG = [...REFUSED, 'FairwayInternalError'];
/** name: [begin, end, the alerts that fire, else those of REFUSED, and one that may]; faults at full size alone come after the empty name */
const faults = {
  'the disk is full': [one => one.server.fill(), one => one.server.free()],
  'the standby is gone': [one => one.world.setStandby('nobody'), one => one.world.setStandby('')],
  'somebody locks the accounts': locked('channel_accounts'),
  'no key can be kept': locked('idempotency_keys'),
  'the database is stopped': [one => one.world.postgres('stop', { mode: 'immediate' }), async one => { one.server = await restartSick(one.world, true); }],
  'no session of ours may write': onRole('SET default_transaction_read_only = on', 'RESET default_transaction_read_only'),
  "the database's clock is fast": [one => one.server.setClock(60), one => one.server.setClock(0), [...REFUSED, ...PART, 'FairwayClock']],
  'the signers are changed': [signer(1), signer(0, 1)],
  'all RPCs hang': rpc(() => new Promise(() => {})),
  'RPC 2 answers 429': [...rpc(() => 429, 1), PART],
  'the key process stands still': [one => process.kill(one.service.keydPid, 'SIGSTOP'), async one => one.service = await one.world.serve(one.env),
    ['FairwayGone', 'FairwayReplicaGone']], // fairway has ended
  "the host's clock is fast": [async one => [one.first, one.service] = [one.service, await one.world.serve({ ...one.env, ...fastHost(300) }, [], false)],
    async one => { await one.service.kill(); [one.service, one.first] = [one.first]; }, ['FairwayCheckFails']],
  '': [],
  'nobody may read the accounts': locked('channel_accounts', 'ACCESS EXCLUSIVE'),
  'nobody may write leases': locked('leases'),
  'nobody may write bids': [...locked('fee_bumps'), ['FairwayCheckFails']],
  'nobody may write ledgers': locked('ledgers'),
  'the cursor is locked': [lock('SELECT FROM fairway.cursor FOR UPDATE'), unlock],
  'a lease takes three seconds': onLease('PERFORM pg_sleep(3)'),
  'the database refuses leases': [...onLease("RAISE 'no'"), BUG],
  'our role may have no session': onRole('CONNECTION LIMIT 0', 'CONNECTION LIMIT -1'),
  'our role may not log in': onRole('NOLOGIN', 'LOGIN'),
  'sessions end each second': [one => one.ending = setInterval(() => one.world.sql(END_SESSIONS).catch(() => {}), 1000), one => clearInterval(one.ending), ['FairwayLeadChanges']],
  'our role may not record leases': [...sql('REVOKE EXECUTE ON FUNCTION fairway.record_leases FROM fairway', 'GRANT EXECUTE ON FUNCTION fairway.record_leases TO fairway'), BUG],
  'a table has another name': [...sql('ALTER TABLE fairway.leases RENAME TO other', 'ALTER TABLE fairway.other RENAME TO leases'), [...BUG, ...PART]],
  "the database's clock is slow": [one => one.server.setClock(-60), one => one.server.setClock(0), [...REFUSED, ...PART, 'FairwayClock']],
  "the network's clock is fast": [...lies({ jump: 1, jumpSeconds: 60 }), [...REFUSED, 'FairwayClock']],
  'an operator pauses leases': [one => one.world.run('pause', '--reason', 'a test'), one => one.world.run('resume')],
  'an operator holds grants': [one => one.world.run('hold', 'a test'), one => one.world.sql('UPDATE fairway.cursor SET held_until = 1'), ['FairwayCheckFails']],
  'all accounts are quarantined': [...sql("UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'a test'",
    "UPDATE fairway.channel_accounts SET state = 'active', quarantine_reason = NULL"), [...REFUSED, 'FairwayQuarantine']],
  'no submission is included': [...lies({ loseSubmission: 1 }), []],
  'no node has room': [...lies({ tryAgainLater: 1 }), []],
  'half of the answers of RPCs are lost': [...lies({ loseAnswer: 0.5 }), []],
  'RPCs have internal errors': lies({ internalError: 1 }),
  'RPCs are far behind': [...lies({ lagLedgers: 40 }), []],
  'all RPCs answer 429': rpc(() => 429),
  'all RPCs close connections': rpc(() => null),
  'all RPCs answer after a second': [...rpc(slow(1000)), []],
  'all RPCs answer after four seconds': [...rpc(slow(4000)), []],
  'all RPCs have no ledger from now on': rpc(async (call, forward) => call.method === 'getLedgers' ? failed(call, 'no history') : forward()),
  'RPC 1 hangs': [...rpc(() => new Promise(() => {}), 0), PART],
  'RPC 2 lies': [...rpc(async (call, forward) => call.method === 'getLedgers' ? flip(await forward()) : forward(), 1), [...PART, 'FairwayRpcLies']],
  'RPC 1 is stuck': [...rpc(async (call, forward, one) => {
    one.stuck ??= (await forward()).result?.latestLedger;
    return call.method === 'getLedgers' ? failed(call, `start ledger (${call.params.startLedger}) must be between the oldest ledger: 2 and the latest ledger: ${one.stuck} for this rpc instance.`) : forward();
  }, 0), PART, 'FairwayCheckFails'], // what RPC 2 says alone is believed after 30 s, and leases are refused after 31
};
const names = Object.keys(faults), quick = names.indexOf('');
const chosen = LONG ? names.filter(name => name !== '') : names.slice(0, quick);

describe('the judge', { concurrency: WORLDS }, () => {
  for (let world = 0; world < WORLDS; world++)
    describe(`world ${world + 1}`, { concurrency: 1 }, () => {
      const one = new Judged();
      let started;
      for (const name of chosen.filter((_, i) => i % WORLDS === world))
        test(`EX2 ${name}`, { timeout: 600_000 }, async () => {
          const [begin, end, alerts = REFUSED, may = PART[0]] = faults[name];
          await (started ??= one.start());
          const from = Date.now(), prometheus = LONG ? await new Prometheus().start(one.world.folder, one.service) : null;
          try {
            one.host.grow();
            await one.well();
            await sleep(WELL_MS);
            await begin(one);
            prometheus?.watch(...new Set([one.first ?? one.service, one.service]));
            await (prometheus?.expect(alerts, may) ?? sleep(wrongMs() + 3000)).finally(() => end(one));
            prometheus?.watch(one.service);
            await one.well();
            await sleep(WELL_MS);
            await prometheus?.isQuiet();
          } finally {
            await prometheus?.stop();
          }
          assert.ok(one.leases.filter(({ begun }) => begun >= from).length > 20 && one.said.filter(({ at }) => at >= from).length > 20);
          const [ms, words] = one.wrongFor(from);
          console.log(`${name}: wrong for at most ${ms} ms${prometheus ? `; fired after ${JSON.stringify(prometheus.seen)} s` : ''}`);
          assert.ok(ms <= wrongMs(), `wrong for ${ms} ms: ${words}`);
        });
      after(() => one.stop());
    });
});
