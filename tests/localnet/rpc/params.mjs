// Reads parameters as a Go server does: of the declared type, or invalid parameters.

import { invalidParams, unreadableParams } from './error.mjs';

const UINT32_MAX = 0xffffffff;

/** Go's name for the type of a JSON value. */
const jsonType = (value) => {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

export const wrongType = (value, name, type) =>
  unreadableParams(`json: cannot unmarshal ${jsonType(value)} into ${name} of type ${type}`);

export const uint32 = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return 0;
  if (!Number.isInteger(value) || value < 0 || value > UINT32_MAX) throw wrongType(value, name, 'uint32');
  return value;
};

export const text = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw wrongType(value, name, 'string');
  return value;
};

export const object = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, name, 'object');
  return value;
};

export const array = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(value, name, 'array');
  return value;
};

/**
 * Only base64 is implemented, not the JSON form of XDR. `invalid` makes the error for a format that no RPC has: getLedgers uses
 * another code than the other methods.
 */
export const requireBase64 = (params, invalid = invalidParams) => {
  const format = text(params, 'xdrFormat');
  if (format === 'json') throw invalidParams('not implemented by this local network: xdrFormat "json"');
  if (format !== '' && format !== 'base64')
    throw invalid(`got '${format}': expected base64, json for optional 'xdrFormat'`);
};

/** The bytes of strict base64, or null. */
export const base64Bytes = (value) => {
  const bytes = Buffer.from(value, 'base64');
  return value !== '' && bytes.toString('base64') === value ? bytes : null;
};
