// TRUSTED_VALIDATORS, with one RPC and with a second one that is unavailable: a ledger that no trusted validator has signed ends no lease, and one
// with forged results is found out by the next ledger.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { encode } from '../localnet/xdr.mjs';
import { freePort, payment, payThrough, sleep, startWorld, until } from './harness.mjs';
import { eachLedger, eachMeta } from './lies.mjs';
import { proxyRpc } from './rpc-proxy.mjs';

/** Changes decoded metadata so that the hashes of header and ledger fit. */
const forged = change => answer => eachMeta((meta, ledger) => {
  const { header } = meta.ledgerHeader;
  change(meta, header);
  meta.ledgerHeader.hash = crypto.createHash('sha256').update(encode('LedgerHeader', header)).digest();
  ledger.hash = meta.ledgerHeader.hash.toString('hex');
})(eachLedger((ledger, i, all) => all.splice(1))(answer));

for (const [name, others] of [['one RPC', 0], ['a second RPC that is unavailable', 1]])
  describe(`trusted validators, ${name}`, { concurrency: 1, timeout: 900_000 }, () => {
    let world, rpc, service, users, say, file, validator;
    const list = keys => fs.writeFileSync(file, keys.map(key => `Local network ${key}\n`).join(''));
    const follows = async () => {
      const start = await world.cursor();
      await until(async () => await world.cursor() > start + 2, 90_000, `ledgers are followed:\n${service.log.slice(-2000)}`);
    };
    const stops = (pattern, from) => until(() => pattern.test(service.log.slice(from)), 30_000, `ingestion stops:\n${service.log.slice(-1000)}`);

    before(async () => {
      world = await startWorld({ accounts: 8 });
      const { result } = await (await fetch(world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localnet_status' }) })).json();
      ({ validator } = result);
      file = path.join(world.folder, 'validators.txt');
      list([validator]);
      rpc = await proxyRpc(world.localnet.url, async (call, forward) => {
        const answer = await forward();
        return say !== undefined && call.method === 'getLedgers' ? say(answer) : answer;
      });
      const away = await Promise.all(Array.from({ length: others }, async () => `http://127.0.0.1:${await freePort()}`));
      Object.assign(world.env, { RPC_URL: [rpc.url, ...away].join(), TRUSTED_VALIDATORS: file });
      users = [await world.newAccount(), await world.newAccount()];
      service = await world.serve();
      await follows();
    });
    after(async () => {
      await world?.stop();
      rpc?.close();
    });

    const lease = async timeoutSeconds => (await service.post('/v1/transactions',
      { transactionXdr: payment(world, ...users).toXDR(), timeoutSeconds })).json;
    const statusOf = async ({ hash }) => (await service.get(`/v1/transactions/${hash}`)).json.status;

    test('DR4 an invented ledger stops ingestion, which names the RPC and the node, and ends no lease', async () => {
      const from = service.log.length, taken = await lease(300);
      say = forged((meta, header) => (header.scpValue.closeTime += 400n));
      await stops(new RegExp(`ingestion stopped.*of RPC 1 of RPC_URL, signed by ${validator}: the signature is not valid`), from);
      await sleep(2000);
      assert.equal(await statusOf(taken), 'pending');
      say = undefined;
      await follows();
      assert.equal(await statusOf(taken), 'pending');
    });

    test('a node that is not in the file stops ingestion until it is added', async () => {
      const from = service.log.length;
      list(['GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK']);
      await stops(new RegExp(`ingestion stopped.*signed by ${validator}: this node is not in TRUSTED_VALIDATORS`), from);
      list([validator]);
      await follows();
    });

    test('DR4 forged results of a ledger are found out by the next one: hold, quarantine, and recovery', async () => {
      const from = service.log.length;
      let told = 0;
      say = answer => {
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
      };
      const paid = await payThrough(world, service, ...users);
      await until(async () => told !== 0 && await world.cursor() >= told, 60_000, 'the forged ledger is committed');
      say = undefined;
      await until(() => /a trusted validator's ledger contradicts the last committed one/.test(service.log.slice(from)), 60_000, 'it is found out');
      const [state, reason] = await world.stateOf(paid.channelAccount);
      assert.equal(state, 'quarantined', reason);
      assert.match(reason, /a ledger that ended its lease was not the network's/);
      await follows();
      assert.equal((await lease(60)).code, 'GRANTS_SUSPENDED');
      assert.deepEqual(await world.sql("SELECT count(*) FROM fairway.channel_accounts WHERE state = 'quarantined'"), [['1']]);
    });
  });

test('without the option serve warns at its start', { timeout: 600_000 }, async () => {
  const world = await startWorld({ accounts: 1 });
  try {
    const service = await world.serve();
    assert.equal(service.log.split('TRUSTED_VALIDATORS is not set').length, 2);
  } finally {
    await world.stop();
  }
});
