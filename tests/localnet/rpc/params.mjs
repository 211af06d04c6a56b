// Reading parameters as a Go server does: of the declared type, or invalid parameters.

import { invalidParams } from './error.mjs';

const UINT32_MAX = 0xffffffff;

export const uint32 = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return 0;
  if (!Number.isInteger(value) || value < 0 || value > UINT32_MAX) throw invalidParams('invalid parameters');
  return value;
};

export const text = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw invalidParams('invalid parameters');
  return value;
};

export const object = (params, name) => {
  const value = params[name];
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidParams('invalid parameters');
  return value;
};

/** Only base64 is served; the JSON form of XDR is not implemented here. */
export const requireBase64 = (params) => {
  const format = text(params, 'xdrFormat');
  if (format !== '' && format !== 'base64')
    throw invalidParams(`xdrFormat ${JSON.stringify(format)} is not supported by this network`);
};

/** The bytes of strict base64, or null. */
export const base64Bytes = (value) => {
  const bytes = Buffer.from(value, 'base64');
  return value !== '' && bytes.toString('base64') === value ? bytes : null;
};
