// src/api/openapi.json is a valid OpenAPI document, and has the routes, problems and limits of the sources. tests/e2e/openapi.mjs compares it with
// the responses that tests get.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { document } from '../e2e/openapi.mjs';

const read = name => fs.readFileSync(path.resolve(import.meta.dirname, '../..', name), 'utf8');

// Errors that no client gets: they end within fairway, or become INTERNAL or RPC_UNAVAILABLE.
const INTERNAL = ['RPC_REFUSED', 'LEDGER_AHEAD', 'LEDGER_GAP', 'LEDGER_MISMATCH', 'NOT_LEADER', 'XDR_TRUNCATED', 'XDR_TRAILING', 'XDR_INVALID',
  'XDR_UNKNOWN_ARM', 'XDR_TOO_DEEP', 'MALFORMED', 'SEAL_BROKEN', 'CONFIG', 'REFUSED', 'NOT_YET', 'CANCELLED'];

test('openapi.json is valid OpenAPI 3.1, and ASCII', async () => {
  const { valid, errors } = await new Validator().validate(document);
  assert.ok(valid, JSON.stringify(errors));
  assert.match(document.openapi, /^3\.1\./);
  assert.doesNotMatch(read('src/api/openapi.json'), /[^\n -~]/); // the build makes an array of char of it
});

test('openapi.json gives each operation a name of its own, of which generators make functions', () => {
  const names = Object.values(document.paths).flatMap(item => Object.values(item)).map(({ operationId }) => operationId);
  assert.deepEqual(names.filter((name, i) => !name || names.indexOf(name) !== i), []);
});

test('openapi.json has the routes of src/api/api.c', () => {
  const routes = [...read('src/api/api.c').matchAll(/"(GET|POST)", "([^"]+)"/g)].map(([, method, path]) => `${method} ${path}`);
  const described = Object.entries(document.paths).flatMap(([path, item]) => Object.keys(item).map(method => `${method.toUpperCase()} ${path}`));
  assert.ok(routes.length > 5);
  assert.deepEqual(described.sort(), routes.sort());
});

test('openapi.json needs a token exactly for the routes that a client must be allowed', () => {
  const guarded = [...read('src/api/api.c').matchAll(/add_guarded\(api, \w+, "(\w+)", "([^"]+)"/g)].map(([, method, path]) => `${method} ${path}`);
  const described = Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item)
    .filter(([, operation]) => (operation.security ?? document.security).length > 0).map(([method]) => `${method.toUpperCase()} ${path}`));
  assert.deepEqual(described.sort(), guarded.sort());
});

test('openapi.json has each error that clients get, with its status', () => {
  const registry = [...read('include/base/err.h').matchAll(/X\(\w+, "(\w+)", (\d+),/g)].map(([, code, status]) => `${status} ${code}`)
    .filter(line => line !== '200 OK' && !INTERNAL.includes(line.split(' ')[1]));
  const described = Object.entries(document.components.responses).filter(([name]) => /^\d/.test(name)).flatMap(([status, { content }]) => {
    const { code } = content['application/problem+json'].schema.properties;
    return (code.enum ?? [code.const]).map(name => `${status} ${name}`);
  });
  assert.ok(registry.length > 30);
  assert.deepEqual(described.sort(), registry.sort());
});

test('openapi.json and the pages have the limits of src/limits/limits.c', () => {
  const limits = [...read('src/limits/limits.c').matchAll(/\[LIMIT_\w+\] = \{"(\w+)", (\w+),/g)].map(([, name, maximum]) => ({ name, ofFile: maximum !== '0' }));
  assert.ok(limits.length > 5);
  assert.deepEqual(document.components.schemas.Problem.properties.limit.enum.toSorted(), limits.map(({ name }) => name).sort());
  const missingIn = (page, names) => names.filter(({ name }) => !read(page).includes(`\`${name}\``)).map(({ name }) => `${page}: ${name}`);
  assert.deepEqual([...missingIn('src/api/README.md', limits), ...missingIn('docker/operate.md', limits.filter(({ ofFile }) => ofFile))], []);
});
