// Which signatures of an envelope count for which signers, and whether all of them were needed. (core: SignatureChecker.cpp)

import { newSigner } from './entries.mjs';
import { publicKey } from './xdr.mjs';

/** The only kind of signer here. */
export const ED25519 = 0;

const MAX_WEIGHT = 255;
const HINT_LENGTH = 4;

const hintOf = (key) => Buffer.from(key.subarray(-HINT_LENGTH));

const masterSigner = (id, weight) => newSigner({ type: ED25519, ed25519: publicKey(id).ed25519 }, weight);

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
    for (const signer of this.#matching([...signers])) {
      weight += Math.min(signer.weight, MAX_WEIGHT);
      if (weight >= threshold) return true;
    }
    return false;
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
    if (!hintOf(wire.ed25519).equals(hint)) return false;
    const name = `${index} ${key}`;
    if (!this.#known.has(name)) {
      this.#known.set(name, this.#verifier.verify(wire.ed25519, this.#hash, signature));
    }
    return this.#known.get(name);
  }
}
