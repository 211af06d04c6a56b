// Calls of fairway, to copy: each request has a token of its own, and is repeated until it is answered.
import crypto from 'node:crypto';
import fs from 'node:fs';
import { Keypair } from '@stellar/stellar-sdk';

const encode = data => Buffer.from(data).toString('base64url');

/** A JSON web token for one request: the client's key signs method, path, body and Idempotency-Key. */
function tokenOf(client, method, path, body, idempotencyKey) {
  const now = Math.floor(Date.now() / 1000), bodyHash = crypto.createHash('sha256').update(body).digest('hex');
  const claims = { sub: client.publicKey(), iat: now, exp: now + 15, methodAndPath: `${method} ${path}`, bodyHash, idempotencyKey };
  const signed = [{ alg: 'EdDSA', typ: 'JWT' }, claims].map(part => encode(JSON.stringify(part))).join('.');
  return `${signed}.${encode(client.sign(Buffer.from(signed)))}`;
}

/** A function that calls fairway. It repeats what is safe to repeat, with the same key: a 429, a lost answer, and a
    503, unless fairway has lost leases. */
export function connect({ url = process.env.FAIRWAY_URL, seedFile = process.env.FAIRWAY_SEED_FILE, tries = 10 } = {}) {
  const client = Keypair.fromSecret(fs.readFileSync(seedFile, 'utf8').trim());
  return async function call(method, path, json, key) {
    const body = json === undefined ? '' : JSON.stringify(json);
    for (let left = tries - 1; ; left--) {
      const headers = { authorization: `Bearer ${tokenOf(client, method, path, body, key)}`,
        ...(body && { 'content-type': 'application/json' }), ...(key && { 'idempotency-key': key }) };
      let answer, result;
      try {
        answer = await fetch(url + path, { method, headers, body: body || undefined });
        result = await answer.json();
      } catch (error) { // it was lost on its way
        [answer, result] = [undefined, { detail: `${error.message}: ${error.cause?.message}` }];
      }
      if (answer?.ok)
        return result;
      if (left === 0 || result.forgottenSince || (answer && answer.status !== 429 && answer.status !== 503))
        throw Object.assign(new Error(`${method} ${path}: ${result.code ?? 'no answer'}: ${result.detail ?? result.title}`), result);
      await new Promise(wake => setTimeout(wake, 1000 * (answer?.headers.get('retry-after') ?? 1)));
    }
  };
}
