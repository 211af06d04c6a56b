// The HTTP server: JSON-RPC 2.0 by POST to any path, and friendbot.

import { createServer } from 'node:http';
import { FriendbotRefusal } from '../friendbot.mjs';
import { RpcError, codes } from './error.mjs';
import { wrongType } from './params.mjs';

const MAX_BODY = 512 * 1024;

class BodyTooLarge extends Error {}

const readBody = async (request) => {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MAX_BODY) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Methods of Stellar RPC that this network does not have. */
const NOT_IMPLEMENTED = ['getEvents', 'getFeeStats', 'getTransactions'];

/** Methods that control the network. */
const CONTROL = 'localnet_';

/** Returns undefined if the text is not JSON. */
const parse = (body) => {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
};

/** An error of HTTP itself, before JSON-RPC: plain text, as Go's http.Error writes it. */
const sendText = (response, status, text, headers = {}) => {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': Buffer.byteLength(text) + 1, ...headers });
  response.end(`${text}\n`);
};

const methodNotFound = (method) =>
  NOT_IMPLEMENTED.includes(method)
    ? new RpcError(codes.METHOD_NOT_FOUND, `not implemented by this local network: ${method}`)
    : new RpcError(codes.METHOD_NOT_FOUND, 'method not found', method);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const send = (response, status, body, headers = {}) => {
  const text = body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, {
    ...(text && { 'Content-Type': 'application/json' }),
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
};

export class RpcServer {
  #http;
  #friendbot;
  #faults;
  #log;
  #onFatal;

  constructor({ friendbot, faults, log, onFatal }) {
    this.#friendbot = friendbot;
    this.#faults = faults;
    this.#log = log;
    this.#onFatal = onFatal;
    /** The methods of a node that lags by this many ledgers. */
    this.methodsOfNode = () => new Map();
    this.#http = createServer((request, response) => {
      this.#serve(request, response).catch((error) => {
        response.destroy();
        if (error.code !== 'ECONNRESET' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#onFatal(error);
      });
    });
    this.#http.keepAliveTimeout = 60_000;
  }

  async listen(address, port) {
    await new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, address, resolve);
    });
    this.url = `http://${address}:${this.#http.address().port}`;
  }

  async close() {
    await new Promise((resolve) => {
      this.#http.close(resolve);
      this.#http.closeAllConnections();
    });
  }

  async #serve(request, response) {
    const url = new URL(request.url, this.url);
    if (url.pathname === '/friendbot') return this.#serveFriendbot(request, response, url);
    if (request.method !== 'POST') return send(response, 405, undefined, { Allow: 'POST' });
    if (!/^application\/json(;\s*charset=utf-8)?$/i.test(request.headers['content-type'] ?? ''))
      return sendText(response, 415, 'content-type must be application/json');
    let body;
    try {
      body = await readBody(request);
    } catch (error) {
      if (error instanceof BodyTooLarge)
        return sendText(response, 500, 'http: request body too large', { Connection: 'close' });
      throw error;
    }
    return this.#faultily(body, request, response);
  }

  /** Executes a request unless a fault prevents it. Control methods have no faults. */
  async #faultily(body, request, response) {
    const parsed = parse(body);
    if (parsed === undefined) return sendText(response, 500, `[${codes.PARSE}] invalid request value`);
    const answer = async (methods) => send(response, 200, await this.#call(parsed, methods));
    if (String(parsed?.method).startsWith(CONTROL)) return answer(this.methodsOfNode(0));
    if (this.#faults.happens('loseRequest')) return request.socket.destroy();
    if (this.#faults.happens('tooManyRequests')) return send(response, 429);
    if (this.#faults.happens('unavailable')) return send(response, 503);
    const delayMs = this.#faults.upTo('delayMs');
    const methods = this.methodsOfNode(this.#faults.lag());
    if (delayMs > 0) await new Promise((wake) => setTimeout(wake, delayMs));
    if (!this.#faults.happens('loseAnswer')) return answer(methods);
    await this.#call(parsed, methods);
    return request.socket.destroy();
  }

  async #call(call, methods) {
    const id = isObject(call) ? call.id : undefined;
    try {
      if (!isObject(call) || call.jsonrpc !== '2.0' || typeof call.method !== 'string') {
        throw new RpcError(codes.INVALID_REQUEST, 'invalid request');
      }
      const method = methods.get(call.method);
      if (!method) throw methodNotFound(call.method);
      if (call.params !== undefined && call.params !== null && !isObject(call.params)) {
        throw wrongType(call.params, 'params', 'object');
      }
      if (!call.method.startsWith(CONTROL) && this.#faults.happens('internalError'))
        throw new RpcError(codes.INTERNAL, 'internal error');
      const result = await method(call.params ?? {});
      return { jsonrpc: '2.0', id, result };
    } catch (error) {
      if (!(error instanceof RpcError)) {
        this.#log(`${call?.method}: ${error.stack}`);
        this.#onFatal(error);
        return new RpcError(codes.PANIC, 'internal error').toResponse(id ?? null);
      }
      return error.toResponse(id ?? null);
    }
  }

  async #serveFriendbot(request, response, url) {
    if (request.method !== 'GET' && request.method !== 'POST')
      return send(response, 405, undefined, { Allow: 'GET, POST' });
    const body = request.method === 'POST' ? (await readBody(request)).toString('utf8') : '';
    const address = url.searchParams.get('addr') ?? new URLSearchParams(body).get('addr');
    try {
      const hash = await this.#friendbot.fund(address);
      return send(response, 200, { hash, successful: true });
    } catch (error) {
      if (!(error instanceof FriendbotRefusal)) throw error;
      return send(response, 400, { type: 'bad_request', title: 'Bad Request', status: 400, detail: error.message });
    }
  }
}
