// One of two RPCs accepts connections and answers nothing, as a stopped node behind a load balancer does. Signatures prove ledgers, so it costs at
// most a second once; no lease is refused because of it, and a replica starts in time. When it goes on, it answers what it was asked, as a process
// after SIGCONT does.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { payment, sleep, slower, startWorld, until } from './harness.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

// A call times out after 15 s: that is what each ledger would be late by if the RPC were waited for.
const LEDGER_MS = 1000, WATCHED_MS = 20_000, BEHIND = 3;

describe('an RPC that hangs', { concurrency: 1, timeout: 900_000 }, () => {
  const rpcs = [{}, {}];
  let world, service, users;
  before(async () => {
    world = await startWorld({ accounts: 100, ledgerMs: LEDGER_MS });
    await world.trustValidator();
    for (const rpc of rpcs)
      Object.assign(rpc, await proxyRpc(world.localnet.url, async (call, forward) => {
        await rpc.hung;
        return forward().catch(() => null);
      }));
    world.env.LEDGER_SECONDS = '1';
    world.env.RPC_URL = rpcs.map(({ url }) => url).join();
    service = await world.serve();
    users = [await world.newAccount(), await world.newAccount()];
  });
  after(async () => {
    await world?.stop();
    rpcs.forEach(rpc => rpc.close?.());
  });

  /** What happens for some time: by how many ledgers the cursor was behind at most, and what was refused. */
  async function watch() {
    const seen = { behind: 0, refused: [], unready: 0, leased: 0 }, end = Date.now() + WATCHED_MS;
    for (; Date.now() < end; await sleep(100)) {
      const latest = (await world.network.getLatestLedger()).sequence;
      seen.behind = Math.max(seen.behind, latest - await world.cursor());
      seen.unready += (await service.get('/readyz')).status !== 200;
      if (seen.leased++ % 5 !== 0)
        continue;
      const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, ...users).toXDR() });
      if (status !== 201)
        seen.refused.push(json.code);
    }
    return seen;
  }

  const allTakePart = () => count(/is not waited for/g) === count(/is waited for again/g);
  const count = pattern => service.log.match(pattern)?.length ?? 0;

  for (const [index, name] of ['first', 'second'].entries())
    test(`DR6 the ${name} one hangs: ledgers are late once by at most a second, leases are granted, and a replica starts`, async () => {
      await sleep(3 * LEDGER_MS);
      let goOn;
      rpcs[index].hung = new Promise(resolve => (goOn = resolve));
      const { behind, refused, unready } = await watch(), begun = Date.now();
      const second = await world.serve(), started = Date.now() - begun;
      await second.kill();
      rpcs[index].hung = goOn();
      console.log(JSON.stringify({ name, behind, refused: refused.length, unready, started }));
      assert.match(service.log, new RegExp(`is not waited for.*rpc=${index + 1}`));
      assert.ok(behind < BEHIND, `${behind} ledgers behind`);
      assert.deepEqual(refused, []);
      assert.equal(unready, 0);
      assert.ok(started < slower(10_000), `started in ${started} ms`); // a start that waits for the RPC takes 15 s
      await until(allTakePart, 60_000, 'it takes part again');
    });
});
