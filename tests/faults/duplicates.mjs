// A storm of duplicates: few authorizations, each asked for again and again at all replicas, under one of three idempotency keys, each with
// another list of entries, while replicas are killed. However often an authorization is asked for, one transaction is included; and who took it is told so each time.
import crypto from 'node:crypto';
import { Account, Asset, Keypair, Operation, TransactionBuilder, authorizeEntry, nativeToScVal } from '@stellar/stellar-sdk';
import { createContract } from '../dev/native-contract.mjs';
import { sleep, until } from '../e2e/harness.mjs';
import { Fleet } from './fleet.mjs';
import { Random } from './random.mjs';
import { Requests } from './requests.mjs';

const KEYS = 3, CLIENTS = 24, VALID_LEDGERS = 3000, WAIT = 0.2;
/** So many authorizations are asked for at a time; the account of each is free again about two ledgers after the last one. */
const AT_A_TIME = 16;
/** A pool that is large enough for them. */
export const DUPLICATES_ACCOUNTS = 4 * AT_A_TIME;

const address = key => nativeToScVal(key.publicKey(), { type: 'address' });
const draftOf = (world, operation, source) =>
  new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: world.passphrase })
    .addOperation(operation).setTimeout(0).build();

/** A transfer that `from` has authorized, as {func, auth}. */
export async function authorize(world, from, to, stroops = 1n) {
  const operation = Operation.invokeContractFunction({ contract: Asset.native().contractId(world.passphrase), function: 'transfer',
    args: [address(from), address(to), nativeToScVal(stroops, { type: 'i128' })] });
  const draft = draftOf(world, operation, to), { latestLedger, result } = await world.network.simulateTransaction(draft);
  const entry = await authorizeEntry(result.auth[0], from, latestLedger + VALID_LEDGERS, world.passphrase);
  return { func: draft.operations[0].func.toXDR('base64'), auth: [entry.toXDR('base64')] };
}

/** Lines about what is wrong with all answers to one authorization: they have one confirmed hash, and one key is always the first. On a busy
 *  machine a lease's max time may pass before a ledger has it: it has expired, and whoever asks next takes the authorization again. */
function judge(answers, confirmed, expired) {
  const hashes = Map.groupBy(answers, ({ hash }) => hash);
  const isRight = hashes.size > 0 && [...hashes.keys()].filter(hash => confirmed.has(hash)).length <= 1 && [...hashes].every(([hash, same]) => {
    const takers = new Set(same.filter(({ first }) => first).map(({ key }) => key));
    return confirmed.has(hash) !== expired.has(hash) && same.every(({ key, first }) => first === takers.has(key))
      && (takers.size === 1 || takers.size === 0 && hashes.size > 1); // the taker of a hash that expired may have asked for it once only
  });
  return isRight ? [] : [`${hashes.size} hashes: ${JSON.stringify(answers)}`];
}

/**
 * world: with a pool of DUPLICATES_ACCOUNTS and its network in this process. Asks `requests` times for `authorizations`, and kills a replica
 * every gapMs on average. Returns {answers, inclusions, expired, kills, seconds, wrong: lines}.
 */
export async function duplicates({ world, seed, processes, authorizations, requests, gapMs }) {
  const random = new Random(seed, 'duplicates'), begun = Date.now(), history = { append() {} };
  const [from, to] = [await world.newAccount(), await world.newAccount()], included = [];
  await createContract(world.network, world.passphrase, to);
  world.localnet.chain.on('closed', ({ items }) => included.push(...items.filter(({ transaction }) => transaction.isSoroban)));
  const fleet = new Fleet({ ...world.env, LOG_LEVEL: 'warn' }, processes, history, world.client);
  const clients = new Requests({ fleet, history, rpcUrl: world.localnet.url, passphrase: world.passphrase, client: world.client });
  const [carried] = (await authorize(world, from, to, 2n)).auth; // an entry that no call uses
  await fleet.start();
  let over = false;
  const killing = (async () => {
    while (!over) {
      await sleep(random.between(gapMs / 2, gapMs * 1.5));
      if (!over)
        await fleet.kill(random);
    }
  })();
  const all = Array.from({ length: authorizations }, () => ({ keys: Array.from({ length: KEYS }, () => crypto.randomUUID()), answers: [] }));
  try {
    let next = 0;
    await Promise.all(Array.from({ length: CLIENTS }, async (_, i) => {
      const mine = new Random(seed, `duplicates ${i}`);
      for (let n; (n = next++) < requests;)
        await ask(mine, all[which(mine, n)]);
    }));
    over = true;
    await killing;
    await until(async () => (await world.sql('SELECT count(*) FROM fairway.submissions'))[0][0] === '0', 60_000, 'every submission has ended');
    const confirmed = new Set(included.map(({ transaction }) => transaction.innermost.hashHex));
    const ends = await world.sql("SELECT encode(hash, 'hex') FROM fairway.lease_history WHERE result = 'expired'"), expired = new Set(ends.flat());
    const wrong = [...clients.wrong, ...fleet.unexpectedEnds, ...all.flatMap(({ answers }) => judge(answers, confirmed, expired))];
    const settled = all.filter(({ answers }) => answers.some(({ hash }) => confirmed.has(hash))).length;
    if (included.length !== settled || settled < authorizations / 2 || included.some(({ outcome }) => !outcome.ok))
      wrong.push(`${included.length} inclusions for ${settled} authorizations, ${included.filter(({ outcome }) => !outcome.ok).length} of them failed`);
    return { answers: all.reduce((sum, { answers }) => sum + answers.length, 0), inclusions: included.length, expired: expired.size, kills: fleet.kills,
      seconds: Math.round((Date.now() - begun) / 1000), wrong };
  } finally {
    over = true;
    await fleet.stop();
  }

  /** The n-th request is for one of a few authorizations, which move on. */
  function which(mine, n) {
    const newest = Math.floor(n * (authorizations + AT_A_TIME - 1) / requests);
    return Math.min(authorizations - 1, Math.max(0, newest - mine.between(0, AT_A_TIME - 1)));
  }

  async function ask(mine, one) {
    one.body ??= authorize(world, from, to);
    const key = mine.pick(one.keys), path = mine.chance(WAIT) ? '/v1/submissions?wait=8' : '/v1/submissions';
    const { func, auth } = await one.body, lists = [auth, [carried, ...auth], [...auth, ...auth, carried]];
    const answer = await clients.ask(mine, path, { func, auth: lists[one.keys.indexOf(key)] }, { key });
    if (answer?.status === 200 || answer?.status === 202)
      one.answers.push({ key, hash: answer.json.hash, first: answer.json.first });
    else
      clients.wrong.push(`status ${answer?.status} for an authorization: ${JSON.stringify(answer?.json)}`);
  }
}
