// A surge: more is submitted at once than ledgers have room for before it is too late. Prints how much was included for each maxFee.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payment, slowerSeconds, startWorld } from './harness.mjs';

/** A fee bump of a payment has two operations: four fit into a ledger, eight into the node's queue. */
const LEDGER_OPERATIONS = 8;
const CAPS = [undefined, 25_000, 50_000, 400_000, 2_000_000], EACH = 24;
/** So many ledgers have room: for those with the highest caps, and not for all. */
const LEDGERS = 18;
let world, service, user;

before(async () => {
  world = await startWorld({ accounts: CAPS.length * EACH });
  service = await world.serve();
  user = await world.newAccount();
});
after(() => world?.stop());

async function signed() {
  const { status, json } = await service.post('/v1/transactions',
    { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds: slowerSeconds(20) });
  assert.equal(status, 201, JSON.stringify(json));
  const inner = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  inner.sign(user);
  return { hash: json.hash, transactionXdr: inner.toXDR() };
}

test('DL16 while ledgers are full, who allows a higher fee is included first, and nobody is charged more than the bid', { timeout: 600_000 }, async t => {
  const included = new Map(), { chain } = world.localnet;
  chain.on('closed', ({ items }) => items.forEach(({ transaction, outcome }) => included.set(transaction.innermost.hashHex,
    { bid: transaction.fee, charged: outcome.feeCharged })));
  const leases = await Promise.all(Array.from({ length: CAPS.length * EACH }, signed));
  world.localnet.pause(); // until all are submitted, however long that takes
  chain.upgrade({ maxTxSetSize: LEDGER_OPERATIONS }); // not earlier: the creation of accounts has more
  await chain.closeLedger();
  await Promise.all(leases.map(async ({ transactionXdr }, i) => {
    const cap = CAPS[i % CAPS.length];
    const sent = await service.post('/v1/submissions', { transactionXdr, ...(cap && { maxFee: String(cap) }) });
    assert.equal(sent.status, 202, JSON.stringify(sent.json));
  }));
  let ledgers = 0;
  chain.on('closed', () => ++ledgers === LEDGERS && world.localnet.faults.configure({ emptyLedger: 1 }));
  world.localnet.resume();
  const ends = await Promise.all(leases.map(async ({ hash }, i) => {
    for (;;) {
      const { json } = await service.get(`/v1/transactions/${hash}?wait=60`);
      if (json.status !== 'pending')
        return { ...json, cap: CAPS[i % CAPS.length], ...included.get(hash) };
    }
  }));
  world.localnet.faults.configure({ emptyLedger: 0 });
  chain.upgrade({ maxTxSetSize: 1000 });
  t.diagnostic(`maxFee | included of ${EACH} | bid | charged`);
  const shares = CAPS.map(cap => {
    const mine = ends.filter(end => end.cap === cap), won = mine.filter(({ status }) => status === 'confirmed');
    const range = list => list.length === 0 ? 'none' : `${Math.min(...list)} to ${Math.max(...list)}`;
    t.diagnostic([cap ?? 'none', won.length, range(won.map(({ bid }) => Number(bid))), range(won.map(({ charged }) => Number(charged)))].join(' | '));
    return won.length;
  });
  for (const { hash, status, cap, bid, charged, feeCharged } of ends) {
    assert.ok(['confirmed', 'expired'].includes(status), `${hash} is ${status}`);
    assert.equal(bid !== undefined, status === 'confirmed', hash);
    if (bid === undefined)
      continue;
    assert.ok(charged <= bid && bid <= BigInt(cap ?? 2_000_000), `${hash}: cap ${cap}, bid ${bid}, charged ${charged}`);
    assert.equal(feeCharged, String(charged));
  }
  assert.equal(shares.at(-1), EACH, 'the highest cap is always included');
  assert.ok(shares[0] + shares[1] < 2 * EACH, 'there was no room for all');
  assert.ok(shares.every((share, i) => i === 0 || share >= shares[i - 1] - 2), `who allows more is included more often: ${shares}`);
});

test('at the end every account is idle', () => assertSettled(assert, world, service, CAPS.length * EACH));
