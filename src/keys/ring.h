/*
 * All secrets of the key process, in guarded and locked pages that are not in core dumps: the master keys,
 * the passphrase until the ring is loaded, the distribution key, and the seed of one channel account while it
 * signs.
 */
#ifndef FAIRWAY_KEYS_RING_H
#define FAIRWAY_KEYS_RING_H

#include "seal.h"

#define RING_KEYS_MAX (MASTER_KEY_ROWS_MAX + 2) /* the rows, the key file and a new key */
#define PASSPHRASE_MIN 16
#define PASSPHRASE_MAX 1024

struct ring_key {
    struct master_key_row row;
    uint8_t bytes[MASTER_KEY_SIZE];
};

struct ring_secrets {
    bool has_file_key, has_distribution;
    uint8_t file_key[MASTER_KEY_SIZE];
    size_t passphrase_len;
    char passphrase[PASSPHRASE_MAX];
    struct key_pair distribution;
    size_t key_count;
    struct ring_key keys[RING_KEYS_MAX];
    struct key_pair open; /* of the account that signs */
};

struct ring {
    struct network_id network;
    struct public_key distribution;
    const struct ring_key *current; /* seals new seeds */
    struct ring_secrets *secrets;
};

/* Allocates the guarded memory. ERR_CONFIG when it cannot be locked: secrets could be swapped out. */
MUST_CHECK enum err ring_open(struct ring *ring, struct detail *detail);

/* Wipes the secrets. The pages are freed when the process ends: the sandbox forbids munlock. */
void ring_close(struct ring *ring);

/* Finds or derives the key of each row, chooses the current one and wipes the passphrase. Errors and *is_new
 * as in keyd_load. */
MUST_CHECK enum err ring_load(
    struct ring *ring, const struct master_key_row rows[], size_t count, bool *is_new, struct detail *detail);

/* Seals a new seed under the current key. */
void ring_generate(struct ring *ring, struct generated_key *out);

/* Opens the seed, signs, wipes the seed and verifies the signature. On ERR_SEAL_BROKEN and ERR_INTERNAL the
 * signature is all zero. */
MUST_CHECK enum err ring_sign(struct ring *ring, const struct public_key *key,
    const struct sealed_seed *sealed, const struct hash *hash, struct signature *signature);
MUST_CHECK enum err ring_sign_as_distribution(
    struct ring *ring, const struct hash *hash, struct signature *signature);

/* ERR_OK when the seed opens for key under one of the master keys, which proves that it is a pool account;
 * else ERR_SEAL_BROKEN. */
MUST_CHECK enum err ring_check_member(
    struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed);

#endif
