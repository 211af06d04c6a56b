// Ed25519 verification by node:crypto, with the official SDK as a second opinion on a sample, so that none of our code decides
// whether a signature is valid.

import { createPublicKey, verify } from 'node:crypto';
import { Keypair, StrKey } from '@stellar/stellar-sdk';

const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');
const SIGNATURE_LENGTH = 64;
const MAX_CACHED_KEYS = 50_000;

export class Disagreement extends Error {}

const verifyBySdk = (publicKey, message, signature) =>
  Keypair.fromPublicKey(StrKey.encodeEd25519PublicKey(publicKey)).verify(message, signature);

export class Verifier {
  #keys = new Map();
  #count = 0;
  #sampleEvery;
  #secondOpinion;

  constructor({ sampleEvery = 50, secondOpinion = verifyBySdk } = {}) {
    this.#sampleEvery = sampleEvery;
    this.#secondOpinion = secondOpinion;
  }

  /** Throws Disagreement if node:crypto and the SDK disagree. */
  verify(publicKey, message, signature) {
    if (signature.length !== SIGNATURE_LENGTH) return false;
    const good = verify(null, message, this.#key(publicKey), signature);
    if (this.#count++ % this.#sampleEvery === 0 && this.#secondOpinion(publicKey, message, signature) !== good) {
      throw new Disagreement(
        `node:crypto says ${good} and the SDK ${!good} of signature ${Buffer.from(signature).toString('hex')} ` +
          `by ${Buffer.from(publicKey).toString('hex')} of ${Buffer.from(message).toString('hex')}`,
      );
    }
    return good;
  }

  #key(publicKey) {
    const id = Buffer.from(publicKey).toString('latin1');
    let key = this.#keys.get(id);
    if (!key) {
      if (this.#keys.size >= MAX_CACHED_KEYS) this.#keys.clear();
      key = createPublicKey({ key: Buffer.concat([SPKI_ED25519, publicKey]), format: 'der', type: 'spki' });
      this.#keys.set(id, key);
    }
    return key;
  }
}
