// DP1: ensure-accounts is killed at each step of a creation and of a merge, with each answer of the RPC to what it sends. The next run ends
// at exactly N, with no key lost, nothing left over on the network, and nothing created twice. Each step gets some of the answers,
// or all of them with FAIRWAY_SIZE=long.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startProvisioning, answers } from './provisioning.mjs';
import { until } from './harness.mjs';

const isLong = process.env.FAIRWAY_SIZE === 'long';
const names = Object.keys(answers);
let provisioning, world, proxy;

before(async () => {
  provisioning = await startProvisioning();
  ({ world, proxy } = provisioning);
  await world.sql(`CREATE FUNCTION public.stop_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$`);
});
after(() => provisioning?.stop());

/** Kills in the database: the statement, or the COMMIT after it, does not return. */
const inDatabase = (table, event, { atCommit = false, when = 'true' } = {}) => async run => {
  await world.sql(`CREATE ${atCommit ? 'CONSTRAINT ' : ''}TRIGGER stop_here AFTER ${event} ON fairway.${table}
    ${atCommit ? 'DEFERRABLE INITIALLY DEFERRED' : ''} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION public.stop_here()`);
  const child = run();
  const stopped = () => world.sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name LIKE 'fairway%'");
  try {
    await until(async () => (await stopped()).length > 0, 15_000, `${event} of ${table}`);
    child.process.kill('SIGKILL');
    await child.ended;
  } finally {
    child.process.kill('SIGKILL');
    for (const [pid] of await stopped())
      await world.sql(`SELECT pg_terminate_backend(${pid})`);
    await world.sql(`DROP TRIGGER stop_here ON fairway.${table}`);
  }
};

/** Kills at a call to the RPC that is not carried out. `condition`: a query that returns rows once the previous step is committed. */
const atCall = (method, condition) => async run => {
  let child;
  const met = new Promise(resolve => {
    proxy.onCall = async call => {
      if (call.method !== method || (await world.sql(condition)).length === 0)
        return;
      child.process.kill('SIGKILL');
      await child.ended;
      resolve();
      return new Promise(() => {}); // the call never reaches the network
    };
  });
  child = run();
  await Promise.race([met, child.ended.then(({ signal, out }) => assert.equal(signal, 'SIGKILL', out))]);
  proxy.onCall = async () => {};
};

/** Kills after the first response to a transaction. */
const afterAnswer = async (run, answer) => {
  let child;
  const given = new Promise(resolve => {
    proxy.onSend = async (forward, call) => {
      const what = await answer(forward, call);
      setTimeout(resolve, 20);
      return what;
    };
  });
  child = run();
  await given;
  child.process.kill('SIGKILL');
  await child.ended;
};

const isPending = "SELECT 1 FROM fairway.provisioning WHERE state = 'pending'";
/** The steps that creations and merges share, from the signed transaction on. */
const steps = {
  'the signed transaction is being stored': inDatabase('provisioning', 'INSERT'),
  'the stored transaction is being committed': inDatabase('provisioning', 'INSERT', { atCommit: true }),
  'stored, not sent': atCall('sendTransaction', isPending),
  'answered': afterAnswer,
  'its ledger is being ingested': inDatabase('provisioning', 'UPDATE'),
  'its ledger is being committed': inDatabase('provisioning', 'UPDATE', { atCommit: true }),
};
const kinds = {
  creation: {
    'keys are being stored': inDatabase('channel_accounts', 'INSERT'),
    'keys are being committed': inDatabase('channel_accounts', 'INSERT', { atCommit: true }),
    'keys are stored, the network is asked': atCall('getLedgerEntries', "SELECT 1 FROM fairway.channel_accounts WHERE state = 'creating'"),
    ...steps,
  },
  merge: {
    'accounts are being retired': inDatabase('channel_accounts', 'UPDATE', { when: "NEW.state = 'retiring' AND OLD.state = 'active'" }),
    'retiring is being committed': inDatabase('channel_accounts', 'UPDATE', { atCommit: true, when: "NEW.state = 'retiring' AND OLD.state = 'active'" }),
    'accounts retire, the network is asked': atCall('getLedgerEntries', "SELECT 1 FROM fairway.channel_accounts WHERE state = 'retiring'"),
    ...steps,
  },
};

/** The first transaction that is sent gets this answer, whichever run sends it; all others get the network's. */
function answerFirst(name) {
  let first = true;
  const answer = async (forward, call) => {
    const mine = first;
    first = false;
    return mine ? answers[name](forward, call) : null;
  };
  proxy.onSend = answer;
  return answer;
}

async function assertNothingTwice() {
  const twice = await world.sql(`SELECT k FROM fairway.provisioning p, unnest(p.accounts) k WHERE p.state = 'succeeded'
    GROUP BY k, p.kind HAVING count(*) > 1`);
  assert.deepEqual(twice, [], 'created or merged twice');
  const lost = await world.sql(`SELECT a.public_key FROM fairway.channel_accounts a WHERE a.state IN ('active', 'retired')
    AND NOT EXISTS (SELECT FROM fairway.provisioning p WHERE a.public_key = ANY (p.accounts) AND p.kind = 'creation' AND p.state = 'succeeded')`);
  assert.deepEqual(lost, [], 'each account was created by a transaction that is known');
}

for (const [kind, all] of Object.entries(kinds))
  test(`DP1 Z2 a ${kind} killed at each step, with each answer: the next run ends at N`, { timeout: 1_200_000 }, async t => {
    const shift = kind === 'creation' ? 0 : 4;
    for (const [index, [step, kill]] of Object.entries(all).entries())
      for (const name of isLong ? names : [names[(index + shift) % names.length]])
        await t.test(`${step}; ${name}`, async () => {
          await provisioning.ensureExactly(kind === 'creation' ? 2 : 5);
          const wanted = kind === 'creation' ? 5 : 2;
          const answer = answerFirst(name);
          try {
            await kill(() => provisioning.start(['ensure-accounts', String(wanted)]), answer);
          } finally {
            proxy.onSend = answer;
          }
          await provisioning.ensureExactly(wanted);
          proxy.onSend = () => null;
          await assertNothingTwice();
        });
  });
