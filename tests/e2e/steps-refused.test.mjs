// DR1, beside steps-ledger.test.mjs: at every point of the ledger transaction a statement fails, or the server ends the session; and an ingester
// is killed while it catches up. A second session polls throughout: a lease is closed if and only if its ledger's row and the cursor are committed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { isLedgerWhole, isStatement, ledgerTransaction, points, Stop, stopped } from '../faults/stop.mjs';
import { assertSettled, payThrough, startWorld, until } from './harness.mjs';

const ACCOUNTS = 3;
const ROUNDS = process.env.FAIRWAY_SIZE === 'long' ? 20 : 1;
let world, user, stop, service, watcher, lines;

// One statement, and so one snapshot.
const LOOK = `SELECT c.sequence, (SELECT max(sequence) FROM fairway.ledgers),
  coalesce((SELECT string_agg(encode(l.hash, 'hex') || ':' || coalesce(l.ledger::text, '-') || ':' || (a.lease_hash IS NULL)::text, ' ')
    FROM fairway.lease_history l JOIN fairway.channel_accounts a ON a.public_key = l.account AND (a.lease_hash = l.hash OR a.lease_hash IS NULL)), '')
  FROM fairway.cursor c;\n`;

/** A session that polls again as soon as it has a response. */
class Watcher {
  looks = 0;
  #seen = new Set();

  constructor(url) {
    this.#process = spawn('psql', ['-X', '-q', '-t', '-A', '-F', '|', url], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.#process.stdout).on('line', line => {
      this.looks++;
      this.#seen.add(line);
      if (!this.#process.stdin.writableEnded)
        this.#process.stdin.write(LOOK);
    });
    this.#process.stdin.write(LOOK);
  }

  #process;

  stop() {
    this.#process.stdin.end();
  }

  /** Waits until it has seen the present state: the poll under way may have begun before it. */
  async look() {
    const { looks } = this;
    await until(() => this.looks > looks + 1, 10_000, 'the watcher has polled once more');
  }

  /** Returns the distinct states that were seen since the last call. */
  take() {
    const seen = [...this.#seen];
    this.#seen.clear();
    return seen.map(line => {
      const [cursor, ledger, leases] = line.split('|');
      return { cursor: Number(cursor), ledger: Number(ledger),
        leases: leases.split(' ').filter(text => text !== '').map(text => text.split(':')) };
    });
  }
}

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 300 });
  user = await world.newAccount();
  world.localnet.pause();
  Object.assign(world.env, { INGEST_POLL_MS: '20', ENGINE_THREADS: '1' });
  stop = new Stop(path.join(world.folder, 'stop'));
  service = await world.serve(stop.env);
  await round(close => close());
  lines = points('ledger', ledgerTransaction(await stop.trace(() => round(close => close()), isLedgerWhole)));
  watcher = new Watcher(world.superuser);
});
after(async () => {
  watcher?.stop();
  await world?.stop();
});

const cursor = () => world.cursor();

/** Takes a lease whose transaction is in the next ledger, and runs faulty() around the close of that ledger. Returns the lease and its ledger. */
async function round(faulty, ledgers = 1) {
  await world.localnet.closeLedger();
  const at = await until(async () => {
    const { sequence } = await world.network.getLatestLedger();
    return await cursor() === sequence && sequence;
  }, 20_000, 'the cursor is at the latest ledger');
  const lease = await payThrough(world, service, user, user);
  await watcher?.look(); // sees the lease open
  const close = async () => {
    for (let i = 0; i < ledgers; i++)
      await world.localnet.closeLedger();
  };
  await faulty(close);
  if ((await world.network.getLatestLedger()).sequence === at)
    await close();
  await until(async () => await cursor() === at + ledgers, 20_000, 'ingestion continues');
  return { hash: lease.hash, ledger: at + 1 };
}

/** Asserts that lease, account, ledger row and cursor agreed in every state that was seen, and that the lease was seen open and closed. */
function assertSameTransaction(seen, { hash, ledger }, where) {
  let open = 0, closed = 0;
  for (const state of seen) {
    assert.equal(state.cursor, state.ledger, `${where}: cursor and ledger row`);
    const lease = state.leases.find(([its]) => its === hash);
    if (lease === undefined)
      continue;
    const isClosed = lease[1] !== '-';
    assert.equal(isClosed, state.cursor >= ledger, `${where}: closed with cursor ${state.cursor} and ledger ${ledger}`);
    assert.equal(lease[2], String(isClosed), `${where}: the account is idle with it`);
    isClosed ? closed++ : open++;
  }
  assert.ok(open > 0 && closed > 0, `${where}: seen open and closed`);
}

async function assertReleasedOnce({ hash, ledger }, where) {
  const rows = await world.sql(`SELECT l.result, l.ledger, n.settled_count, (SELECT count(*) FROM fairway.ledgers)
    - (SELECT max(sequence) - min(sequence) + 1 FROM fairway.ledgers) FROM fairway.lease_history l
    JOIN fairway.ledgers n ON n.sequence = l.ledger WHERE l.hash = '\\x${hash}'`);
  assert.deepEqual(rows, [['confirmed', String(ledger), '1', '0']], where);
}

const terminate = async () => {
  const ended = await world.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'fairway ingest' AND query NOT LIKE '%pg_terminate%'`);
  assert.ok(ended.length >= 1);
};

const acts = {
  'a statement fails': { action: 'error', chosen: ({ point }) => isStatement(point), recover: async () => {} },
  'the server ends the session': { action: 'stop', chosen: () => true, recover: async () => {
    await stopped(service.process.pid);
    await terminate();
    service.process.kill('SIGCONT');
  } },
};

for (const [name, act] of Object.entries(acts))
  test(`DR1 ${name} at every point of the ledger transaction: a lease is closed if and only if its ledger and the cursor are committed`,
    { timeout: 600_000 }, async t => {
      const { action, recover } = act, chosen = lines.filter(act.chosen);
      let done = 0;
      for (let i = 0; i < ROUNDS; i++)
        for (const { point, count } of chosen) {
          const where = `${action} at "${point}" (${count})`;
          watcher.take();
          const released = await round(async close => {
            stop.arm(action, point, count);
            await close();
            await stop.reach(where);
            await recover();
          });
          await watcher.look();
          assertSameTransaction(watcher.take(), released, where);
          await assertReleasedOnce(released, where);
          done++;
        }
      assert.equal(done, chosen.length * ROUNDS);
      t.diagnostic(`${done} of ${chosen.length * ROUNDS} points, ${watcher.looks} looks: 0 early, 0 lost releases`);
    });

test('DR1 after a kill while catching up, the remaining ledgers are committed once each', { timeout: 600_000 }, async t => {
  for (const pass of [1, 2, 3]) {
    const point = 'fairway ingest: COMMIT';
    watcher.take();
    const released = await round(async close => {
      service.process.kill('SIGSTOP');
      await close();
      stop.arm('kill', point, pass);
      service.process.kill('SIGCONT');
      await stop.reach(point);
      assert.equal((await service.ended).signal, 'SIGKILL');
      service = await world.serve(stop.env);
    }, 3);
    await watcher.look();
    assertSameTransaction(watcher.take(), released, `catching up, pass ${pass}`);
    await assertReleasedOnce(released, `catching up, pass ${pass}`);
  }
  t.diagnostic('3 of 3 ledgers');
});

test('DR1 at the end every account is released', { timeout: 600_000 }, () => assertSettled(assert, world, service, ACCOUNTS));
