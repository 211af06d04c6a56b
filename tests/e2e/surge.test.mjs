// Surges: more is submitted at once than ledgers have room for. Prints what each kind of submission was charged.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { assertSettled, payment, slowerSeconds, startWorld } from './harness.mjs';

/** A fee bump of a payment has two operations: four fit into a ledger, eight into the node's queue. */
const LEDGER_OPERATIONS = 8, ACCOUNTS = 80;
const BASE_FEE = 10_000, CAP = 20 * 2 * BASE_FEE; // of an operation; of a payment, without maxFee
let world, service, user, chain;
const included = new Map();

before(async () => {
  world = await startWorld({ accounts: ACCOUNTS });
  service = await world.serve();
  user = await world.newAccount();
  chain = world.localnet.chain;
  chain.on('closed', ({ items, header }) => items.forEach(({ transaction, outcome }) => included.set(transaction.innermost.hashHex,
    { ledger: header.ledgerSeq, bid: Number(transaction.fee), charged: Number(outcome.feeCharged) })));
});
after(() => world?.stop());

async function signed(timeoutSeconds) {
  const { status, json } = await service.post('/v1/transactions', { transactionXdr: payment(world, user, user).toXDR(), timeoutSeconds });
  assert.equal(status, 201, JSON.stringify(json));
  const inner = TransactionBuilder.fromXDR(json.transactionXdr, world.passphrase);
  inner.sign(user);
  return { hash: json.hash, transactionXdr: inner.toXDR() };
}

async function submit({ transactionXdr }, maxFee) {
  const { status, json } = await service.post('/v1/submissions', { transactionXdr, ...(maxFee && { maxFee: String(maxFee) }) });
  assert.equal(status, 202, JSON.stringify(json));
}

async function end({ hash }) {
  for (;;) {
    const { json } = await service.get(`/v1/transactions/${hash}?wait=60`);
    if (json.status !== 'pending')
      return { ...json, ...included.get(hash) };
  }
}

/** Submits all before a ledger closes, however long that takes. */
async function burst(work) {
  world.localnet.pause();
  chain.upgrade({ maxTxSetSize: LEDGER_OPERATIONS }); // not earlier: the creation of accounts has more
  await chain.closeLedger();
  await work();
  world.localnet.resume();
}

function report(t, what, ends) {
  const range = list => `${Math.min(...list)} to ${Math.max(...list)}`, won = ends.filter(({ status }) => status === 'confirmed');
  t.diagnostic(`${what}: ${won.length} of ${ends.length} included, ${won.length && `bids ${range(won.map(({ bid }) => bid))}, charged ${range(won.map(({ charged }) => charged))}`}`);
  for (const { hash, status, bid, charged, feeCharged } of ends) {
    assert.equal(bid !== undefined, status === 'confirmed', `${hash} is ${status}`);
    assert.ok(bid === undefined || (charged <= bid && bid <= CAP && feeCharged === String(charged)), `${hash}: bid ${bid}, charged ${charged}`);
  }
}

test('DL16 who fills twenty ledgers alone pays at most 1.1 times the price of the first', { timeout: 600_000 }, async t => {
  const leases = await Promise.all(Array.from({ length: ACCOUNTS }, () => signed(280)));
  await burst(() => Promise.all(leases.map(lease => submit(lease))));
  const ends = await Promise.all(leases.map(end));
  report(t, 'alone', ends);
  const ledgers = ends.map(({ ledger }) => ledger), first = Math.min(...ledgers);
  const price = ends.find(({ ledger }) => ledger === first).charged;
  assert.equal(price, 2 * BASE_FEE);
  assert.ok(ends.every(({ charged }) => charged <= 1.1 * price));
  const most = Math.max(...ledgers) - first + 1;
  assert.ok(most <= 26, `${most} ledgers`); // 20 are the least
});

test('DL16 without maxFee all are included while others bid fifteen times as much; below that price none is', { timeout: 600_000 }, async t => {
  chain.upgrade({ maxTxSetSize: 1000 });
  const others = await Promise.all(Array.from({ length: 12 }, () => world.newAccount()));
  let goesOn = true;
  /** Each of them has a payment in the queue at any time. */
  const crowd = () => Promise.allSettled(others.map(async other => {
    const transaction = new TransactionBuilder(await world.network.getAccount(other.publicKey()),
      { fee: String(15 * BASE_FEE), networkPassphrase: world.passphrase })
      .addOperation(Operation.payment({ destination: user.publicKey(), asset: Asset.native(), amount: '1' })).setTimeout(300).build();
    transaction.sign(other);
    await world.network.sendTransaction(transaction);
  }));
  const leases = await Promise.all(Array.from({ length: 24 }, () => signed(slowerSeconds(60))));
  const capped = await Promise.all(Array.from({ length: 6 }, () => signed(slowerSeconds(20))));
  await burst(async () => {
    await Promise.all(leases.map(lease => submit(lease)));
    await Promise.all(capped.map(lease => submit(lease, 50_000)));
    await crowd();
  });
  chain.on('closed', () => goesOn && crowd());
  const ends = await Promise.all(leases.map(end)), below = await Promise.all(capped.map(end));
  goesOn = false;
  chain.upgrade({ maxTxSetSize: 1000 });
  report(t, 'without maxFee', ends);
  report(t, 'maxFee 50000', below);
  assert.ok(ends.every(({ status }) => status === 'confirmed'));
  assert.ok(below.every(({ status, charged }) => status === 'expired' || charged <= 50_000));
});

test('at the end every account is idle', () => assertSettled(assert, world, service, ACCOUNTS));
