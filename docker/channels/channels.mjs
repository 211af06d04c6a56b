// The wire format of OpenZeppelin's Channels, in front of fairway: programs that use that service use fairway when their address is changed.
// One file, for Node.js 20 or newer, which needs nothing else. README.md beside it has the settings and what differs.
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';

const WAIT = 25, MAX_BODY = 256 * 1024; // seconds: Channels' clients give up after 30; bytes
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A setting, or the content of the file that NAME_FILE names. */
const setting = name => process.env[`${name}_FILE`] ? fs.readFileSync(process.env[`${name}_FILE`], 'utf8').trim() : process.env[name];
function usage(text) {
  console.error(`channels: ${text}`);
  process.exit(64);
}

// ---- fairway's side

/** The address (G...) of a raw public key: strkey, SEP-23. */
function addressOf(raw) {
  const bytes = Buffer.from([6 << 3, ...raw, 0, 0]);
  let crc = 0;
  for (const byte of bytes.subarray(0, 33))
    for (let bit = 7; bit >= 0; bit--)
      crc = crc << 1 & 0xffff ^ (((crc >> 15) ^ (byte >> bit & 1)) ? 0x1021 : 0);
  bytes.writeUInt16LE(crc, 33);
  return [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('').match(/.{5}/g).map(five => ALPHABET[parseInt(five, 2)]).join('');
}

/** A client of fairway by its secret seed (S...): {address, key}. */
function clientOf(seed) {
  const bits = [...seed].map(letter => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const raw = Buffer.from(bits.match(/.{8}/g)?.map(eight => parseInt(eight, 2)) ?? []).subarray(1, 33);
  if (!/^S[A-Z2-7]{55}$/.test(seed))
    usage('a seed of fairway\'s client is not S and 55 letters');
  const key = crypto.createPrivateKey({ format: 'der', type: 'pkcs8', key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), raw]) });
  return { key, address: addressOf(crypto.createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)) };
}

const encode = data => Buffer.from(data).toString('base64url');
function tokenOf({ key, address }, method, path, body, idempotencyKey) {
  const iat = Math.floor(Date.now() / 1000), bodyHash = crypto.createHash('sha256').update(body).digest('hex');
  const claims = { sub: address, iat, exp: iat + 15, methodAndPath: `${method} ${path}`, bodyHash, idempotencyKey };
  const signed = [{ alg: 'EdDSA', typ: 'JWT' }, claims].map(part => encode(JSON.stringify(part))).join('.');
  return `${signed}.${encode(crypto.sign(null, Buffer.from(signed), key))}`;
}

/** A request to fairway, and once more when its answer is lost or a 503, if there is time left of WAIT. Throws a problem of fairway. client:
 *  undefined with AUTH=none. waits: for a ledger. */
async function call(client, method, route, json, key, waits) {
  const body = json === undefined ? '' : JSON.stringify(json), end = Date.now() + WAIT * 1000;
  for (let again = false; ; again = true) {
    const left = Math.ceil((end - Date.now()) / 1000), path = waits ? `${route}?wait=${left}` : route;
    const headers = { ...(client && { authorization: `Bearer ${tokenOf(client, method, path, body, key)}` }),
      ...(body && { 'content-type': 'application/json', 'idempotency-key': key }) };
    let answer, result;
    try {
      answer = await fetch(FAIRWAY_URL + path, { method, headers, body: body || undefined, signal: AbortSignal.timeout((left + 2) * 1000) });
      result = await answer.json();
    } catch (error) {
      [answer, result] = [undefined, { detail: `fairway does not answer: ${error.cause?.message ?? error.message}` }];
    }
    if (answer?.ok)
      return result;
    if (again || (answer && answer.status !== 503) || end - Date.now() < 3000)
      throw Object.assign(new Error(result.detail ?? result.title), result, { retryAfter: answer?.headers.get('retry-after') });
    await new Promise(wake => setTimeout(wake, 1000));
  }
}

// ---- Channels' side

class Refusal extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

// Channels' code and status for a code, or a limit, of fairway; others keep their own.
const CODES = {
  CHANNEL_ACCOUNT_UNAVAILABLE: ['POOL_CAPACITY', 503], LIMIT_EXCEEDED: ['POOL_CAPACITY', 429], LIMIT_REACHED: ['POOL_CAPACITY', 429],
  stroopsPerDay: ['FEE_LIMIT_EXCEEDED', 429],
  INVALID_TRANSACTION_XDR: ['INVALID_XDR', 400], UNAUTHORIZED: ['RELAYER_UNAVAILABLE', 502],
  ...Object.fromEntries(['INVALID_REQUEST', 'INVALID_SOROBAN_TRANSACTION', 'INVALID_OPERATION_STRUCTURE', 'SIGNATURE_MISSING',
    'SOURCE_CREDENTIALS_NOT_ALLOWED', 'AUTHORIZATION_EXPIRES'].map(code => [code, ['INVALID_PARAMS', 400]])),
};

/** What fairway has answered, as Channels' data. Without a ledger there is no hash: readers take one as the proof that it is settled. */
function dataOf({ hash, ledgerHash, status }) {
  const words = { superseded: 'expired', consumed: 'pending' }; // consumed: look it up elsewhere
  return { transactionId: hash, hash: ['confirmed', 'failed'].includes(status) ? ledgerHash ?? hash : null, status: words[status] ?? status };
}

/** The data of a submission that has succeeded or goes on. Any other end is an error, for clients that look at nothing else. */
function outcome(end, skipWait) {
  const data = dataOf(end), { transactionId: id, hash } = data;
  if (end.first === false) // who does not know of "first" would take the success of another request as that of its own
    throw new Refusal(409, 'ALREADY_SUBMITTED', 'Another request has submitted it: ask with getTransaction.', { id, hash, status: data.status });
  if (end.rejected || ['failed', 'expired'].includes(data.status)) {
    const { resultCode = end.status, operationResults = [] } = end.rejected ?? end;
    const reason = [resultCode, ...operationResults].join(', ');
    throw new Refusal(400, 'ONCHAIN_FAILED', reason, { status: end.rejected ? 'failed' : data.status, reason, id, hash });
  }
  if (data.status === 'pending' && !skipWait)
    throw new Refusal(504, 'WAIT_TIMEOUT', 'Not yet in a ledger. It may still be included: ask with getTransaction.', { id, hash });
  return data;
}

async function submit(client, { func, auth, xdr, skipWait }) {
  if (xdr === undefined ? typeof func !== 'string' || !Array.isArray(auth) : func !== undefined || auth !== undefined)
    throw new Refusal(400, 'INVALID_PARAMS', 'Send func and auth, or xdr.');
  // A key for each request: a repeat of a call is the same request. Without it, too, one authorization is submitted once.
  const end = await call(client, 'POST', '/v1/submissions', xdr === undefined ? { func, auth } : { transactionXdr: xdr }, crypto.randomUUID(), !skipWait);
  return outcome(end, skipWait);
}

/** Who asks: the client of fairway of its key, or of keyless requests. Throws what is missing. */
function clientAsking(request) {
  const { authorization, 'x-api-key': header } = request.headers;
  const key = header ?? authorization?.replace(/^Bearer /i, '');
  if (key !== undefined && API_KEYS.has(digest(key)))
    return API_KEYS.get(digest(key));
  if (KEYLESS_PER_MINUTE === 0 || key !== undefined)
    throw new Refusal(401, 'UNAUTHORIZED', key === undefined ? 'Send an API key: the header "Authorization: Bearer KEY", or "x-api-key: KEY".'
      : 'The API key is none of this service\'s: ask its operator for one.');
  const from = TRUST_FORWARDED ? request.headers['x-forwarded-for']?.split(',').at(-1).trim() : undefined;
  spend(networkOf(from ?? request.socket.remoteAddress ?? ''));
  return DEFAULT_CLIENT;
}

/** The address, of IPv6 the first 64 bits: what one user has. */
const networkOf = address => !address.includes(':') || address.startsWith('::ffff:') ? address.replace('::ffff:', '')
  : address.replace('::', `:${'0:'.repeat(9 - address.split(':').length)}`).split(':').slice(0, 4).join(':');

let counts = new Map(), minute = 0;
function spend(network) {
  const now = Math.floor(Date.now() / 60_000);
  if (now !== minute)
    [counts, minute] = [new Map(), now];
  counts.set(network, (counts.get(network) ?? 0) + 1);
  if (counts.get(network) > KEYLESS_PER_MINUTE)
    throw Object.assign(new Refusal(429, 'RATE_LIMITED', `Without an API key, ${KEYLESS_PER_MINUTE} requests a minute are allowed.`),
      { retryAfter: 60 - Math.floor(Date.now() / 1000) % 60 });
}

async function answer(request) {
  const client = clientAsking(request);
  if (request.method !== 'POST' || !/^\/(api\/v1\/plugins\/[^/]+\/call)?$/.test(request.url))
    throw new Refusal(404, 'NOT_FOUND', 'There are POST / and POST /api/v1/plugins/NAME/call, and GET /health.');
  const parts = [];
  let length = 0;
  for await (const part of request) {
    if ((length += part.length) > MAX_BODY)
      throw new Refusal(413, 'INVALID_PARAMS', 'The body is too large.');
    parts.push(part);
  }
  let body;
  try {
    body = JSON.parse(Buffer.concat(parts).toString());
  } catch {
    throw new Refusal(400, 'INVALID_PARAMS', 'The body is not JSON.');
  }
  const params = body?.params ?? body;
  if (params === null || typeof params !== 'object')
    throw new Refusal(400, 'INVALID_PARAMS', 'params is not an object.');
  if (params.getTransaction) {
    const id = String(params.getTransaction.transactionId);
    if (!/^[0-9a-f]{64}$/.test(id))
      throw new Refusal(400, 'INVALID_PARAMS', 'transactionId is what a submission has returned.');
    return dataOf(await call(client, 'GET', `/v1/transactions/${id}`).catch(error => {
      if (![429, 503, undefined].includes(error.status))
        throw error;
      return { hash: id, status: 'pending' }; // not known now: the facilitator of x402 takes an error of one look for the payment's end
    }));
  }
  return submit(client, params);
}

/** {status, json, retryAfter} of a request. */
async function reply(request) {
  try {
    return { status: 200, json: { success: true, data: await answer(request), error: null } };
  } catch (error) {
    if (error.code === 'NOTHING_TO_SUBMIT') // a call that only reads
      return { status: 200, json: { success: true, error: null,
        data: { transactionId: null, hash: null, status: 'readonly', returnValue: error.returnValue } } };
    const { simulationError, addresses, hash, forgottenSince } = error; // members of fairway's problems
    const [code, status] = error instanceof Refusal ? [error.code, error.status]
      : CODES[error.limit] ?? CODES[error.code] ?? [error.code ?? 'RELAYER_UNAVAILABLE', error.status ?? 502];
    return { status, retryAfter: error.retryAfter, json: { success: false, error: error.detail ?? error.message,
      data: { code, details: error.details ?? { reason: error.code, simulationError, addresses, hash, forgottenSince } } } };
  }
}

/** Whether fairway can grant leases. */
const health = () => fetch(`${FAIRWAY_URL}/health`, { signal: AbortSignal.timeout(3000) }).then(({ ok }) => ok, () => false)
  .then(ok => ({ status: ok ? 200 : 503, json: { status: ok ? 'ok' : 'fairway is not ready' } }));

// ---- settings

const digest = text => crypto.createHash('sha256').update(text).digest('hex'); // so that no comparison tells how much of a key is right
const { PORT = '3000', LISTEN = '127.0.0.1', CORS_ORIGIN } = process.env;
const FAIRWAY_URL = process.env.FAIRWAY_URL?.replace(/\/$/, '') ?? usage('FAIRWAY_URL is missing');
const KEYLESS_PER_MINUTE = Number(process.env.KEYLESS_PER_MINUTE || 0), TRUST_FORWARDED = process.env.TRUST_FORWARDED === '1';
const seed = setting('FAIRWAY_SEED'), DEFAULT_CLIENT = seed && clientOf(seed);
const API_KEYS = new Map((setting('API_KEYS') ?? '').split(/[\s,]+/).filter(entry => entry !== '').map(entry => entry.match(/^(.+?)(?:=(S.*))?$/))
  .map(([, key, own]) => [digest(key), own ? clientOf(own) : DEFAULT_CLIENT]));
if (API_KEYS.size === 0 && !(KEYLESS_PER_MINUTE > 0))
  usage('nobody may ask: set API_KEYS, or KEYLESS_PER_MINUTE');

const cors = CORS_ORIGIN ? { 'access-control-allow-origin': CORS_ORIGIN, 'access-control-allow-methods': 'POST, GET',
  'access-control-allow-headers': 'authorization, content-type, x-api-key, x-client-name, x-client-version', 'access-control-max-age': '86400' } : {};
const server = http.createServer(async (request, response) => {
  if (CORS_ORIGIN && request.method === 'OPTIONS') {
    response.writeHead(204, cors).end();
    return;
  }
  const { status, json, retryAfter } = request.method === 'GET' && request.url === '/health' ? await health() : await reply(request);
  response.writeHead(status, { 'content-type': 'application/json', ...cors, ...(retryAfter && { 'retry-after': retryAfter }) }).end(JSON.stringify(json));
}).listen(Number(PORT), LISTEN, () => console.log(`listening on http://${LISTEN}:${server.address().port}`));
process.on('SIGTERM', () => server.close()); // what is asked already is answered
