// Tokens as wallet-backend's clients sign them: a JSON web token with EdDSA by a keypair of the official SDK.
import crypto from 'node:crypto';
import { privateKeyOf } from '../oracle/envelope.mjs';

const encode = data => Buffer.from(data).toString('base64url');
const header = encode(JSON.stringify({ alg: 'EdDSA', typ: 'JWT' }));

/** claims: further claims, or others in place of the usual ones; seconds: how long it is valid; now: Unix time. */
export function signToken(keypair, method, target, body = '', { claims = {}, seconds = 15, now = Math.floor(Date.now() / 1000) } = {}) {
  const signed = `${header}.${encode(JSON.stringify({
    sub: keypair.publicKey(), iat: now, exp: now + seconds, methodAndPath: `${method} ${target}`,
    bodyHash: crypto.createHash('sha256').update(body).digest('hex'), ...claims,
  }))}`;
  return `${signed}.${encode(keypair.sign(Buffer.from(signed)))}`;
}

/** The Authorization header of one request, and its Idempotency-Key when it has a key. Its token is unlike all others: requests that are
 * equal get leases of their own. */
export function authorization(keypair, method, target, body = '', key) {
  const claims = { jti: crypto.randomUUID(), ...(key !== undefined && { idempotencyKey: key }) };
  return { authorization: `Bearer ${signToken(keypair, method, target, body, { claims })}`, ...(key !== undefined && { 'idempotency-key': key }) };
}

/** The same keypair, with a sign() that takes microseconds where the SDK's takes milliseconds. */
export function quickSigner(keypair) {
  const key = privateKeyOf(keypair);
  return { publicKey: () => keypair.publicKey(), sign: data => crypto.sign(null, data, key) };
}
