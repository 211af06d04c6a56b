// The clients of a storm. Each asks for a lease, with or without an Idempotency-Key, and then does what clients do: submits it after a while,
// itself or through fairway, submits it late, never submits it, repeats the request, or asks with a key from days ago. Or it has fairway do all by
// the one call.
import crypto from 'node:crypto';
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { authorizedTransfer } from '../dev/native-contract.mjs';
import { sleep } from '../e2e/harness.mjs';
import { privateKeyOf } from '../oracle/envelope.mjs';
import { Random } from './random.mjs';

export const TIMEOUT_SECONDS = 20; // of the leases
/** The longest time for which a lease is held before it is submitted, when the pool has to be kept full. */
export const HOLD_MAX_MS = 12_000;
/** An authorization is valid for so many ledgers: longer than a key is repeated. */
const VALID_LEDGERS = 600;
const ABANDON = 0.05, LATE = 0.02, REPEAT = 0.05, REPEAT_LATER = 0.03, BAD = 0.04, OLD_KEY = 0.03;

export class Swarm {
  #loops = [];
  #later = new Set();
  /** Mean time for which a lease is held before it is submitted; the governor sets it to keep the pool full. */
  holdMs = 0;

  /** Sequence number of the network's last ledger. */
  ledger = 0;

  /**
   * keyed: the share of requests with an Idempotency-Key; relayed: of leases that fairway sends; called: of requests that are the one call.
   * thinkMs: mean pause between two requests.
   */
  constructor({ requests, users, seed, keyed, relayed, called, thinkMs }) {
    Object.assign(this, { requests, seed, keyed, relayed, called, thinkMs, passphrase: requests.passphrase });
    this.users = users.map(keypair => ({ keypair, privateKey: privateKeyOf(keypair) }));
    this.count = { withKey: 0, withoutKey: 0, abandoned: 0, late: 0, repeated: 0, oldKeys: 0, refusedBad: 0 };
    this.templates = users.map((user, i) => this.#template(user, users[(i + 1) % users.length]));
  }

  #template(from, to, source = from.publicKey()) {
    return new TransactionBuilder(new Account(from.publicKey(), '0'), { fee: '100', networkPassphrase: this.passphrase })
      .addOperation(Operation.payment({ source, destination: to.publicKey(), asset: Asset.native(), amount: '0.0000001' }))
      .setTimeout(0).build().toXDR();
  }

  body(user) {
    return { transactionXdr: this.templates[user], timeoutSeconds: TIMEOUT_SECONDS };
  }

  start(clients) {
    this.requests.running = true;
    for (let i = 0; i < clients; i++)
      this.#loops.push(this.#client(new Random(this.seed, `client ${i}`), i % this.users.length));
  }

  /** No new requests; finishes what was scheduled for later. */
  async stop() {
    this.requests.running = false;
    await Promise.all(this.#loops.splice(0));
    await Promise.all(this.#later);
  }

  async #client(random, user) {
    await sleep(random.between(0, 2 * this.thinkMs)); // clients start at different times
    while (this.requests.running) {
      try {
        if (random.chance(BAD))
          await this.#askBadly(random, user);
        if (random.chance(OLD_KEY) && this.oldKeys)
          await this.#askWithOldKey(random);
        await (random.chance(this.called) ? this.#call(random, user) : this.#once(random, user));
        await sleep(random.between(0, 2 * this.thinkMs));
      } catch (error) {
        this.requests.wrong.push(error.stack);
        await sleep(200);
      }
    }
  }

  #afterwards(work) {
    const done = work().catch(error => this.requests.wrong.push(error.stack)).finally(() => this.#later.delete(done));
    this.#later.add(done);
  }

  async #askBadly(random, user) {
    const pool = random.pick(this.pool);
    const body = random.pick([{ transactionXdr: 'AAAA' }, {}, { transactionXdr: this.templates[user], timeoutSeconds: 19 },
      { transactionXdr: this.#template(this.users[user].keypair, this.users[0].keypair, pool) }]);
    const answer = await this.requests.ask(random, '/v1/transactions', body, { tries: 1 });
    if (answer && answer.status < 500) {
      this.count.refusedBad++;
      if (answer.status !== 400 && answer.status !== 422)
        this.requests.wrong.push(`status ${answer.status} for a bad request: ${JSON.stringify(body)} ${JSON.stringify(answer.json)}`);
    }
  }

  /** Uses keys of tests/faults/history.sql: even numbers have this swarm's first body, odd ones another body. */
  async #askWithOldKey(random) {
    const number = random.between(0, this.oldKeys - 1);
    const answer = await this.requests.ask(random, '/v1/transactions', this.body(0), { key: `history-${number}`, tries: 2 });
    if (!answer || answer.status >= 500)
      return;
    this.count.oldKeys++;
    const hash = crypto.createHash('sha256').update(`history ${number}`).digest('hex');
    const asExpected = number % 2 === 0 ? answer.status === 200 && answer.json.hash === hash : answer.status === 409;
    if (!asExpected)
      this.requests.wrong.push(`status ${answer.status} for the old key history-${number}: ${JSON.stringify(answer.json)}`);
  }

  async #once(random, user) {
    const key = random.chance(this.keyed) ? `${this.seed}-${crypto.randomUUID()}` : undefined;
    const answer = await this.requests.ask(random, '/v1/transactions', this.body(user), { key });
    if (!answer || answer.status >= 500)
      return;
    if (answer.status !== 201 && answer.status !== 200) { // 200: the first answer was lost
      this.requests.wrong.push(`status ${answer.status} for a good request: ${JSON.stringify(answer.json)}`);
      return;
    }
    this.count[key ? 'withKey' : 'withoutKey']++;
    const lease = this.requests.take(random, answer.json, key);
    if (key && random.chance(REPEAT))
      await this.#repeat(random, user, key);
    if (key && random.chance(REPEAT_LATER))
      this.#afterwards(async () => {
        await sleep(random.between(3000, 15_000));
        await this.#repeat(random, user, key);
      });
    const fate = random.unit();
    if (fate < ABANDON)
      this.count.abandoned++;
    else if (fate < ABANDON + LATE)
      this.#afterwards(() => this.#submitLate(random, user, lease));
    else
      this.#afterwards(() => this.#submitAfterHold(random, user, lease));
  }

  async #call(random, user) {
    const { keypair } = this.users[user], to = this.users[(user + 1) % this.users.length].keypair;
    const body = await authorizedTransfer(null, this.passphrase, keypair, to, 1n, this.ledger + VALID_LEDGERS);
    await this.requests.call(random, { ...body, timeoutSeconds: TIMEOUT_SECONDS },
      random.chance(this.keyed) ? `${this.seed}-${crypto.randomUUID()}` : undefined, random.chance(REPEAT) ? 2 : 1);
  }

  /** Repeats a request; the oracle compares the responses. */
  async #repeat(random, user, key) {
    const again = await this.requests.ask(random, '/v1/transactions', this.body(user), { key, tries: 2 });
    if (!again || again.status >= 500)
      return;
    this.count.repeated++;
    if (again.status !== 200)
      this.requests.wrong.push(`status ${again.status} for a repeated request: ${JSON.stringify(again.json)}`);
  }

  async #submitAfterHold(random, user, lease) {
    await sleep(Math.min(HOLD_MAX_MS, random.between(0, 2 * this.holdMs)));
    await this.#submit(random, user, lease);
  }

  async #submitLate(random, user, lease) {
    this.count.late++;
    await sleep(Math.max(0, Number(lease.maxTime) * 1000 - Date.now() - random.between(2500, 5000)));
    await this.#submit(random, user, lease);
  }

  #submit(random, user, lease) {
    const how = random.chance(this.relayed) ? 'relay' : 'bumpAndSubmit';
    return this.requests[how](random, this.users[user], lease);
  }
}
