// Clients of a storm: each asks, checks what it gets, and goes on as clients do: submits, submits late, never does, asks again.
import crypto from 'node:crypto';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep } from '../e2e/harness.mjs';
import { coSign, networkId, privateKeyOf, readFeeBump, readLease } from '../oracle/envelope.mjs';
import { Random } from './random.mjs';

const TIMEOUT_SECONDS = 20;
const ABANDON = 0.05, LATE = 0.02, REPEAT = 0.05, BAD = 0.04, SDK_SAMPLE = 0.02;
const INNER_FAILED = -13;

/** The innermost result code of a TransactionResult. */
function resultCode(base64) {
  const bytes = Buffer.from(base64, 'base64'), code = bytes.readInt32BE(8);
  return code === INNER_FAILED ? bytes.readInt32BE(52) : code;
}

export class Swarm {
  #running = true;
  #loops = [];
  #later = [];

  constructor({ fleet, history, rpcUrl, passphrase, users, seed }) {
    Object.assign(this, { fleet, history, rpcUrl, passphrase, users, seed });
    this.network = networkId(passphrase);
    this.count = { leases: 0, fullPool: 0, away: 0, submitted: 0, abandoned: 0, late: 0, repeated: 0, refusedBad: 0 };
    /** What must never happen, as lines. */
    this.wrong = [];
    this.templates = users.map((user, i) => this.#template(user, users[(i + 1) % users.length]));
    this.privateKeys = users.map(privateKeyOf);
  }

  #template(from, to, source = from.publicKey()) {
    return new TransactionBuilder(new Account(from.publicKey(), '0'), { fee: '100', networkPassphrase: this.passphrase })
      .addOperation(Operation.payment({ source, destination: to.publicKey(), asset: Asset.native(), amount: '0.0000001' }))
      .setTimeout(0).build().toXDR();
  }

  start(clients) {
    for (let i = 0; i < clients; i++)
      this.#loops.push(this.#client(new Random(this.seed, `client ${i}`), i % this.users.length));
  }

  /** No new requests; what was promised for later is still done. */
  async stop() {
    this.#running = false;
    await Promise.all(this.#loops);
    await Promise.all(this.#later);
  }

  async #client(random, user) {
    while (this.#running) {
      try {
        if (random.chance(BAD))
          await this.#askBadly(random, user);
        await this.#once(random, user);
      } catch (error) {
        this.wrong.push(error.stack);
        await sleep(200);
      }
    }
  }

  /** The answer of some replica, or null when it is away. */
  async #post(service, path, body, headers = {}) {
    try {
      const answer = await fetch(service.url + path, { method: 'POST', body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers }, signal: AbortSignal.timeout(12_000) });
      return { status: answer.status, json: await answer.json() };
    } catch {
      return null;
    }
  }

  /** Asks replicas until one decides; null when none does. 503 is a decision only of the last one. */
  async #ask(random, path, body, headers, tries = 6) {
    let answer = null;
    for (let i = 0; i < tries; i++) {
      const up = this.fleet.up;
      answer = up.length > 0 ? await this.#post(random.pick(up), path, body, headers) : null;
      if (answer?.status === 500)
        this.wrong.push(`500: ${JSON.stringify(answer.json)}`);
      if (answer && answer.status < 500)
        return answer;
      if (answer?.json.code === 'CHANNEL_ACCOUNT_UNAVAILABLE')
        this.count.fullPool++;
      else
        this.count.away++;
      if (!this.#running)
        return answer;
      await sleep(random.between(30, 150));
    }
    return answer;
  }

  async #askBadly(random, user) {
    const pool = random.pick(this.pool);
    const body = random.pick([{ transactionXdr: 'AAAA' }, {}, { transactionXdr: this.templates[user], timeoutSeconds: 301 },
      { transactionXdr: this.#template(this.users[user], this.users[0], pool) }]);
    const answer = await this.#ask(random, '/v1/transactions', body, {}, 1);
    if (answer && answer.status < 500) {
      this.count.refusedBad++;
      if (answer.status !== 400 && answer.status !== 422)
        this.wrong.push(`a bad request was answered ${answer.status}: ${JSON.stringify(body)} ${JSON.stringify(answer.json)}`);
    }
  }

  async #once(random, user) {
    const key = `${this.seed}-${crypto.randomUUID()}`;
    const body = { transactionXdr: this.templates[user], timeoutSeconds: TIMEOUT_SECONDS };
    const answer = await this.#ask(random, '/v1/transactions', body, { 'idempotency-key': key });
    if (!answer || answer.status >= 500)
      return;
    if (answer.status !== 201) {
      this.wrong.push(`a good request was answered ${answer.status}: ${JSON.stringify(answer.json)}`);
      return;
    }
    const lease = this.#take(random, answer.json);
    if (random.chance(REPEAT))
      await this.#repeat(random, body, key, answer.json);
    const fate = random.unit();
    if (fate < ABANDON)
      this.count.abandoned++;
    else if (fate < ABANDON + LATE)
      this.#later.push(this.#submitLate(random, user, lease));
    else
      await this.#bumpAndSubmit(random, user, lease);
  }

  /** A signed lease has reached a client: that is what the oracle hears. */
  #take(random, json) {
    const read = readLease(json.transactionXdr, this.network);
    this.history.append('signature', new Date(), 'lease', read.hash, null, read.account, read.sequence, read.maxTime,
      Buffer.from(json.transactionXdr, 'base64').toString('hex'));
    this.count.leases++;
    if (json.hash !== read.hash || json.channelAccount !== read.account || json.sequence !== String(read.sequence)
      || json.maxTime !== String(read.maxTime))
      this.wrong.push(`the answer does not say what was signed: ${JSON.stringify(json)}`);
    if (random.chance(SDK_SAMPLE)) {
      const judged = TransactionBuilder.fromXDR(json.transactionXdr, this.passphrase);
      if (Buffer.from(judged.hash()).toString('hex') !== read.hash
        || !Keypair.fromPublicKey(read.account).verify(judged.hash(), judged.signatures[0].signature))
        this.wrong.push(`the SDK does not accept ${json.transactionXdr}`);
    }
    return { ...read, envelope: json.transactionXdr, sequenceLedger: json.sequenceLedger };
  }

  async #repeat(random, body, key, first) {
    const again = await this.#ask(random, '/v1/transactions', body, { 'idempotency-key': key }, 2);
    if (!again || again.status >= 500)
      return;
    this.count.repeated++;
    if (JSON.stringify(again.json) !== JSON.stringify(first))
      this.wrong.push(`one key, two answers: ${JSON.stringify(first)} ${JSON.stringify(again.json)}`);
  }

  async #submitLate(random, user, lease) {
    this.count.late++;
    await sleep(Math.max(0, Number(lease.maxTime) * 1000 - Date.now() - random.between(2500, 5000)));
    await this.#bumpAndSubmit(random, user, lease);
  }

  async #bumpAndSubmit(random, user, lease) {
    const inner = coSign(lease.envelope, lease.hash, this.users[user], this.privateKeys[user]);
    const answer = await this.#ask(random, '/v1/fee-bumps', { transactionXdr: inner }, {});
    if (!answer || answer.status >= 500)
      return;
    if (answer.status !== 200) {
      if (Date.now() / 1000 < Number(lease.maxTime) - 8) // later it may have expired by a close time ahead of this clock
        this.wrong.push(`a fee bump was answered ${answer.status}: ${JSON.stringify(answer.json)}`);
      return;
    }
    const bump = readFeeBump(answer.json.transactionXdr, this.network);
    if (bump.inner !== inner)
      this.wrong.push(`a fee bump has another transaction inside: ${answer.json.transactionXdr}`);
    this.history.append('signature', new Date(), 'fee bump', bump.hash, lease.hash, lease.account, lease.sequence, lease.maxTime, '');
    await this.#submit(random, lease, answer.json.transactionXdr);
  }

  async #submit(random, lease, transaction) {
    while (Date.now() / 1000 < Number(lease.maxTime) + 2) {
      const sent = await this.#send(transaction);
      if (sent?.status === 'PENDING' || sent?.status === 'DUPLICATE') {
        this.count.submitted++;
        this.history.append('submission', lease.hash, sent.status, null, sent.latestLedger, lease.sequenceLedger);
        return;
      }
      if (sent?.status === 'ERROR') {
        const code = resultCode(sent.errorResultXdr);
        this.history.append('submission', lease.hash, 'ERROR', code, sent.latestLedger, lease.sequenceLedger);
        // a node that is behind knows an older sequence number; anything else is final
        if (code !== -5 || sent.latestLedger >= lease.sequenceLedger)
          return;
      }
      await sleep(random.between(100, 400));
    }
  }

  async #send(transaction) {
    try {
      const answer = await fetch(this.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendTransaction', params: { transaction } }),
        signal: AbortSignal.timeout(5000) });
      return (await answer.json()).result;
    } catch {
      return null;
    }
  }
}
