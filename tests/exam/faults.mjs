// The faults. Of each: how it begins and ends, the lines of fairway status that name it or follow from it, the rules that fire, and what the log says.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep, slower, submit } from '../e2e/harness.mjs';
import { eachLedger, flip } from '../e2e/lies.mjs';
import { fastHost, restartSick } from '../e2e/sick-server.mjs';
import { unseal } from '../e2e/unseal.mjs';
import { ACCOUNTS } from './patient.mjs';

const LEASE = 'May I lease?', ROOM = 'Is there room?', LEDGERS = 'Do leases end?', ENDS = 'How do they end?', MONEY = 'Is there money?',
  PART = 'Which part is sick?', SPEED = 'Is it fast?';

/** [{name, options of Patient.start, skip: why it is not run, faults: [{name, run(patient)}]}]: one world each, for faults one after the other. */
export const patients = [];
function patient(name, { skip, ...options }, define) {
  const one = { name, skip, options, faults: [] };
  define((fault, run) => one.faults.push({ name: fault, run }));
  patients.push(one);
}

/** The thresholds of the distribution account, and the weight of somebody else's key. */
export async function setOptions(one, options, ...signers) {
  const source = await one.world.network.getAccount(one.world.distribution.publicKey());
  const transaction = new TransactionBuilder(source, { fee: '100', networkPassphrase: one.world.passphrase })
    .addOperation(Operation.setOptions(options)).setTimeout(60).build();
  signers.forEach(signer => transaction.sign(signer));
  await submit(one.world, transaction.toXDR());
}

patient('one RPC', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('protocol vote', async one => one.exam({
    begin: async () => {
      await sleep(slower(3000)); // it has asked for the node's version since it grew old, and asks again in five minutes
      await fetch(one.world.localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localnet_upgrade', params: { supportedProtocol: 99 } }) });
      one.host.grow();
    },
    names: { [PART]: /^the network has or will have protocol 99, newer than this build, which knows \d+: install a newer one$/ },
    alerts: ['FairwayCheckWarns'], log: /newer than this build.*protocol=99/,
  }));
});

patient('its own RPC', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('RPC late', async one => one.exam({
    begin: () => one.rpc = async (call, forward) => (await sleep(20_000), null),
    names: { [PART]: /getLedgers: .*timed out/, [LEDGERS]: /closed (4[5-9]|[5-9]\d) s before/, [LEASE]: /closed \d+ s ago and no later one is ingested/ },
    alerts: ['FairwayCheckFails', 'FairwayLedgersLate', 'FairwayNotGranting'], may: 'FairwayCheckWarns', // when calls of before are a minute old
    log: /ingestion failed.*getLedgers: .*timed out/,
    end: () => one.rpc = null,
  }));
  fault('clock: the network\'s is fast', async one => one.exam({
    begin: () => one.world.localnet.faults.configure({ jump: 1, jumpSeconds: 60 }),
    names: { [LEASE]: /clock/, [LEDGERS]: /closed \d+ s after the database's clock/ },
    alerts: ['FairwayCheckFails', 'FairwayClock', 'FairwayNotGranting'],
    end: () => one.world.localnet.faults.configure({ reset: true }),
  }));
});

patient('the pool', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('clients that never submit', async one => one.exam({
    begin: async () => {
      for (let i = 0; i < ACCOUNTS - 6; i++)
        assert.equal((await one.lease(20)).status, 201);
    },
    names: { [ENDS]: new RegExp(`^in the last hour \\d+ confirmed, 0 failed, ${ACCOUNTS - 6} expired`) },
    alerts: ['FairwayLeasesExpire'],
    end: () => one.world.sql('UPDATE fairway.ledgers SET ends = NULL'), // as if it was more than an hour ago
  }));
  fault('quarantine', async one => one.exam({
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
    names: { [ROOM]: /1 quarantined \(G\w{7}\.\.\. its sequence number was consumed by a transaction that fairway did not sign\)/ }, alerts: ['FairwayQuarantine'], log: /channel account quarantined.*account=G/,
    end: async () => {
      const [[address]] = await one.world.sql("SELECT public_key FROM fairway.channel_accounts WHERE state = 'quarantined'");
      await one.world.fairway('accounts', 'release', address);
    },
  }));
  fault('full pool', async one => one.exam({
    begin: async () => {
      for (let i = 0; i < ACCOUNTS; i++)
        assert.equal((await one.lease(20)).status, 201);
      one.refused = one.lease(20).catch(() => {}); // it waits, and is refused
      await sleep(6500);
    },
    names: { [ROOM]: new RegExp(`^0 idle of ${ACCOUNTS} active accounts`), [LEDGERS]: /ended 0 leases, and no account is idle: are the leases submitted\?$/, [SPEED]: /99 % at most 10000 ms/ },
    alerts: ['FairwayPoolExhausted', 'FairwayPoolNearlyLeased'],
  }));
});

patient('the keys and the host', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('signers of the distribution account', async one => one.exam({
    begin: () => setOptions(one, { lowThreshold: 2, signer: { ed25519PublicKey: one.users[1].publicKey(), weight: 1 } }, one.world.distribution),
    names: { [LEASE]: /no longer reaches its thresholds/, [MONEY]: /no longer reaches its thresholds: its signers were changed/ },
    alerts: ['FairwayCheckFails', 'FairwayNotGranting'], log: /level=error msg="the distribution account's signers were changed/,
    end: () => setOptions(one, { lowThreshold: 0, signer: { ed25519PublicKey: one.users[1].publicKey(), weight: 0 } }, one.world.distribution, one.users[1]),
  }));
  fault('clock: a host\'s is fast', async one => {
    const first = one.service;
    await one.exam({
      begin: async () => one.service = await one.world.serve({ RPC_URL: one.proxies[0].url, ...fastHost(300) }, [], false),
      names: { [PART]: /^this host's clock is (299|30\d) s ahead of the database's: .*clients' tokens are refused$/, [LEASE]: /this host's clock/ },
      alerts: ['FairwayCheckFails', 'FairwayNotGranting'],
      end: async () => {
        await one.service.kill();
        one.service = first;
      },
    });
  });
});

patient('the account', { env: { LOW_BALANCE_PAYMENTS: '50', MIN_BALANCE_PAYMENTS: '10' } }, fault => {
  fault('money', async one => one.exam({
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
    names: { [LEASE]: /distribution account/, [MONEY]: /XLM, for 5 payments$/ },
    alerts: ['FairwayCheckFails', 'FairwayFundsRunOut', 'FairwayNotGranting'], log: /distribution account/,
  }));
});

patient('the clock of the database', {}, fault => {
  fault('clock: the database\'s is fast', async one => {
    const server = await restartSick(one.world);
    await one.exam({
      begin: () => server.setClock(60),
      names: { [LEASE]: /clock/, [LEDGERS]: /closed (59|6\d) s before the database's clock, and ledgers come in: that clock is fast/,
        [PART]: /^this host's clock is (59|6\d) s behind the database's/ },
      alerts: ['FairwayCheckFails', 'FairwayCheckWarns', 'FairwayClock', 'FairwayNotGranting'],
      end: () => server.setClock(0),
    });
  });
});

for (const [place, liar] of [['first', 0], ['second', 1]])
  patient(`two RPCs, of which the ${place} lies`, { rpcs: 2 }, fault => {
    fault('RPC lying: it changes a bit of each ledger', async one => one.exam({
      begin: () => one.rpc = async (call, forward, i) => {
        const answer = await forward();
        return call.method === 'getLedgers' && i === liar ? flip(answer) : answer;
      },
      names: { [PART]: new RegExp(`^RPC ${liar + 1}: \\d+ of its ledgers are not the network's`) },
      alerts: ['FairwayCheckWarns', 'FairwayRpcLies'], log: new RegExp(`is not waited for.*rpc=${liar + 1}`),
    }));
  });

patient('two RPCs', { rpcs: 2 }, fault => {
  fault('RPC lying: it names another hash', async one => one.exam({
    begin: () => one.rpc = async (call, forward, i) => {
      const answer = await forward();
      return call.method === 'getLedgers' && i === 1 ? eachLedger(ledger => (ledger.hash = 'ab'.repeat(32)))(answer) : answer;
    },
    names: { [PART]: /^RPC 2: \d+ of its ledgers are not the network's/ },
    alerts: ['FairwayCheckWarns', 'FairwayRpcLies'], log: /is not waited for.*rpc=2/,
    end: () => one.rpc = null,
  }));
});

patient('two RPCs, one of them useless', { rpcs: 2 }, fault => {
  const second = (name, say, mayName) => fault(name, async one => one.exam({
    begin: () => one.rpc = (call, forward, i) => i === 1 ? say(call, forward) : forward(),
    names: { [PART]: /^RPC 2: it is at ledger \d+, and the network at \d+: stuck, or of another network$/ }, mayName,
    alerts: ['FairwayCheckWarns'], end: () => one.rpc = null,
  }));
  let stuck;
  second('RPC 2 is stuck', async (call, forward) => {
    const answer = await forward();
    stuck ??= answer.result?.latestLedger;
    return call.method !== 'getLedgers' ? answer : { jsonrpc: '2.0', id: call.id, error: { code: -32600,
      message: `start ledger (${call.params.startLedger}) must be between the oldest ledger: 2 and the latest ledger: ${stuck} for this rpc instance.` } };
  }, LEDGERS); // what RPC 1 says alone is believed after 20 s, and then ingestion catches up
  second('RPC 2 hangs', () => new Promise(() => {}));
});

patient('the database, for long', { skip: process.env.FAIRWAY_SIZE !== 'long' && 'a snapshot is old after five minutes' }, fault => {
  fault('old snapshot', async one => {
    const sleeper = one.world.sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(400); COMMIT").catch(() => {});
    await sleep(290_000);
    await one.exam({
      begin: () => {},
      names: { [PART]: /keeps dead rows since \d+ s$/ }, alerts: ['FairwayCheckWarns'], log: /snapshot/,
      end: async () => {
        await one.world.postgres('stop', { mode: 'immediate' });
        await sleeper;
      },
    });
  });
});

patient('the database', { env: { DATABASE_FAILOVER: 'asynchronous' } }, fault => {
  fault('standby lost', async one => one.exam({
    begin: () => one.world.setStandby('nobody'),
    names: { [LEASE]: /no standby is connected, and each commit waits for one/, [PART]: /^no standby is connected, and each commit waits for one/ },
    alerts: ['FairwayCheckFails', 'FairwayNotGranting'],
    end: () => one.world.setStandby(''),
  }));
});

patient('the locks', {}, fault => {
  fault('somebody locks the accounts', async one => one.exam({
    begin: () => {
      one.locker = one.world.sql("BEGIN; LOCK TABLE fairway.channel_accounts IN EXCLUSIVE MODE; SELECT pg_sleep(60); COMMIT").catch(() => {});
      one.client = setInterval(() => one.lease(20).catch(() => {}), 300);
    },
    names: { [LEASE]: /^no: /, [PART]: /./ },
    alerts: ['FairwayCheckFails', 'FairwayNotGranting'], may: 'FairwayCheckWarns', log: /leases cannot be granted/, // ingestion fails too
    end: async () => {
      clearInterval(one.client);
      await one.world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()");
      await one.locker;
    },
  }));
});

patient('the disk', {}, fault => {
  fault('disk full', async one => {
    const disk = await restartSick(one.world);
    await one.exam({
      begin: () => disk.fill(),
      names: { [LEASE]: /the database cannot write: is its disk full\?/, [PART]: /^the database cannot write: is its disk full\?/ },
      alerts: ['FairwayCheckFails', 'FairwayNotGranting'], may: 'FairwayCheckWarns',
      end: () => disk.free(),
    });
  });
  fault('wrong key', async one => {
    const other = path.join(one.world.folder, 'other.key');
    await one.world.fairway('keygen', other);
    await one.examStart({ env: { MASTER_KEY_FILE: other }, log: /level=error msg="cannot start".*does not hold master key \w{16}, which the database needs, but \w{16}: use the file/, check: 'keys' });
  });
});
