// Which signatures of an envelope count for which signers, and whether all of them were needed. (core: SignatureChecker.cpp)

import { newSigner } from './entries.mjs';
import { sha256 } from './network.mjs';
import { publicKey } from './xdr.mjs';

const ED25519 = 0;
const PRE_AUTH_TX = 1;
const HASH_X = 2;
const SIGNED_PAYLOAD = 3;

const MAX_WEIGHT = 255;
const HINT_LENGTH = 4;

const hintOf = (bytes) => {
  const hint = Buffer.alloc(HINT_LENGTH);
  Buffer.from(bytes.subarray(-HINT_LENGTH)).copy(hint);
  return hint;
};

const payloadHint = ({ ed25519, payload }) => hintOf(ed25519).map((byte, index) => byte ^ hintOf(payload)[index]);

const masterSigner = (id, weight) => newSigner({ type: ED25519, ed25519: publicKey(id).ed25519 }, weight);

/** The signer for a transaction hash; it is removed when the transaction is applied. */
export const oneTimeSigner = (hash) => newSigner({ type: PRE_AUTH_TX, preAuthTx: hash }, 0).key;

export class SignatureChecker {
  #hash;
  #signatures;
  #used;
  #verifier;
  #known;

  /** `envelope` remembers what was verified, so that a signature is verified once and not again when the ledger closes. */
  constructor(envelope, verifier) {
    this.#hash = envelope.hash;
    this.#signatures = envelope.signatures;
    this.#used = envelope.signatures.map(() => false);
    this.#verifier = verifier;
    this.#known = envelope.verified ??= new Map();
  }

  /** Whether the account's signers meet the threshold. A threshold of 0 still requires one signature. */
  accountMeets(account, threshold) {
    const [masterWeight] = account.thresholds;
    const signers = masterWeight > 0 ? [masterSigner(account.id, masterWeight), ...account.signers] : account.signers;
    return this.#meets(signers, threshold);
  }

  /** For an account that does not exist yet: whether its master key signed. */
  masterSigned(id) {
    return this.#meets([masterSigner(id, 1)], 0);
  }

  extraSignersMeet(keys) {
    if (keys.length === 0) return true;
    return this.#meets(keys.map((key) => newSigner(key, 1)), keys.length);
  }

  allUsed() {
    return this.#used.every(Boolean);
  }

  #meets(signers, threshold) {
    let weight = 0;
    for (const type of [PRE_AUTH_TX, HASH_X, ED25519, SIGNED_PAYLOAD]) {
      const remaining = signers.filter((signer) => signer.wire.type === type);
      for (const signer of type === PRE_AUTH_TX ? this.#preAuthorized(remaining) : this.#matching(remaining)) {
        weight += Math.min(signer.weight, MAX_WEIGHT);
        if (weight >= threshold) return true;
      }
    }
    return false;
  }

  #preAuthorized(signers) {
    return signers.filter((signer) => this.#hash.equals(signer.wire.preAuthTx));
  }

  /** Each signature counts for the first signer that it fits, each signer once. Lazy, because only counted signatures are used. */
  *#matching(signers) {
    for (let index = 0; index < this.#signatures.length; index++) {
      const position = signers.findIndex((signer) => this.#fits(index, signer));
      if (position < 0) continue;
      this.#used[index] = true;
      yield signers.splice(position, 1)[0];
    }
  }

  #fits(index, { key, wire }) {
    const { hint, signature } = this.#signatures[index];
    if (wire.type === HASH_X) return hintOf(wire.hashX).equals(hint) && sha256(signature).equals(wire.hashX);
    if (wire.type === ED25519) {
      return hintOf(wire.ed25519).equals(hint) && this.#verify(index, key, wire.ed25519, this.#hash);
    }
    const signed = wire.ed25519SignedPayload;
    return Buffer.from(payloadHint(signed)).equals(hint) && this.#verify(index, key, signed.ed25519, signed.payload);
  }

  #verify(index, key, publicKeyBytes, message) {
    const name = `${index} ${key}`;
    if (!this.#known.has(name)) {
      this.#known.set(name, this.#verifier.verify(publicKeyBytes, message, this.#signatures[index].signature));
    }
    return this.#known.get(name);
  }
}
