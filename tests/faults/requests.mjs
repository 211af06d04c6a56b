// The steps of a client: it asks replicas until one decides, checks the lease, and submits it. Reports each response to the oracle. What
// must never happen becomes a line in `wrong`.
import crypto from 'node:crypto';
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { sleep, slower } from '../e2e/harness.mjs';
import { authorization, quickSigner } from '../e2e/token.mjs';
import { coSign, networkId, readFeeBump, readLease } from '../oracle/envelope.mjs';

const SDK_SAMPLE = 0.02, HANG_UP = 0.02;
const ANSWER_MS = 12_000, PATIENCE_MS = 60_000;
const INNER_FAILED = -13;
/** Of submissions: none, enough for a whole lease, the least fee, room for a few raises; and how many are submitted again with ten times that. */
const CAPS = [undefined, undefined, '150000', '150000', '150000', '20000', '20003'], RAISE = 0.1;

/** The innermost result code of a TransactionResult. */
function resultCode(base64) {
  const bytes = Buffer.from(base64, 'base64'), code = bytes.readInt32BE(8);
  return code === INNER_FAILED ? bytes.readInt32BE(52) : code;
}

/** Caps of the one call, whose resource fee alone is above those. */
const CALL_CAPS = [undefined, '1000000'];

/** Of what every answer to a key must have: what the lease is, and not how it is now. A status has the transaction while it is pending. */
const digestOf = ({ hash, transactionXdr, channelAccount, sequence, sequenceLedger, maxTime, maxTimeSetBy, networkPassphrase, reference }) =>
  crypto.createHash('sha256').update(JSON.stringify(
    [hash, networkPassphrase && transactionXdr, channelAccount, sequence, sequenceLedger, maxTime, maxTimeSetBy, networkPassphrase, reference]))
    .digest('hex');

export class Requests {
  /** False: undecided requests are given up after the response that they wait for. */
  running = true;

  constructor({ fleet, history, rpcUrl, passphrase, client }) {
    Object.assign(this, { fleet, history, rpcUrl, passphrase });
    this.client = quickSigner(client);
    this.network = networkId(passphrase);
    this.count = { leases: 0, noAnswer: 0, hungUp: 0, submitted: 0, relayed: 0, called: 0 };
    /** Number of 503 responses by code. */
    this.refusals = {};
    this.wrong = [];
  }

  /** What fairway was asked to send. */
  get submissions() {
    return this.count.relayed + this.count.called;
  }

  /** Sends a request to a replica. Returns {status, json}, or null when there is no response within ms. */
  async post(service, path, body, key, ms = ANSWER_MS) {
    const sent = JSON.stringify(body);
    try {
      const answer = await fetch(service.url + path, { method: 'POST', body: sent, signal: AbortSignal.timeout(ms),
        headers: { 'content-type': 'application/json', ...authorization(this.client, 'POST', path, sent, key) } });
      const json = await answer.json();
      if (key && answer.ok)
        this.history.append('keyed_answer', key, digestOf(json));
      return { status: answer.status, json };
    } catch {
      return null;
    }
  }

  /**
   * Asks random replicas until one decides; returns the last response if none does. A request with a key is repeated with the same key
   * after every 503 and every lost response, for a minute, or longer on a busy machine; one without a key a few times.
   */
  async ask(random, path, body, { key, tries = key ? Infinity : 6 } = {}) {
    const end = Date.now() + slower(PATIENCE_MS);
    let answer = null;
    for (let i = 0; i < tries && Date.now() < end; i++) {
      const up = this.fleet.up, hangsUp = key !== undefined && random.chance(HANG_UP);
      answer = up.length === 0 ? null
        : await this.post(random.pick(up), path, body, key, hangsUp ? random.between(1, 40) : ANSWER_MS);
      this.#note(answer, hangsUp);
      if (!this.running || (answer && answer.status < 500))
        return answer;
      await sleep(random.between(30, 150));
    }
    return answer;
  }

  #note(answer, hungUp) {
    if (answer?.status === 500)
      this.wrong.push(`500: ${JSON.stringify(answer.json)}`);
    if (answer === null && hungUp)
      this.count.hungUp++;
    else if (answer === null)
      this.count.noAnswer++;
    else if (answer.status >= 500)
      this.refusals[answer.json.code] = (this.refusals[answer.json.code] ?? 0) + 1;
  }

  /** A client has received a signed lease: reports it to the oracle and checks it. */
  take(random, json, key) {
    const read = readLease(json.transactionXdr, this.network);
    this.history.append('signature', new Date(), 'lease', read.hash, null, read.account, read.sequence, read.maxTime,
      Buffer.from(json.transactionXdr, 'base64').toString('hex'), key);
    this.count.leases++;
    if (json.hash !== read.hash || json.channelAccount !== read.account || json.sequence !== String(read.sequence)
      || json.maxTime !== String(read.maxTime))
      this.wrong.push(`the response differs from what was signed: ${JSON.stringify(json)}`);
    if (random.chance(SDK_SAMPLE)) {
      const judged = TransactionBuilder.fromXDR(json.transactionXdr, this.passphrase);
      if (Buffer.from(judged.hash()).toString('hex') !== read.hash
        || !Keypair.fromPublicKey(read.account).verify(judged.hash(), judged.signatures[0].signature))
        this.wrong.push(`the SDK does not accept ${json.transactionXdr}`);
    }
    return { ...read, envelope: json.transactionXdr, sequenceLedger: json.sequenceLedger };
  }

  /** user: {keypair, privateKey} of the payment's source. */
  async bumpAndSubmit(random, user, lease) {
    const inner = coSign(lease.envelope, lease.hash, user.keypair, user.privateKey);
    const answer = await this.ask(random, '/v1/fee-bumps', { transactionXdr: inner });
    if (!answer || answer.status >= 500)
      return;
    if (answer.status !== 200) {
      if (Date.now() / 1000 < Number(lease.maxTime) - 8) // later the lease may have expired by a close time ahead of this clock
        this.wrong.push(`status ${answer.status} for a fee bump: ${JSON.stringify(answer.json)}`);
      return;
    }
    const bump = readFeeBump(answer.json.transactionXdr, this.network);
    if (bump.inner !== inner)
      this.wrong.push(`a fee bump contains another transaction: ${answer.json.transactionXdr}`);
    this.history.append('signature', new Date(), 'fee bump', bump.hash, lease.hash, lease.account, lease.sequence, lease.maxTime, '',
      null);
    await this.#submit(random, lease, answer.json.transactionXdr);
  }

  /** fairway sends it. What was asked is reported first: an answer may be lost. */
  async relay(random, user, lease) {
    const transactionXdr = coSign(lease.envelope, lease.hash, user.keypair, user.privateKey), maxFee = random.pick(CAPS);
    const asks = [maxFee, ...(maxFee && random.chance(RAISE) ? [`${maxFee}0`] : [])];
    for (const cap of asks) {
      this.history.append('asked', lease.hash, cap);
      const answer = await this.ask(random, random.pick(['/v1/submissions', '/v1/submissions?wait=5']),
        { transactionXdr, ...(cap && { maxFee: cap }) }, { tries: 20 });
      if (!answer || answer.status >= 500)
        return;
      if (answer.status > 202 || answer.json.hash !== lease.hash || answer.json.rejected)
        this.wrong.push(`status ${answer.status} for a submission: ${JSON.stringify(answer.json)}`);
    }
    this.count.relayed++;
  }

  /** fairway does all, and is asked so many times. With a key, each answer is to the first request. */
  async call(random, body, key, times) {
    const maxFee = random.pick(CALL_CAPS);
    for (let i = 0; i < times; i++) {
      const path = random.pick(['/v1/submissions', '/v1/submissions?wait=5']);
      const answer = await this.ask(random, path, { ...body, ...(maxFee && { maxFee }) }, { key });
      if (!answer || answer.status >= 500)
        return;
      if (answer.status > 202 || answer.json.rejected || key && !answer.json.first)
        this.wrong.push(`status ${answer.status} for the one call: ${JSON.stringify(answer.json)}`);
      if (answer.status > 202)
        return;
      this.history.append('asked', answer.json.hash, maxFee);
    }
    this.count.called++;
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
        // a node that lags has an older sequence number; any other error is final
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
