/*
 * The client of the key process. fairway-keyd holds the master key and the distribution key; fairway holds
 * sealed seeds only. Any thread may call; the calls are made one after the other. keyd is lost when it has
 * ended, has sent a malformed answer, or has not answered a message for 4 s (keyd_load: 30 s). Then every
 * call returns ERR_KEYD_UNAVAILABLE, and the process should exit with EX_SOFTWARE. A call whose deadline
 * passes returns ERR_KEYD_UNAVAILABLE too, but a later one may succeed.
 */
#pragma once

#include <sys/types.h>

#include "stellar/envelope.h"
#include "stellar/policy.h"
#include "stellar/provisioning_tx.h"

#define SEAL_SIZE 72   /* nonce 24, ciphertext 32, tag 16 */
#define KEY_ID_SIZE 17 /* 16 hexadecimal digits and the terminator */
#define KDF_SALT_SIZE 16
#define SIGN_BATCH_MAX 64  /* transactions of one call */
#define KEYS_BATCH_MAX 256 /* keys of one call */
#define MASTER_KEY_ROWS_MAX 6
#define KEYD_TRANSACTION_MAX (1u << 18) /* bytes; twice the limit of the network, and what a request has */

/* A secret seed, encrypted under a master key (src/keys/seal.h). */
struct sealed_seed {
    char key_id[KEY_ID_SIZE];
    uint8_t box[SEAL_SIZE];
};

/* Which calls a keyd accepts besides keyd_load. A call that belongs to the other mode ends keyd. */
enum keyd_mode {
    KEYD_SERVE,     /* keyd_sign_leases, keyd_sign_fee_bumps */
    KEYD_PROVISION, /* keyd_generate, keyd_sign_provisioning */
    KEYD_IMPORT,    /* keyd_import */
    KEYD_ROTATE,    /* keyd_reseal */
    KEYD_MODES
};

/* Descriptors to read the secrets from, closed by keyd_start; 0 or less: not given. */
enum keyd_secret {
    SECRET_MASTER_KEY,   /* 32 raw bytes, or 64 hexadecimal digits and a newline */
    SECRET_PASSPHRASE,   /* instead of a key file: Argon2id with a stored salt; a final newline is ignored */
    SECRET_DISTRIBUTION, /* S... with an optional newline */
    SECRET_SEEDS,        /* of KEYD_IMPORT: S... on each line */
    SECRET_OLD_KEY,      /* as the master key: opens seeds, and never seals one */
    KEYD_SECRETS
};
struct keyd_secrets {
    int fd[KEYD_SECRETS];
};

#define KEYD_SIGNATURES_PER_SECOND_MIN 20 /* one creation needs as many */
struct keyd_budget {
    uint32_t signatures_per_second; /* at least KEYD_SIGNATURES_PER_SECOND_MIN */
    int64_t fee_stroops_per_hour;   /* of provisioning, and of each transaction's highest fee bump */
};

/* What keyd signs at most. These are arguments of the program, and no message changes them (arguments.h). */
struct keyd_settings {
    struct keyd_budget budget;
    struct policy_limits limits;   /* keyd gets base_fee_stroops and max_resource_fee_stroops */
    int64_t max_lease_fee_stroops; /* inner fee cap */
    int64_t max_bump_fee_stroops;  /* of a fee bump without its resource fee, of a creation or merge */
    struct network_id network;     /* signatures are for this network only */
    bool has_distribution;         /* else it is the account of the secret */
    struct public_key distribution;
};

/* A row of master_keys: which secret gives the key with this id. */
struct master_key_row {
    char key_id[KEY_ID_SIZE];
    bool derived; /* from the passphrase and salt; else it is the key file */
    uint8_t salt[KDF_SALT_SIZE];
};

struct keyd;

/*
 * Starts program with its settings, a socketpair and the secrets, and waits until it is sandboxed. Call it
 * before any other socket is opened, from a thread that lives as long as the process: the kernel kills keyd
 * when that thread ends. keyd_load must be the next call; keyd_stop frees *out. ERR_CONFIG: program or
 * secrets are unusable, or the distribution secret does not belong to settings->distribution.
 * ERR_KEYD_UNAVAILABLE: a system call failed, or keyd does not answer.
 */
MUST_CHECK enum err keyd_start(const char *program, enum keyd_mode mode, const struct keyd_settings *settings,
    const struct keyd_secrets *secrets, struct keyd **out, struct detail *detail);

/*
 * Sends the known key rows: once, before any other call. Returns in *current the row of the key that seals
 * new seeds, and in *distribution the distribution account. *is_new: *current is not among the rows, and must
 * be stored before the first seed that it seals. ERR_CONFIG: no secret matches a known row.
 */
MUST_CHECK enum err keyd_load(struct keyd *keyd, const struct master_key_row rows[], size_t row_count,
    struct master_key_row *current, bool *is_new, struct public_key *distribution, struct detail *detail);

/* The key of OLD_MASTER_KEY_FILE, after keyd_load, whether it was among the rows or not; NULL: none. keyd
 * owns it. */
const struct master_key_row *keyd_old_key(const struct keyd *keyd);

struct generated_key {
    struct public_key public_key;
    struct sealed_seed sealed;
};
/* Generates count keys, at most KEYS_BATCH_MAX. */
MUST_CHECK enum err keyd_generate(struct keyd *keyd, size_t count, struct generated_key out[]);

#define KEYD_SEEDS_MAX 10000  /* that one key process takes */
#define KEYD_IMPORT_BATCH 200 /* of one call */
struct imported_key {
    uint32_t line;   /* of the input, from 1 */
    enum err result; /* ERR_MALFORMED: the line is not a seed, and there is no key */
    struct generated_key key;
};
/* Seals the next seeds of those that keyd has read, in their order, each once; *count is 0 when none is left.
 * Each sealed seed has opened and signed. */
MUST_CHECK enum err keyd_import(
    struct keyd *keyd, struct imported_key out[static KEYD_IMPORT_BATCH], size_t *count);

/* Seals the seeds of these accounts, at most KEYS_BATCH_MAX, again, under the current key, in place. Each new
 * sealed seed has opened and signed. results[i]: ERR_SEAL_BROKEN: it does not open, and is unchanged. */
MUST_CHECK enum err keyd_reseal(
    struct keyd *keyd, struct generated_key accounts[], enum err results[], size_t count);

/* One lease to sign, and with a bid its fee bump: both are signed or none. An item that keyd refuses fails
 * alone. */
struct lease_signing {
    /* in */
    struct bytes transaction; /* XDR Transaction, at most KEYD_TRANSACTION_MAX bytes */
    struct public_key signer;
    struct sealed_seed sealed;
    int64_t bid_fee_stroops;  /* of a fee bump; 0: none is signed */
    struct buf *bid_envelope; /* the signed envelope of the fee bump is appended when result is ERR_OK */
    /* out */
    enum err result;
    struct hash hash; /* when result is ERR_OK, as what follows */
    struct signature signature;
    struct hash bid_hash; /* of the fee bump */
};
/* now_s is the later one of the database's clock and the last close time. keyd refuses max times after now_s
 * + 300. The call returns at most 200 ms after deadline_ms (by clock_ms; 0: none). Results of items, besides
 * those of policy_check_lease: ERR_SEAL_BROKEN. ERR_FEE_EXCEEDS_MAXIMUM: also a bid above
 * max_bump_fee_stroops plus the transaction's resource fee. ERR_KEYD_CLOCK: now_s is more than 120 s ahead of
 * keyd's clock. ERR_KEYD_BUDGET: a retry in a second may succeed. */
MUST_CHECK enum err keyd_sign_leases(
    struct keyd *keyd, uint64_t now_s, int64_t deadline_ms, struct lease_signing items[], size_t count);

/* One fee bump to sign. An item that keyd refuses fails alone. */
struct bump_signing {
    /* in */
    struct bytes inner; /* XDR TransactionEnvelope whose source is the channel account of sealed; at most
                           KEYD_TRANSACTION_MAX bytes */
    struct sealed_seed sealed;
    int64_t fee_stroops;
    struct buf *envelope; /* the signed envelope of the fee bump is appended when result is ERR_OK */
    /* out */
    enum err result;
    struct detail detail;
    struct hash hash; /* when result is ERR_OK */
};
/*
 * Results: ERR_INVALID_TRANSACTION_XDR: inner does not decode. ERR_FEE_BUMP_TX_NOT_ALLOWED:
 * inner is a fee bump. ERR_FEE_EXCEEDS_MAXIMUM: the fee is not between 1 and max_bump_fee_stroops plus
 * inner's resource fee. ERR_SEAL_BROKEN: sealed does not open. ERR_CHANNEL_SIGNATURE_MISSING: the channel
 * account has not signed inner. ERR_KEYD_BUDGET. Other errors of policy_check_lease: inner may not be signed;
 * its max time is at most 300 + 120 s after keyd's clock. deadline_ms and the returned error as for leases.
 */
MUST_CHECK enum err keyd_sign_fee_bumps(
    struct keyd *keyd, int64_t deadline_ms, struct bump_signing items[], size_t count);

/*
 * Signs a creation or merge, and the fee bump of one that is bumped. sealed[i] belongs to
 * provisioning->accounts[i], and the one after them to the source of one that is bumped. Appends the signed
 * envelope that is to be sent; *hash is the hash of the innermost transaction.
 * ERR_INVALID_TRANSACTION: the distribution account is not keyd's, or the max time is not within 300 s after
 * now_s. ERR_FEE_EXCEEDS_MAXIMUM: above max_bump_fee_stroops. ERR_KEYD_CLOCK, ERR_KEYD_BUDGET.
 * ERR_SEAL_BROKEN: sealed[*broken] is the first that does not open for its account.
 */
MUST_CHECK enum err keyd_sign_provisioning(struct keyd *keyd, uint64_t now_s,
    const struct provisioning_tx *provisioning, const struct sealed_seed sealed[], struct buf *envelope,
    struct hash *hash, uint32_t *broken, struct detail *detail);

/* Closes the socket, which ends keyd; waits for its end, and kills it after 4 s. Frees keyd. */
void keyd_stop(struct keyd *keyd); /* NULL is fine */

/* Notices that keyd is lost although no call waits for it, and counts on what has been filled into its
 * budget. To be called about once a second. */
void keyd_check(struct keyd *keyd);
/* The process, by its id and by a descriptor, which becomes readable when it ends. Valid until keyd_stop. */
pid_t keyd_pid(const struct keyd *keyd);
int keyd_pidfd(const struct keyd *keyd);

/* Whether keyd is not lost. */
bool keyd_runs(const struct keyd *keyd);
/* Whether keyd has ended; *detail says how ("exit code 80", "signal 9"). */
bool keyd_ended(const struct keyd *keyd, struct detail *detail);
