// A proxy that speaks the wire format of OpenZeppelin's Channels, in front of fairway: programs that use that service use fairway when
// their address and key are changed. It holds one key of fairway, and asks its own clients for a static header.
//   FAIRWAY_URL=... FAIRWAY_SEED_FILE=... API_KEY_FILE=... PORT=3000 node channels-proxy.mjs
// POST / and POST /api/v1/plugins/NAME/call take {"params": P} or P alone. P is {func, auth}, {xdr}, or {getTransaction: {transactionId}};
// skipWait: true answers at once. API_KEY_FILE has what "Authorization: Bearer" or "x-api-key" must bring. transactionId is fairway's hash.
// Unlike Channels: xdr is an unsigned contract call or a signed lease of fairway, no signed transaction of another source; what was submitted
// before is refused with ALREADY_SUBMITTED. There is no management.
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { connect } from './javascript/fairway.mjs';

const WAIT = 25, MAX_BODY = 256 * 1024; // seconds; bytes
const apiKey = fs.readFileSync(process.env.API_KEY_FILE, 'utf8').trim();
const call = connect({ tries: 2 });
const digest = text => crypto.createHash('sha256').update(text ?? '').digest();

class Refusal extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

// Channels' code and status for a code, or a limit, of fairway; others keep their own.
const CODES = {
  CHANNEL_ACCOUNT_UNAVAILABLE: ['POOL_CAPACITY', 503], LIMIT_EXCEEDED: ['POOL_CAPACITY', 429], stroopsPerDay: ['FEE_LIMIT_EXCEEDED', 429],
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

async function submit({ func, auth, xdr, skipWait }) {
  if (xdr === undefined ? typeof func !== 'string' || !Array.isArray(auth) : func !== undefined || auth !== undefined)
    throw new Refusal(400, 'INVALID_PARAMS', 'Send func and auth, or xdr.');
  // A key for each request: a repeat after a lost answer is the same request. Without it, too, one authorization is submitted once.
  const end = await call('POST', `/v1/submissions${skipWait ? '' : `?wait=${WAIT}`}`,
    xdr === undefined ? { func, auth } : { transactionXdr: xdr }, crypto.randomUUID());
  return outcome(end, skipWait);
}

async function answer(request) {
  const { authorization = '', 'x-api-key': header = authorization.replace(/^Bearer /i, '') } = request.headers;
  if (!crypto.timingSafeEqual(digest(header), digest(apiKey)))
    throw new Refusal(401, 'UNAUTHORIZED', 'The API key is missing or wrong.');
  if (request.method !== 'POST' || !/^\/(api\/v1\/plugins\/[^/]+\/call)?$/.test(request.url))
    throw new Refusal(404, 'NOT_FOUND', 'There are POST / and POST /api/v1/plugins/NAME/call.');
  let length = 0, parts = [];
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
    return dataOf(await call('GET', `/v1/transactions/${id}`));
  }
  return submit(params);
}

/** {status, json} of a request. */
async function reply(request) {
  try {
    return { status: 200, json: { success: true, data: await answer(request), error: null } };
  } catch (error) {
    if (error.code === 'NOTHING_TO_SUBMIT') // a call that only reads
      return { status: 200, json: { success: true, error: null,
        data: { transactionId: null, hash: null, status: 'readonly', returnValue: error.returnValue } } };
    const { simulationError, addresses } = error; // members of fairway's problems
    const [code, status] = error instanceof Refusal ? [error.code, error.status]
      : CODES[error.limit] ?? CODES[error.code] ?? [error.code ?? 'RELAYER_UNAVAILABLE', error.status ?? 502];
    return { status, json: { success: false, error: error.detail ?? error.message,
      data: { code, details: error.details ?? { reason: error.code, simulationError, addresses } } } };
  }
}

const { PORT = 3000, LISTEN = '127.0.0.1' } = process.env;
const server = http.createServer(async (request, response) => {
  const { status, json } = await reply(request);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
}).listen(PORT, LISTEN, () => console.log(`listening on http://${LISTEN}:${server.address().port}`));
