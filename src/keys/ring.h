/*
 * All secrets of the key process, in guarded and locked pages that are not in core dumps: the master keys,
 * the passphrase until the ring is loaded, the distribution key, and the seed of one channel account while it
 * signs.
 *
 * A signature with a fault of memory or arithmetic in it can reveal its key: the difference to the right one
 * is the fault times the key. So each signature is checked before it is returned, in one of two ways:
 *
 * - It is verified with the public key. This finds every fault that makes it invalid. It costs as much as 2.5
 *   signatures (53 us to 19 us); libsodium cannot verify a batch for less.
 * - It is made twice, each time from the sealed seed, and compared. This finds a fault that happens once or
 *   differs from one time to the next: a flipped bit in a register, in a cache, in the opened key.
 *
 * The first signature after ring_begin, which begins each message, is verified. This finds a fault that
 * stays, such as a damaged table of libsodium or a damaged distribution key. The others are made twice. After
 * the first fault all are verified, as long as the process lives. A fault that begins within a message,
 * stays, and does the same to both computations is not found.
 */
#pragma once

#include "seal.h"

#define RING_KEYS_MAX (MASTER_KEY_ROWS_MAX + 3) /* the rows, two key files and a new key */
#define PASSPHRASE_MIN 16
#define PASSPHRASE_MAX 1024

/* The seeds of import-accounts, each until it is sealed; in such pages too. */
struct ring_seeds {
    size_t count, next;
    uint32_t line, len; /* of the input, while it is read: its number, and the bytes of it in text */
    char text[64];
    struct ring_seed {
        uint32_t line;
        bool valid;
        uint8_t bytes[SEED_SIZE];
    } seeds[KEYD_SEEDS_MAX];
};

struct ring_key {
    struct master_key_row row;
    uint8_t bytes[MASTER_KEY_SIZE];
};

struct ring_secrets {
    bool has_file_key, has_old_key, has_distribution;
    uint8_t file_key[MASTER_KEY_SIZE], old_key[MASTER_KEY_SIZE];
    size_t passphrase_len;
    char passphrase[PASSPHRASE_MAX];
    struct key_pair distribution;
    size_t key_count;
    struct ring_key keys[RING_KEYS_MAX];
    struct key_pair open; /* of the account that signs */
};

struct ring {
    struct network_id network; /* seeds are sealed for it, and signatures are for it */
    struct public_key distribution;
    const struct ring_key *current; /* seals new seeds */
    const struct ring_key *old;     /* of OLD_MASTER_KEY_FILE; else NULL */
    bool verified;                  /* a signature of this message */
    bool faulty;                    /* a check has failed */
    struct ring_secrets *secrets;
    struct ring_seeds *seeds; /* of import-accounts; else NULL */
};

/* Allocates the guarded memory of a ring for this network. ERR_CONFIG when it cannot be locked: secrets could
 * be swapped out. */
MUST_CHECK enum err ring_open(struct ring *ring, const struct network_id *network, struct detail *detail);

/* Reads and closes the descriptors, before the sandbox. ERR_CONFIG: a secret is unreadable or malformed. */
MUST_CHECK enum err ring_read(struct ring *ring, const struct keyd_secrets *from, struct detail *detail);

/* Reads fd to its end straight into out, and closes it. ERR_CONFIG: unreadable, or longer than max. */
MUST_CHECK enum err ring_read_secret(int fd, void *out, size_t max, size_t *len);

/* Wipes the secrets. The pages are freed when the process ends: the sandbox forbids munlock. */
void ring_close(struct ring *ring);

/* Finds or derives the key of each row, chooses the current one and wipes the passphrase. Errors and *is_new
 * as in keyd_load. */
MUST_CHECK enum err ring_load(
    struct ring *ring, const struct master_key_row rows[], size_t count, bool *is_new, struct detail *detail);

/* Begins a message: the next signature is verified. */
void ring_begin(struct ring *ring);

/* Seals a new seed under the current key. */
void ring_generate(struct ring *ring, struct generated_key *out);

/* Seals a seed that was given, and has the sealed one open and sign. ERR_INTERNAL: a fault; *out is zero. */
MUST_CHECK enum err ring_import(
    struct ring *ring, const uint8_t seed[static SEED_SIZE], struct generated_key *out);

/* Seals a sealed seed again, under the current key, in place, and has it open and sign. ERR_SEAL_BROKEN: it
 * does not open. ERR_INTERNAL: a fault. On both it is unchanged. */
MUST_CHECK enum err ring_reseal(struct ring *ring, const struct public_key *key, struct sealed_seed *sealed);

/* ---- ring_seeds.c */

/* Reads all seeds of the descriptor, one a line, before the sandbox, and closes it. White space and empty
 * lines are ignored. ERR_CONFIG: unreadable, more than KEYD_SEEDS_MAX, or the pages cannot be locked. */
MUST_CHECK enum err ring_read_seeds(struct ring *ring, int fd, struct detail *detail);
size_t ring_seeds_left(const struct ring *ring);
/* Seals the next one and wipes it. One must be left. */
struct imported_key ring_seal_next(struct ring *ring);

/* ---- ring.c */

/* Opens the seed, signs, wipes the seed and checks the signature. ERR_SEAL_BROKEN. ERR_INTERNAL: the check
 * found a fault. On both the signature is all zero. */
MUST_CHECK enum err ring_sign(struct ring *ring, const struct public_key *key,
    const struct sealed_seed *sealed, const struct hash *hash, struct signature *signature);
MUST_CHECK enum err ring_sign_as_distribution(
    struct ring *ring, const struct hash *hash, struct signature *signature);

/*
 * ERR_OK when the source of the transaction is a pool account and has signed hash, that of the transaction.
 * ERR_SEAL_BROKEN: the seed does not open for the source. ERR_CHANNEL_SIGNATURE_MISSING.
 */
MUST_CHECK enum err ring_check_signed(struct ring *ring, const struct envelope *transaction,
    const struct sealed_seed *sealed, const struct hash *hash);
