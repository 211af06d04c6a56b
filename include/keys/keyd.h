/*
 * The key process, seen from its client. fairway-keyd holds the master key and the distribution key; fairway
 * holds sealed seeds only. Calls are batched, serialized by a mutex inside (any thread may call), block until
 * the answer or a deadline of 5 s (keyd_load: 30 s), and after a lost answer or a dead keyd return
 * ERR_KEYD_UNAVAILABLE for ever: the caller stops with EX_SOFTWARE.
 */
#ifndef FAIRWAY_KEYS_KEYD_H
#define FAIRWAY_KEYS_KEYD_H

#include "stellar/envelope.h"
#include "stellar/policy.h"
#include "stellar/provisioning_tx.h"

#define SEAL_SIZE 72   /* nonce 24, ciphertext 32, tag 16 */
#define KEY_ID_SIZE 17 /* 16 hexadecimal digits and the terminator */
#define KDF_SALT_SIZE 16
#define SIGN_BATCH_MAX 256 /* of one message; longer arrays take several */
#define MASTER_KEY_ROWS_MAX 6
#define KEYD_TRANSACTION_MAX (1u << 20) /* bytes; the network takes an eighth of that */

/* A secret seed under a master key: XChaCha20-Poly1305; public key, key id and network id are associated
 * data. */
struct sealed_seed {
    char key_id[KEY_ID_SIZE];
    uint8_t box[SEAL_SIZE];
};

/* What a keyd does beside keyd_load. A call of the other mode ends it. */
enum keyd_mode {
    KEYD_SERVE,    /* keyd_sign_leases, keyd_sign_fee_bump */
    KEYD_PROVISION /* keyd_generate, keyd_sign_provisioning */
};

/* Where secrets come from. Descriptors are handed over and closed here; -1: not given. */
struct keyd_secrets {
    int master_key_fd;   /* 32 raw bytes, or 64 hexadecimal digits and a newline */
    int passphrase_fd;   /* alternative to the key file: Argon2id with a stored salt; a final newline is not
                            part of it */
    int distribution_fd; /* S... with an optional newline */
};

/* A row of master_keys: how a key id is derived. */
struct master_key_row {
    char key_id[KEY_ID_SIZE];
    bool derived; /* from the passphrase with salt; else the key file */
    uint8_t salt[KDF_SALT_SIZE];
};

struct keyd;

/*
 * Forks and executes program over a socketpair, before the caller opens any other socket, hands the secrets
 * over and waits until its sandbox stands. The caller goes on with keyd_load. Call it from a thread that
 * lives as long as the process: the kernel kills keyd when that thread ends. Errors: ERR_CONFIG (program or
 * secrets unusable), ERR_KEYD_UNAVAILABLE.
 */
MUST_CHECK enum err keyd_start(const char *program, enum keyd_mode mode, const struct keyd_secrets *secrets,
    struct keyd **out, struct detail *detail);

/*
 * Once, first: network, distribution account as configured (NULL: take it from the secret), limits and the
 * known key rows. Answers the row of the key under which new seeds are sealed; *is_new says that it is in
 * none of the known rows and must be stored before the first seed sealed under it is. ERR_CONFIG when no
 * secret matches a known row that is needed, or the distribution secret is not the configured account's.
 */
struct keyd_settings {
    struct network_id network;
    const struct public_key *distribution;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops; /* inner fee cap */
    int64_t max_bump_fee_stroops;  /* what the distribution account pays for one transaction: fee bump,
                                      creation or merge */
};
MUST_CHECK enum err keyd_load(struct keyd *keyd, const struct keyd_settings *settings,
    const struct master_key_row rows[], size_t row_count, struct master_key_row *current, bool *is_new,
    struct public_key *distribution, struct detail *detail);

struct generated_key {
    struct public_key public_key;
    struct sealed_seed sealed;
};
/* count new keys. */
MUST_CHECK enum err keyd_generate(struct keyd *keyd, size_t count, struct generated_key out[]);

/* One lease to sign; in: transaction (XDR Transaction), signer, sealed. out: result and, when ERR_OK, hash
   and signature. An item that keyd refuses (or that is larger than KEYD_TRANSACTION_MAX) fails alone. */
struct lease_signing {
    struct bytes transaction;
    struct public_key signer;
    struct sealed_seed sealed;
    enum err result;
    struct hash hash;
    struct signature signature;
};
/* now_s is the caller's now (the database's, DESIGN 5); keyd refuses max times beyond now_s + 300. */
MUST_CHECK enum err keyd_sign_leases(
    struct keyd *keyd, uint64_t now_s, struct lease_signing items[], size_t count);

/* inner: XDR TransactionEnvelope whose source is the channel account of sealed. Answers the finished fee bump
 * envelope. */
MUST_CHECK enum err keyd_sign_fee_bump(struct keyd *keyd, struct bytes inner,
    const struct sealed_seed *sealed, int64_t fee_stroops, struct buf *envelope, struct hash *hash,
    struct detail *detail);

/*
 * A creation or merge: sealed[i] belongs to provisioning->accounts[i]. Answers the signed envelope. Refused:
 * another distribution account than keyd's, a fee above max_bump_fee_stroops, a max time that is past now_s
 * (as in keyd_sign_leases) or more than 300 s after it. ERR_SEAL_BROKEN: sealed[*broken], the first such,
 * does not open for its account.
 */
MUST_CHECK enum err keyd_sign_provisioning(struct keyd *keyd, uint64_t now_s,
    const struct provisioning_tx *provisioning, const struct sealed_seed sealed[], struct buf *envelope,
    struct hash *hash, uint32_t *broken, struct detail *detail);

/* Closes the socket, which ends keyd, and waits for it. */
void keyd_stop(struct keyd *keyd);

/* A descriptor that is readable from the moment the process has ended or a call has failed: from then on
 * every call returns ERR_KEYD_UNAVAILABLE. For poll(2); never read from. Valid until keyd_stop. */
int keyd_lost_fd(const struct keyd *keyd);
/* The process as a pidfd. */
int keyd_pidfd(const struct keyd *keyd);

/* Whether keyd has ended; *detail says how ("exit code 80", "signal 9"): for the log line of the caller's
 * end. */
bool keyd_ended(const struct keyd *keyd, struct detail *detail);

#endif
