/*
 * Encrypts secret seeds: XChaCha20-Poly1305 under a 32-byte master key. The public key, the key id and the
 * network are associated data, so that a row that was swapped, altered or copied to another network does not
 * open. Allocates nothing.
 */
#pragma once

#include "keys/keyd.h"

#define MASTER_KEY_SIZE 32
#define SEED_SIZE 32
#define SECRET_KEY_SIZE 64 /* libsodium's: seed and public key */

/* A secret key in the clear. In guarded memory only; wiped after use. */
struct key_pair {
    uint8_t secret[SECRET_KEY_SIZE];
    uint8_t seed[SEED_SIZE]; /* libsodium cannot expand it in place */
};
void key_pair_wipe(struct key_pair *pair);

/*
 * Argon2id (RFC 9106) with 64 MiB and 3 passes, the second recommended option of section 4, in one lane (the
 * only choice in libsodium). A guess costs about 0.1 s, and a small container can still start.
 */
#define KDF_PASSES 3
#define KDF_MEMORY (64u << 20)

/* Writes 64 bits of a keyed BLAKE2b, by which a row names the master key that it needs. */
void seal_key_id(const uint8_t master[static MASTER_KEY_SIZE], char out[static KEY_ID_SIZE]);

/* Derives a master key from a passphrase. ERR_INTERNAL when there is not enough memory. */
MUST_CHECK enum err seal_derive_key(const char *passphrase, size_t len,
    const uint8_t salt[static KDF_SALT_SIZE], uint8_t master[static MASTER_KEY_SIZE]);

/* Encrypts seed into sealed->box. The caller has set sealed->key_id. */
void seal(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const uint8_t seed[static SEED_SIZE], struct sealed_seed *sealed);

/*
 * Decrypts a seed into pair->secret; does not write pair->seed. ERR_SEAL_BROKEN: wrong master key, network or
 * public key, or altered bytes; *pair is wiped then.
 */
MUST_CHECK enum err seal_open(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const struct sealed_seed *sealed, struct key_pair *pair);
