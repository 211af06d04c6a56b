// Converts SCVals between the wire form and JavaScript.

import { Durability } from '../entries/contract-data.mjs';
import { hex } from '../network.mjs';
import { XdrString, encode, publicKey } from '../xdr.mjs';

export const Type = Object.freeze({
  BOOL: 0,
  VOID: 1,
  ERROR: 2,
  U32: 3,
  U64: 5,
  I128: 10,
  BYTES: 13,
  STRING: 14,
  SYMBOL: 15,
  VEC: 16,
  MAP: 17,
  ADDRESS: 18,
  INSTANCE: 19,
  INSTANCE_KEY: 20,
  NONCE_KEY: 21,
});

const ERROR_TYPES = 'Contract WasmVm Context Storage Object Crypto Events Budget Value Auth'.split(' ');
const ERROR_CODES =
  'ArithDomain IndexBounds InvalidInput MissingValue ExistingValue ExceededLimit InvalidAction InternalError UnexpectedType UnexpectedSize'.split(' ');

/** Kinds of ScAddress. */
export const Address = Object.freeze({ ACCOUNT: 0, CONTRACT: 1, MUXED: 2, MUXED_CONTRACT: 5 });

const WORD = 64n;
const WORD_MASK = (1n << WORD) - 1n;

export const VOID = Object.freeze({ type: Type.VOID });
export const bool = (b) => ({ type: Type.BOOL, b });
export const u32 = (value) => ({ type: Type.U32, u32: value });
export const u64 = (value) => ({ type: Type.U64, u64: value });
export const string = (text) => ({ type: Type.STRING, str: new XdrString(text) });
export const symbol = (text) => ({ type: Type.SYMBOL, sym: new XdrString(text) });
export const bytes = (value) => ({ type: Type.BYTES, bytes: value });
export const vec = (...values) => ({ type: Type.VEC, vec: values });
export const address = (value) => ({ type: Type.ADDRESS, address: value });
export const i128 = (value) => ({ type: Type.I128, i128: { hi: value >> WORD, lo: value & WORD_MASK } });
/** The keys of a map are symbols, given in their order. */
export const map = (entries) => ({ type: Type.MAP, map: Object.entries(entries).map(([key, val]) => ({ key: symbol(key), val })) });

export const INSTANCE_KEY = Object.freeze({ type: Type.INSTANCE_KEY });
/** Where a contract's instance is: its kind and its settings. */
export const instanceOf = (contract) => ({ contract, key: INSTANCE_KEY, durability: Durability.PERSISTENT });
export const nonceKey = (nonce) => ({ type: Type.NONCE_KEY, nonceKey: { nonce } });

export const accountAddress = (id) => ({ type: Address.ACCOUNT, accountId: publicKey(id) });
export const contractAddress = (contractId) => ({ type: Address.CONTRACT, contractId });

/** The id of an account's address; null for any other. */
export const accountIdOf = (value) => (value.type === Address.ACCOUNT ? hex(value.accountId.ed25519) : null);

/** The value in a map of symbols, or undefined. */
export const fieldOf = ({ map: entries }, name) =>
  entries?.find(({ key }) => key.type === Type.SYMBOL && textOf(key.sym) === name)?.val;

/** An error value: `Contract, #10`, `Auth, InvalidAction` and so on. */
export const error = (kind) => {
  const [type, code] = kind.split(', ');
  if (type === 'Contract') return { type: Type.ERROR, error: { type: 0, contractCode: Number(code.slice(1)) } };
  return { type: Type.ERROR, error: { type: ERROR_TYPES.indexOf(type), code: ERROR_CODES.indexOf(code) } };
};

/** The same text for equal addresses. */
export const addressName = (value) => hex(encode('ScVal', address(value)));

export const i128Of = ({ i128: { hi, lo } }) => (hi << WORD) | lo;

export const textOf = (value) => Buffer.from(value.bytes).toString('latin1');
