// What HTTP and JSON-RPC themselves refuse, and with which texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from './harness.mjs';

const post = (client, body, headers = { 'Content-Type': 'application/json' }, path = '') =>
  fetch(client.net.url + path, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });

const request = (method) => ({ jsonrpc: '2.0', id: 1, method });

test('transport: any path, POST and JSON only, at most 512 KiB', async (t) => {
  const client = await Client.start(t);
  const call = request('getNetwork');
  assert.equal((await post(client, call, undefined, '/any/path')).status, 200);
  assert.equal((await post(client, call, { 'Content-Type': 'application/json; charset=utf-8' })).status, 200);
  assert.equal((await fetch(client.net.url)).status, 405);
  assert.equal((await fetch(client.net.url, { method: 'PUT', body: '' })).status, 405);
});

test('transport: other content types, bodies that are too large, and what is not JSON are refused in plain text', async (t) => {
  const client = await Client.start(t);
  const call = request('getNetwork');
  const refusal = async (answer) => {
    const { status, headers } = await answer;
    assert.match(headers.get('content-type'), /^text\/plain/);
    return [status, (await (await answer).text()).trim()];
  };
  assert.deepEqual(await refusal(post(client, call, { 'Content-Type': 'text/plain' })), [415, 'content-type must be application/json']);
  const long = JSON.stringify({ ...call, padding: 'x'.repeat(512 * 1024) });
  assert.deepEqual(await refusal(post(client, long)), [500, 'http: request body too large']);
  assert.deepEqual(await refusal(post(client, '{')), [500, '[-32700] invalid request value']);
  assert.deepEqual(await refusal(post(client, '')), [500, '[-32700] invalid request value']);
});

test('JSON-RPC: errors have HTTP status 200', async (t) => {
  const client = await Client.start(t);
  const code = async (body) => {
    const response = await post(client, body);
    assert.equal(response.status, 200);
    return (await response.json()).error.code;
  };
  assert.equal(await code('[]'), -32600);
  assert.equal(await code('1'), -32600);
  assert.equal(await code({ id: 1, method: 'getNetwork' }), -32600);
  assert.equal(await code({ jsonrpc: '2.0', id: 1 }), -32600);
});

test('JSON-RPC: -32601 and unreadable parameters name the method or parameter in data', async (t) => {
  const client = await Client.start(t);
  const error = async (method, params) => (await client.call(method, params)).error;
  const unknown = (data) => ({ code: -32601, message: 'method not found', data });
  assert.deepEqual(await error('getEvents'), { code: -32601, message: 'not implemented by this local network: getEvents' });
  assert.deepEqual(await error('rpc.discover'), unknown('rpc.discover'));
  const unreadable = (data) => ({ code: -32602, message: 'invalid parameters', data: `json: cannot unmarshal ${data}` });
  assert.deepEqual(await error('getLedgers', [2]), unreadable('array into params of type object'));
  assert.deepEqual(await error('getLedgers', { startLedger: '2' }), unreadable('string into startLedger of type uint32'));
  assert.deepEqual(await error('getLedgerEntries', { keys: 1 }), unreadable('number into keys of type array'));
  assert.deepEqual(await error('getTransaction', { hash: true }), unreadable('bool into hash of type string'));
  assert.deepEqual(await error('getTransaction', { hash: 'ab' }), { code: -32602, message: 'unexpected hash length (2)' });
});

test('xdrFormat: getLedgers has its own code for unknown formats; json is not implemented', async (t) => {
  const client = await Client.start(t);
  const error = async (method, params) => (await client.call(method, params)).error;
  const message = "got 'xml': expected base64, json for optional 'xdrFormat'";
  assert.deepEqual(await error('getLedgers', { startLedger: 2, xdrFormat: 'xml' }), { code: -32600, message });
  for (const method of ['getTransaction', 'getLedgerEntries', 'sendTransaction'])
    assert.deepEqual(await error(method, { xdrFormat: 'xml' }), { code: -32602, message }, method);
  assert.deepEqual(await error('getLedgers', { startLedger: 2, xdrFormat: 'json' }), {
    code: -32602,
    message: 'not implemented by this local network: xdrFormat "json"',
  });
});
