// The built-in contract account, without code: a wallet whose signers are ed25519 and secp256r1 keys, and addresses that it lets
// authenticate in its place (CAP-71). It is created like a contract with code, by the hash that stands for it.

import { createPublicKey, verify } from 'node:crypto';
import { sha256 } from '../network.mjs';
import { encode } from '../xdr.mjs';
import { HostError } from './host.mjs';
import * as values from './values.mjs';
import { Type } from './values.mjs';

export const ACCOUNT_CODE = sha256('built-in contract account');

const UNKNOWN_SIGNER = 'Contract, #1';
const ED25519_LENGTH = 32;
const P256_LENGTH = 65;
const HALF_P256_ORDER = 0x7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8n;

// The kits of tests/clients describe signers by vectors and maps: such a wallet is created and authorizes nothing.
const isSigner = ({ type, bytes }) => [Type.ADDRESS, Type.VEC, Type.MAP].includes(type) || [ED25519_LENGTH, P256_LENGTH].includes(bytes?.length);

/** The storage of a new one; its constructor takes the signers. */
export const storageOf = (args) => {
  if (args.length === 0 || !args.every(isSigner)) throw new HostError('Value, UnexpectedType', 'the constructor takes keys and addresses');
  return [{ key: values.symbol('Signers'), val: values.vec(...args) }];
};

/** ECDSA over the payload's SHA-256. The host accepts low S only. */
const verifyP256 = (key, payload, signature) => {
  const [x, y] = [key.subarray(1, 33), key.subarray(33)].map((part) => Buffer.from(part).toString('base64url'));
  if (signature.length !== 64 || BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`) > HALF_P256_ORDER) return false;
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  return verify('sha256', payload, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
};

/**
 * `__check_auth`: the signature is a map of public_key and signature, or void if there are delegates. Each of these must be a signer, and
 * authenticates by `authenticate`.
 */
export const checkAuth = (host, { instance }, { payload, signature, delegates }, authenticate) => {
  const requireSigner = (signer) => {
    const isKnown = instance.storage[0].val.vec.some((each) => encode('ScVal', each).equals(encode('ScVal', signer)));
    if (!isKnown) throw new HostError(UNKNOWN_SIGNER, 'escalating Ok(ScErrorType::Contract) frame-exit to Err');
  };
  for (const delegate of delegates) {
    requireSigner(values.address(delegate.address));
    authenticate(delegate);
  }
  if (delegates.length > 0 && signature.type === Type.VOID) return;
  const [key, signed] = ['public_key', 'signature'].map((name) => values.fieldOf(signature, name)?.bytes);
  requireSigner(key ? values.bytes(key) : values.VOID);
  host.charge('signature');
  const isP256 = key.length === P256_LENGTH;
  if (!(isP256 ? verifyP256 : (...args) => host.verifier.verify(...args))(key, payload, signed ?? Buffer.alloc(0)))
    throw new HostError('Crypto, InvalidInput', `failed ${isP256 ? 'secp256r1' : 'ED25519'} verification`);
};

const address = (value) => (value.type === Type.ADDRESS ? value.address : null);

/** Its one function moves an asset for somebody else, by a nested call that the same entry authorizes. */
export const accountContract = (call) =>
  new Map([
    [
      'forward',
      {
        takes: [address, address, address, (value) => (value.type === Type.I128 ? value : null)],
        run(host, _, [from, contract, to, amount]) {
          host.requireAuth(from);
          const args = [values.address(from), values.address(to), amount];
          return call(host, { contract, functionName: values.symbol('transfer').sym, args });
        },
      },
    ],
  ]);
