// Two replicas while what both need is down: the RPC answers 503, or the database's disk is full. Neither can do better than the other, so the
// lead stays where it is, and nothing looks recovered before a ledger is committed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { payThrough, sleep, startWorld, until } from './harness.mjs';
import { restartSick } from './sick-server.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

const OUTAGE_MS = 50_000; // longer than a standby waits for a leader that commits nothing
let world, rpc, services, users, disk;

before(async () => {
  world = await startWorld({ accounts: 4, ledgerMs: 300 });
  disk = await restartSick(world);
  rpc = await proxyRpc(world.localnet.url, async (call, forward) => rpc.away ? 503 : forward());
  world.env.RPC_URL = rpc.url;
  users = await Promise.all([world.newAccount(), world.newAccount()]);
  services = [await world.serve(), await world.serve()];
});
after(async () => {
  await world?.stop();
  rpc?.close();
});

/** Whether ingestion works in each replica, as /metrics says. */
const works = () => Promise.all(services.map(async service => Number((await service.metrics())['fairway_check{check="ingestion"}'] === 0)));

for (const [name, begin, end, words] of [
  ['the RPC answers 503', () => (rpc.away = true), () => (rpc.away = false), /ingestion failed; retrying.*RPC_UNAVAILABLE.*503/],
  ['the disk is full', () => disk.fill(), () => disk.free(), /ingestion failed; retrying.*DATABASE_UNAVAILABLE.*53100/],
])
  test(`DR6 DX7 while ${name}, the lead changes at most twice a minute, and no replica recovers or is ready for a moment`, { timeout: 600_000 }, async t => {
    const from = services.map(({ log }) => log.length);
    const logged = pattern => services.flatMap(({ log }, i) => [...log.slice(from[i]).matchAll(pattern)].map(([line]) => line));
    let before = [1, 1], green = 0;
    t.after(end); // also when it fails
    begin();
    await until(() => logged(new RegExp(words, 'g')).length > 0, 120_000, 'ingestion fails'); // pages with free space take more rows
    for (const over = Date.now() + OUTAGE_MS; Date.now() < over; await sleep(50)) {
      const now = await works();
      green += now.filter((ok, i) => ok > before[i]).length;
      before = now;
    }
    const changes = logged(/this replica leads ingestion/g).length;
    t.diagnostic(`${changes} changes of the lead, ${green} times ready, ${logged(/ingestion recovered/g).length} times recovered`);
    assert.deepEqual(before, [0, 0]);
    assert.ok(changes <= 2, `${changes} changes of the lead`);
    assert.deepEqual(logged(/ingestion recovered/g), []);
    assert.equal(green, 0);
    end();
    await until(async () => (await works()).every(ok => ok === 1), 60_000, 'both work again');
    const recovered = logged(/ingestion recovered/g).length;
    assert.ok(recovered === 1 || recovered === 2, `${recovered} times recovered`);
    await until(async () => (await services[0].get('/readyz')).status === 200, 30_000, 'ready again');
    await payThrough(world, services[0], ...users);
  });
