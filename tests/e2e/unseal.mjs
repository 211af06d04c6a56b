// Opens a sealed seed with the master key, without fairway's code, for tests in which somebody else uses a channel account's key.
// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): HChaCha20 derives a key for node's ChaCha20-Poly1305.
import crypto from 'node:crypto';
import { Keypair, StrKey } from '@stellar/stellar-sdk';

function hchacha20(key, nonce) {
  const words = bytes => Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i));
  const x = Uint32Array.from([...words(Buffer.from('expand 32-byte k')), ...words(key), ...words(nonce)]);
  const mix = (a, b, d, bits) => {
    x[a] += x[b];
    const t = x[d] ^ x[a];
    x[d] = (t << bits) | (t >>> (32 - bits));
  };
  const quarter = (a, b, c, d) => {
    mix(a, b, d, 16);
    mix(c, d, b, 12);
    mix(a, b, d, 8);
    mix(c, d, b, 7);
  };
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 4; i++)
      quarter(i, 4 + i, 8 + i, 12 + i);
    for (let i = 0; i < 4; i++)
      quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  const out = Buffer.alloc(32);
  for (let i = 0; i < 4; i++) {
    out.writeUInt32LE(x[i], 4 * i);
    out.writeUInt32LE(x[12 + i], 16 + 4 * i);
  }
  return out;
}

/** Returns the Keypair of a channel account. box: sealed_seed (72 bytes); networkId: 32 bytes. Throws when the seed does not open. */
export function unseal({ masterKey, networkId, publicKey, keyId, box }) {
  const nonce = box.subarray(0, 24);
  const cipher = crypto.createDecipheriv('chacha20-poly1305', hchacha20(masterKey, nonce.subarray(0, 16)),
    Buffer.concat([Buffer.alloc(4), nonce.subarray(16)]), { authTagLength: 16 });
  const label = Buffer.alloc(16);
  label.write('fairway seed v1');
  cipher.setAAD(Buffer.concat([label, networkId, StrKey.decodeEd25519PublicKey(publicKey), Buffer.from(keyId)]));
  cipher.setAuthTag(box.subarray(56));
  const key = Keypair.fromRawEd25519Seed(Buffer.concat([cipher.update(box.subarray(24, 56)), cipher.final()]));
  if (key.publicKey() !== publicKey)
    throw new Error('another account\'s seed');
  return key;
}
