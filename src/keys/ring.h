/*
 * Every secret of the key process, in guarded, locked pages that a core dump leaves out: the master keys, the
 * passphrase until it has served, the distribution key, and one place where a channel account's seed is open
 * for the time of one signature.
 */
#ifndef FAIRWAY_KEYS_RING_H
#define FAIRWAY_KEYS_RING_H

#include "seal.h"

#define RING_KEYS_MAX (MASTER_KEY_ROWS_MAX + 2) /* the key file's and a new one beside the rows */
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
    struct opened distribution;
    size_t key_count;
    struct ring_key keys[RING_KEYS_MAX];
    struct opened open; /* the seed in use */
};

struct ring {
    struct network_id network;
    struct public_key distribution;
    const struct ring_key *current; /* new seeds are sealed under it */
    struct ring_secrets *secrets;
};

/* Takes the guarded memory. ERR_CONFIG when it cannot be locked: a secret could reach the swap. */
MUST_CHECK enum err ring_open(struct ring *ring, struct detail *detail);

/* Wipes all; the pages themselves go with the process, whose sandbox has no call to unlock them. */
void ring_close(struct ring *ring);

/* Reads the secrets from descriptors and closes these; before the sandbox. */
MUST_CHECK enum err ring_read(struct ring *ring, const struct keyd_secrets *from, struct detail *detail);

/*
 * Finds or derives the key of each row and chooses the current one, then forgets the passphrase. See
 * keyd_load.
 */
MUST_CHECK enum err ring_load(
    struct ring *ring, const struct master_key_row rows[], size_t count, bool *is_new, struct detail *detail);

/* Seals a new seed under the current key. */
void ring_generate(struct ring *ring, struct generated_key *out);

/* Opens the seed, signs, closes it again; the signature is verified. ERR_SEAL_BROKEN, ERR_INTERNAL: the
 * signature is all zero. */
MUST_CHECK enum err ring_sign(struct ring *ring, const struct public_key *key,
    const struct sealed_seed *sealed, const struct hash *hash, struct signature *signature);
MUST_CHECK enum err ring_sign_as_distribution(
    struct ring *ring, const struct hash *hash, struct signature *signature);

/* Whether the seed opens for key under one of the master keys, which proves that it is a pool account. */
MUST_CHECK enum err ring_proves_member(
    struct ring *ring, const struct public_key *key, const struct sealed_seed *sealed);

#endif
