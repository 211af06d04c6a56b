// Decodes signed envelopes by hand, so that the oracle sees what a client was really given, whatever the other fields of the response say.
import crypto from 'node:crypto';
import { StrKey } from '@stellar/stellar-sdk';

const ENVELOPE_TX = 2, ENVELOPE_FEE_BUMP = 5, KEY_ED25519 = 0;
const SIGNATURE_BYTES = 4 + 4 + 64; // hint, length, signature
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export const sha256 = (...parts) => {
  const hash = crypto.createHash('sha256');
  for (const part of parts)
    hash.update(part);
  return hash.digest();
};

export const networkId = passphrase => sha256(passphrase);

const publicKeys = new Map();
const publicKeyOf = raw => {
  const name = raw.toString('hex');
  let key = publicKeys.get(name);
  if (!key)
    publicKeys.set(name, key = crypto.createPublicKey({ key: Buffer.concat([DER_PREFIX, raw]), format: 'der', type: 'spki' }));
  return key;
};

/** From an SDK Keypair; signs with node:crypto. */
export const privateKeyOf = keypair =>
  crypto.createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, keypair.rawSecretKey()]), format: 'der', type: 'pkcs8' });

export const verify = (hash, signature, rawPublicKey) => crypto.verify(null, hash, publicKeyOf(rawPublicKey), signature);

const word = type => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(type);
  return bytes;
};

/** The offset of the signatures in an envelope that has `count` of them at its end; throws when it has not. */
function tail(bytes, count) {
  const at = bytes.length - 4 - count * SIGNATURE_BYTES;
  if (at < 8 || bytes.readUInt32BE(at) !== count)
    throw new Error(`the envelope does not end in ${count} signatures`);
  return at;
}

const signatureAt = (bytes, at) => {
  if (bytes.readUInt32BE(at + 4) !== 64)
    throw new Error('a signature is not 64 bytes long');
  return bytes.subarray(at + 8, at + 72);
};

function preconditions(bytes, at) {
  const kind = bytes.readUInt32BE(at);
  if (kind === 1)
    return { maxTime: bytes.readBigUInt64BE(at + 12), maxLedger: 0 };
  if (kind !== 2 || bytes.readUInt32BE(at + 4) !== 1)
    throw new Error('no time bounds');
  return { maxTime: bytes.readBigUInt64BE(at + 16), maxLedger: bytes.readUInt32BE(at + 24) === 1 ? bytes.readUInt32BE(at + 32) : 0 };
}

/** Decodes a V1 envelope with one signature, that of its source: {hash, account, sequence, maxTime, maxLedger}. Throws when it is not one. */
export function readLease(base64, network) {
  const bytes = Buffer.from(base64, 'base64'), end = tail(bytes, 1);
  if (bytes.readUInt32BE(0) !== ENVELOPE_TX || bytes.readUInt32BE(4) !== KEY_ED25519)
    throw new Error('not a V1 envelope of a plain account');
  const source = bytes.subarray(8, 40), hash = sha256(network, word(ENVELOPE_TX), bytes.subarray(4, end));
  if (!verify(hash, signatureAt(bytes, end + 4), source))
    throw new Error('the signature is not the channel account\'s');
  return { hash: hash.toString('hex'), account: StrKey.encodeEd25519PublicKey(source), sequence: bytes.readBigInt64BE(44),
    ...preconditions(bytes, 52) };
}

/** Adds a signature to a lease's envelope. */
export function coSign(base64, hash, keypair, privateKey) {
  const bytes = Buffer.from(base64, 'base64'), end = tail(bytes, 1);
  const signature = crypto.sign(null, Buffer.from(hash, 'hex'), privateKey);
  return Buffer.concat([bytes.subarray(0, end), word(2), bytes.subarray(end + 4), keypair.signatureHint(), word(64), signature])
    .toString('base64');
}

/** Decodes a fee bump with one signature, that of its fee source: {hash, feeSource, inner: base64}. The inner source is a G account. */
export function readFeeBump(base64, network) {
  const bytes = Buffer.from(base64, 'base64'), end = tail(bytes, 1);
  if (bytes.readUInt32BE(0) !== ENVELOPE_FEE_BUMP || bytes.readUInt32BE(4) !== KEY_ED25519)
    throw new Error('not a fee bump of a plain account');
  const source = bytes.subarray(8, 40), hash = sha256(network, word(ENVELOPE_FEE_BUMP), bytes.subarray(4, end));
  if (!verify(hash, signatureAt(bytes, end + 4), source))
    throw new Error('the signature is not the fee source\'s');
  // the inner envelope is between the fee and the extension
  return { hash: hash.toString('hex'), feeSource: StrKey.encodeEd25519PublicKey(source),
    inner: bytes.subarray(48, end - 4).toString('base64') };
}
