/*
 * Sealing of secret seeds: XChaCha20-Poly1305 under a 32-byte master key. The public key, the key id and the
 * network are associated data, so that a row that was swapped, copied to another network or altered does not
 * open. Nothing here allocates.
 */
#ifndef FAIRWAY_KEYS_SEAL_H
#define FAIRWAY_KEYS_SEAL_H

#include "keys/keyd.h"

#define MASTER_KEY_SIZE 32
#define SEED_SIZE 32
#define SECRET_KEY_SIZE 64 /* libsodium's: seed and public key */

/* A key that is open. Lives in guarded memory only; opened_wipe when it has served. */
struct opened {
    uint8_t secret[SECRET_KEY_SIZE];
    uint8_t seed[SEED_SIZE]; /* apart: libsodium expands it out of place */
};
void opened_wipe(struct opened *opened);

/*
 * Argon2id (RFC 9106) at 64 MiB and 3 passes, the RFC's second recommended choice (section 4), in one lane as
 * libsodium has it: a guess costs an attacker about 0.1 s, and a small container can still start.
 */
#define KDF_PASSES 3
#define KDF_MEMORY (64u << 20)

/* 64 bits of a keyed BLAKE2b, so that a row tells which master key it needs. */
void key_id_of(const uint8_t master[static MASTER_KEY_SIZE], char out[static KEY_ID_SIZE]);

/* ERR_INTERNAL when there is no memory for it. */
MUST_CHECK enum err key_derive(const char *passphrase, size_t len, const uint8_t salt[static KDF_SALT_SIZE],
    uint8_t master[static MASTER_KEY_SIZE]);

/* sealed->key_id is set by the caller. */
void seal(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const uint8_t seed[static SEED_SIZE], struct sealed_seed *sealed);

/*
 * Opens and expands. ERR_SEAL_BROKEN: wrong master key, network, public key or altered bytes, or a seed that
 * is not the public key's; opened holds nothing then.
 */
MUST_CHECK enum err unseal(const uint8_t master[static MASTER_KEY_SIZE], const struct network_id *network,
    const struct public_key *key, const struct sealed_seed *sealed, struct opened *opened);

#endif
