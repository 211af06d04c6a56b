// Authorization: the entries that come with an operation, each used at most once, and their signatures and nonces.
// (soroban-env-host: auth.rs, account_contract.rs)

import { hex, sha256 } from '../network.mjs';
import { newAccount } from '../entries.mjs';
import { Durability } from '../entries/contract-data.mjs';
import { encode } from '../xdr.mjs';
import { LIFETIME } from './config.mjs';
import { HostError } from './host.mjs';
import { Type, VOID, accountAddress, accountIdOf, addressName, nonceKey, textOf } from './values.mjs';

/** Kinds of credentials. */
export const Credentials = Object.freeze({ SOURCE_ACCOUNT: 0, ADDRESS: 1, ADDRESS_V2: 2, WITH_DELEGATES: 3 });

const PREIMAGE = 9;
const PREIMAGE_WITH_ADDRESS = 10;
const ED25519 = 0;
const MAX_SIGNATURES = 20;
const MEDIUM = 2;

const failure = (words) => new HostError('Auth, InvalidAction', words);
const badSignature = (words) => new HostError('Contract, #5', words);

/** The fields of credentials by address, of either version. */
export const addressCredentials = (credentials) => credentials.address ?? credentials.addressV2;

/** The preimage of the hash that signs such an entry. */
export const signaturePayload = (network, { credentials, rootInvocation }) => {
  const { address, nonce, signatureExpirationLedger } = addressCredentials(credentials);
  const fields = { networkId: network.id, nonce, signatureExpirationLedger, invocation: rootInvocation };
  const preimage =
    credentials.type === Credentials.ADDRESS_V2
      ? { type: PREIMAGE_WITH_ADDRESS, sorobanAuthorizationWithAddress: { ...fields, address } }
      : { type: PREIMAGE, sorobanAuthorization: fields };
  return sha256(encode('HashIdPreimage', preimage));
};

/** An account's signature is a vector of maps of public key and signature. */
const parseSignatures = (value) => {
  const field = ({ map }, name) => map?.find(({ key }) => key.type === Type.SYMBOL && textOf(key.sym) === name)?.val.bytes;
  const signatures = value.type === Type.VEC ? value.vec : [];
  const parsed = signatures.map((each) => ({ key: field(each, 'public_key'), signature: field(each, 'signature') }));
  if (parsed.length === 0) throw badSignature('no account signatures found');
  if (parsed.length > MAX_SIGNATURES) throw badSignature('too many account signers');
  if (parsed.some(({ key, signature }) => key?.length !== 32 || signature?.length !== 64))
    throw new HostError('Value, UnexpectedType', 'a signature is not a map of public_key and signature');
  return parsed;
};

const weightOf = (account, key) => {
  if (key === account.id) return account.thresholds[0];
  const signer = account.signers.find(({ wire }) => wire.type === ED25519 && hex(wire.ed25519) === key);
  return signer ? Math.min(signer.weight, 255) : 0;
};

const checkSignatures = (host, account, payload, value) => {
  let weight = 0;
  let previous = '';
  for (const { key, signature } of parseSignatures(value)) {
    const name = hex(key);
    if (name <= previous) throw badSignature('public keys are not ordered');
    host.charge('signature');
    if (!host.verifier.verify(key, payload, signature))
      throw new HostError('Crypto, InvalidInput', 'failed ED25519 verification');
    if (weightOf(account, name) === 0) throw badSignature('signer does not belong to account');
    weight += weightOf(account, name);
    previous = name;
  }
  if (weight < account.thresholds[MEDIUM]) throw badSignature('signature weight is lower than threshold');
};

/** A nonce is used once, and stored until the signature has expired. */
const consumeNonce = (host, { address, nonce, signatureExpirationLedger }) => {
  const { sequence } = host.ledger;
  if (sequence > signatureExpirationLedger) throw new HostError('Auth, InvalidInput', 'signature has expired');
  if (signatureExpirationLedger > sequence + LIFETIME.max - 1)
    throw new HostError('Auth, InvalidInput', 'signature expiration is too late');
  const fields = { contract: address, key: nonceKey(nonce), durability: Durability.TEMPORARY };
  if (host.read(fields)) throw new HostError('Auth, ExistingValue', 'nonce already exists for address');
  host.write(fields, VOID);
  const left = signatureExpirationLedger - sequence;
  host.extend(fields, { threshold: left - 1, to: left });
};

const authorizedInvocation = ({ contract, functionName, args }) => ({
  function: { type: 0, contractFn: { contractAddress: contract, functionName, args } },
  subInvocations: [],
});

const sameFunction = (a, b) => {
  const bytes = ({ function: authorized }) =>
    encode('SorobanAuthorizedInvocation', { function: authorized, subInvocations: [] });
  return bytes(a).equals(bytes(b));
};

/** The entries of an operation, enforced. */
export class Enforced {
  #entries;

  constructor(entries) {
    this.#entries = entries.map((entry) => ({ ...entry, isUsed: false }));
  }

  /** Throws HostError unless the account behind `address` has authorized this call. */
  require(host, address, call) {
    const invocation = authorizedInvocation(call);
    const isFor = ({ credentials }) => {
      const isSource = credentials.type === Credentials.SOURCE_ACCOUNT;
      const by = isSource ? accountAddress(host.source) : addressCredentials(credentials).address;
      return addressName(by) === addressName(address);
    };
    const entry = this.#entries.find(
      (each) => !each.isUsed && isFor(each) && sameFunction(each.rootInvocation, invocation),
    );
    if (!entry) throw failure('Unauthorized function call for address');
    entry.isUsed = true;
    if (entry.credentials.type === Credentials.SOURCE_ACCOUNT) return;
    const credentials = addressCredentials(entry.credentials);
    consumeNonce(host, credentials);
    const account = host.peek(newAccount({ id: accountIdOf(address) }));
    if (!account) throw new HostError('Contract, #6', 'account entry is missing');
    checkSignatures(host, account, signaturePayload(host.network, entry), credentials.signature);
  }
}

/** During simulation: records what has to be authorized, and leaves the signatures to the client. */
export class Recorded {
  entries = [];
  #credentialsType;
  #randomNonce;

  constructor({ credentialsType, randomNonce }) {
    this.#credentialsType = credentialsType;
    this.#randomNonce = randomNonce;
  }

  require(host, address, call) {
    const rootInvocation = authorizedInvocation(call);
    if (accountIdOf(address) === host.source) {
      this.entries.push({ credentials: { type: Credentials.SOURCE_ACCOUNT }, rootInvocation });
      return;
    }
    const fields = { address, nonce: this.#randomNonce(), signatureExpirationLedger: 0, signature: VOID };
    const arm = this.#credentialsType === Credentials.ADDRESS_V2 ? 'addressV2' : 'address';
    this.entries.push({ credentials: { type: this.#credentialsType, [arm]: fields }, rootInvocation });
    host.charge('signature');
    host.peek(newAccount({ id: accountIdOf(address) }));
    consumeNonce(host, { ...fields, signatureExpirationLedger: host.ledger.sequence + LIFETIME.minTemporary });
  }
}
