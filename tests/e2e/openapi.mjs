// Compares responses with src/api/openapi.json: the harness does so with each response that it gets.
import fs from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

export const document = JSON.parse(fs.readFileSync(path.resolve(import.meta.dirname, '../../src/api/openapi.json'), 'utf8'));
const ajv = new Ajv2020({ strict: false }).addSchema(document, 'api');
const compiled = new Map();

const escape = name => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
const validator = pointer => compiled.get(pointer) ?? compiled.set(pointer, ajv.compile({ $ref: pointer })).get(pointer);
const templates = Object.keys(document.paths).map(path => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)]);

/** [response, its pointer] for a status. Of a path or method that the document does not have, 404 or 405. */
function responseOf(method, target, status) {
  const [path] = templates.find(([, pattern]) => pattern.test(target.split('?')[0])) ?? [];
  const operation = document.paths[path]?.[method.toLowerCase()];
  const found = operation ? operation.responses[status] : { $ref: `#/components/responses/${path ? 405 : 404}` };
  if (found?.$ref)
    return [document.components.responses[found.$ref.split('/').at(-1)], `api${found.$ref}`];
  return [found, `api#/paths/${escape(path)}/${method.toLowerCase()}/responses/${status}`];
}

/** Throws unless the document has this response. */
export function checkResponse(method, target, { status, headers, json }) {
  const [response, pointer] = responseOf(method, target, status);
  const type = headers.get('content-type')?.split(';')[0];
  const refuse = why => {
    throw new Error(`openapi.json does not have this response of ${method} ${target}: ${why}: ${status} ${type} ${JSON.stringify(json)}`);
  };
  if (!response?.content?.[type])
    refuse('status or content type');
  const validate = validator(`${pointer}/content/${escape(type)}/schema`);
  if (!validate(json))
    refuse(ajv.errorsText(validate.errors));
  for (const name of Object.keys(response.headers ?? {}))
    if (!/^[1-9]\d*$/.test(headers.get(name) ?? ''))
      refuse(`the header ${name}`);
}
