/*
 * Granting leases: one database transaction for a batch of requests (DESIGN section 4, point 5). Choosing the
 * account, signing and recording the hash are that one transaction: a request whose lease did not commit has
 * left nothing behind.
 */
#ifndef FAIRWAY_POOL_LEASE_H
#define FAIRWAY_POOL_LEASE_H

#include "db/db.h"
#include "keys/keyd.h"
#include "stellar/envelope.h"
#include "stellar/policy.h"

#define CLIENT_SIZE 65 /* a client's name: '' or G... */
#define REQUEST_ID_SIZE 65
#define IDEMPOTENCY_KEY_SIZE 256
#define IDEMPOTENCY_KEY_HOURS 24 /* how long a key is remembered */

/* What a client asks for; decoded and judged by policy_check before it gets here. */
struct lease_request {
    struct envelope envelope; /* its spans point into memory that the owner of the request keeps */
    struct named_accounts named;
    uint32_t timeout_s; /* 0: not given */
    char client[CLIENT_SIZE];
    char request_id[REQUEST_ID_SIZE];
    char idempotency_key[IDEMPOTENCY_KEY_SIZE]; /* '': none */
    struct hash digest;                         /* SHA-256 of the body; only with a key */
};

/* A granted lease, as the client gets it. */
struct lease {
    struct hash hash;
    struct public_key account;
    int64_t sequence;
    int64_t sequence_ledger; /* the ledger from which sequence - 1 is known */
    uint64_t max_time_s;
    struct buf envelope; /* the signed TransactionEnvelope; lease_wipe frees it */
};
void lease_wipe(struct lease *lease);

/* A lease that was granted earlier under an idempotency key, as its row has it. */
struct recorded_lease {
    struct lease lease;
    struct hash digest; /* of the body that took it */
};

/*
 * The lease that this request has taken before, with the same idempotency key: *out is what was answered
 * then, byte for byte, whatever became of it since. *found is false when there is none.
 * ERR_IDEMPOTENCY_CONFLICT: the key came with another body. What is found is as durable as a lease that was
 * just granted.
 */
MUST_CHECK enum err lease_find(struct db *db, const struct lease_request *request, bool *found,
    struct lease *out, struct detail *detail);

enum grant_state {
    GRANT_OPEN,    /* wants an account */
    GRANT_DONE,    /* lease is set and committed */
    GRANT_REFUSED, /* error and detail say why; no account is held */
};

/* One request on its way through grants. A batch leaves GRANT_OPEN those for which no account was idle. */
struct grant {
    const struct lease_request *request;
    enum grant_state state;
    bool elsewhere; /* GRANT_OPEN because another transaction grants its idempotency key: no account was
                       missing */
    enum err error;
    struct detail detail;
    struct lease lease;
};

struct grant_settings {
    struct network_id network;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops;
    unsigned ledger_seconds; /* expected between two ledgers */
    /* Of the master keys that keyd has, into memory of the caller's; none: all. Accounts that are sealed
     * under another one are left to replicas that were told it. */
    const char *key_ids[MASTER_KEY_ROWS_MAX + 1];
    size_t key_id_count;
};

#define GRANT_BATCH_MAX 64

/* Seconds that the database's clock may be away from the last close time, beyond the ledger that is due. */
#define GRANT_CLOCK_SLACK_S 30

/*
 * Grants as many of the count grants (all GRANT_OPEN, at most GRANT_BATCH_MAX) as there are idle accounts,
 * the first ones first; those that carry the idempotency key of a lease that exists get that one. ERR_OK:
 * each grant is done, refused or still open. Any other error: no grant of the batch is committed and all are
 * open again, or, with ERR_OUTCOME_UNKNOWN, they may be committed and nothing more is known: answer 503.
 * ERR_GRANTS_SUSPENDED: detail says why. ERR_KEYD_UNAVAILABLE: stop the process.
 */
MUST_CHECK enum err lease_grant(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant *const grants[], size_t count, struct detail *detail);

/* Waits until no grant is in flight that has not seen what was committed before, such as that grants are
 * suspended. */
MUST_CHECK enum err grants_wait_out(struct db *db, struct detail *detail);

#endif
