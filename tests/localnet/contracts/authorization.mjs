// Authorization: the entries that come with an operation, each used at most once, and their signatures and nonces.
// (soroban-env-host: auth.rs, account_contract.rs)

import { hex, sha256 } from '../network.mjs';
import { newAccount } from '../entries.mjs';
import { Durability } from '../entries/contract-data.mjs';
import { encode } from '../xdr.mjs';
import { LIFETIME } from './config.mjs';
import { HostError } from './host.mjs';
import { checkAuth } from './account.mjs';
import { Type, VOID, accountAddress, accountIdOf, addressName, fieldOf, instanceOf, nonceKey, string, vec } from './values.mjs';
import { address as addressValue, error as errorValue } from './values.mjs';

/** Kinds of credentials. */
export const Credentials = Object.freeze({ SOURCE_ACCOUNT: 0, ADDRESS: 1, ADDRESS_V2: 2, WITH_DELEGATES: 3 });

const PREIMAGE = 9;
const PREIMAGE_WITH_ADDRESS = 10;
const ED25519 = 0;
const MAX_SIGNATURES = 20;
const MEDIUM = 2;

const failure = (words) => new HostError('Auth, InvalidAction', words);
const badSignature = (words) => new HostError('Contract, #5', words);

/** The fields of credentials by address, of each kind. */
export const addressCredentials = ({ address, addressV2, addressWithDelegates }) =>
  address ?? addressV2 ?? addressWithDelegates.addressCredentials;

/** The preimage of the hash that signs such an entry. */
export const signaturePayload = (network, { credentials, rootInvocation }) => {
  const { address, nonce, signatureExpirationLedger } = addressCredentials(credentials);
  const fields = { networkId: network.id, nonce, signatureExpirationLedger, invocation: rootInvocation };
  const preimage =
    credentials.type === Credentials.ADDRESS
      ? { type: PREIMAGE, sorobanAuthorization: fields }
      : { type: PREIMAGE_WITH_ADDRESS, sorobanAuthorizationWithAddress: { ...fields, address } };
  return sha256(encode('HashIdPreimage', preimage));
};

/** An account's signature is a vector of maps of public key and signature. */
const parseSignatures = (value) => {
  const signatures = value.type === Type.VEC ? value.vec : [];
  const parsed = signatures.map((each) => ({ key: fieldOf(each, 'public_key')?.bytes, signature: fieldOf(each, 'signature')?.bytes }));
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

const checkSignatures = (host, id, payload, value) => {
  const account = host.peek(newAccount({ id }));
  if (!account) throw new HostError('Contract, #6', 'account entry is missing');
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

/** Throws HostError unless the signature, or those of delegates, are what the address accepts for the payload. */
const authenticate = (host, payload, { address, signature, nestedDelegates: delegates }) => {
  const id = accountIdOf(address);
  const names = delegates.map((delegate) => addressName(delegate.address));
  if (names.some((name, index) => index > 0 && name <= names[index - 1])) throw failure('delegates are not in the order of their addresses');
  try {
    if (id !== null) return checkSignatures(host, id, payload, signature);
    return host.within({ contract: address }, () => {
      const wallet = host.read(instanceOf(address));
      if (wallet?.instance.executable.type !== 0) throw new HostError('WasmVm, MissingValue', 'the contract has no __check_auth');
      checkAuth(host, wallet, { payload, signature, delegates }, (delegate) => authenticate(host, payload, delegate));
    });
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    const words = 'failed account authentication with error';
    const data = vec(string(words), addressValue(address), errorValue(error.kind));
    throw new HostError('Auth, InvalidAction', words, { data, cause: error });
  }
};

const sameFunction = (a, b) => {
  const bytes = (fn) => encode('SorobanAuthorizedInvocation', { function: fn, subInvocations: [] });
  return bytes(a).equals(bytes(b));
};

/** The invocation of an entry in which the call now is: the innermost one whose frame has not ended, or undefined. */
const current = (tracked, host) => {
  tracked.open = tracked.open.filter(({ frame }) => host.frames.includes(frame));
  return tracked.open.at(-1)?.invocation;
};

/** The entries of an operation, enforced. */
export class Enforced {
  #tracked;

  constructor(entries) {
    this.#tracked = entries.map((entry) => ({ entry, open: [], used: new Set() }));
  }

  /** Throws HostError unless `address` has authorized the current call: by an entry, or by an invocation within one that has begun. */
  require(host, address) {
    const frame = host.frames.at(-1);
    const isFor = ({ entry: { credentials } }) => {
      const isSource = credentials.type === Credentials.SOURCE_ACCOUNT;
      const by = isSource ? accountAddress(host.source) : addressCredentials(credentials).address;
      return addressName(by) === addressName(address);
    };
    for (const tracked of this.#tracked.filter(isFor)) {
      const { entry, used } = tracked;
      const candidates = current(tracked, host)?.subInvocations ?? [entry.rootInvocation];
      const invocation = candidates.find((each) => !used.has(each) && sameFunction(each.function, frame.fn));
      if (!invocation) continue;
      used.add(invocation);
      tracked.open.push({ frame, invocation });
      if (invocation === entry.rootInvocation && entry.credentials.type !== Credentials.SOURCE_ACCOUNT) {
        const { delegates = [] } = entry.credentials.addressWithDelegates ?? {};
        const credentials = addressCredentials(entry.credentials);
        consumeNonce(host, credentials);
        authenticate(host, signaturePayload(host.network, entry), { ...credentials, nestedDelegates: delegates });
      }
      return;
    }
    throw failure('Unauthorized function call for address');
  }
}

/** During simulation: records what has to be authorized, and leaves the signatures to the client. */
export class Recorded {
  #tracked = [];
  #credentialsType;
  #randomNonce;

  constructor({ credentialsType, randomNonce }) {
    this.#credentialsType = credentialsType;
    this.#randomNonce = randomNonce;
  }

  get entries() {
    return this.#tracked.map(({ entry }) => entry);
  }

  require(host, address) {
    const frame = host.frames.at(-1);
    const invocation = { function: frame.fn, subInvocations: [] };
    const name = addressName(address);
    const outer = this.#tracked.find((tracked) => tracked.name === name && current(tracked, host));
    if (outer) {
      current(outer, host).subInvocations.push(invocation);
      outer.open.push({ frame, invocation });
      return;
    }
    const track = (credentials) =>
      this.#tracked.push({ name, open: [{ frame, invocation }], entry: { credentials, rootInvocation: invocation } });
    const id = accountIdOf(address);
    if (id === host.source) {
      track({ type: Credentials.SOURCE_ACCOUNT });
      return;
    }
    const fields = { address, nonce: this.#randomNonce(), signatureExpirationLedger: 0, signature: VOID };
    const arm = this.#credentialsType === Credentials.ADDRESS_V2 ? 'addressV2' : 'address';
    track({ type: this.#credentialsType, [arm]: fields });
    host.charge('signature');
    if (id === null) host.read(instanceOf(address));
    else host.peek(newAccount({ id }));
    consumeNonce(host, { ...fields, signatureExpirationLedger: host.ledger.sequence + LIFETIME.minTemporary });
  }
}
