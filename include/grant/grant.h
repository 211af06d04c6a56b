/*
 * Granting leases: one database transaction for a batch of requests (DESIGN section 4, point 5). Choosing the
 * account, signing and recording the hash are that one transaction: a request whose lease did not commit has
 * left nothing behind.
 */
#ifndef FAIRWAY_GRANT_GRANT_H
#define FAIRWAY_GRANT_GRANT_H

#include "db/db.h"
#include "keys/keyd.h"
#include "pool/funds.h"
#include "pool/grants_allowed.h"
#include "stellar/envelope.h"
#include "stellar/policy.h"

#define CLIENT_SIZE 65 /* a client's name: '' or G... */
#define REQUEST_ID_SIZE 65
#define IDEMPOTENCY_KEY_SIZE 256

/* What a client asks for; decoded and judged by policy_check before it gets here. */
struct lease_request {
    struct envelope envelope; /* its spans point into memory that the owner of the request keeps */
    struct named_accounts named;
    uint32_t timeout_s; /* 0: not given */
    char client[CLIENT_SIZE];
    char request_id[REQUEST_ID_SIZE];
    char idempotency_key[IDEMPOTENCY_KEY_SIZE]; /* '': none */
    struct hash digest;                         /* SHA-256 of the body; only with a key */
    /* ERR_OK, or why it gets no lease of its own: with an idempotency key it may still be a retry, which gets
     * the lease that it took before. */
    enum err refusal;
    struct detail refusal_detail;
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

enum grant_state {
    GRANT_OPEN,    /* wants an account */
    GRANT_DONE,    /* lease is set and committed */
    GRANT_REFUSED, /* error and detail say why; no account is held */
};

/* One request on its way through grants. A batch leaves GRANT_OPEN those for which no account was idle. */
struct grant {
    const struct lease_request *request;
    enum grant_state state;
    enum {
        OPEN_SHORT,     /* no account was idle, or none was due to it */
        OPEN_ELSEWHERE, /* another transaction grants its idempotency key */
        OPEN_FAULT,     /* its account had a seed that does not open, and is quarantined now: try again */
    } open;             /* why it is GRANT_OPEN after a batch */
    enum err error;
    struct detail detail;
    struct lease lease;
};

struct grant_settings {
    struct network_id network;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops;
    struct funds_limits funds; /* of the distribution account, below which nothing is granted */
    unsigned ledger_seconds;   /* expected between two ledgers */
    /* Of the master keys that keyd has, into memory of the caller's; none: all. Accounts that are sealed
     * under another one are left to replicas that were told it. */
    const char *key_ids[MASTER_KEY_ROWS_MAX + 1];
    size_t key_id_count;
};

#define GRANT_BATCH_MAX 64

/*
 * The replica's place in line while accounts are short. Each replica publishes since when its requests wait,
 * and takes the accounts that are due to it: of all requests that wait, in any replica, those that have
 * waited longest come first.
 */
#define GRANT_LINE_MAX 256
struct grant_line {
    int64_t replica; /* a random number; a new one after an error, whose transaction may still lock the row */
    int64_t waited_ms[GRANT_LINE_MAX]; /* the longest first; those of the batch in front of the others */
    size_t count;
    /* Set by the batch. */
    int64_t idle, waiting; /* idle accounts, at most waiting + GRANT_BATCH_MAX, -1 when only this replica
                              stands in line; requests in all replicas */
    int64_t share;         /* of the idle accounts, those that are due to this replica */
    bool left;             /* this replica needs not stand in line any more */
};

enum grant_mode {
    GRANT_CLAIM,   /* takes idle accounts, unless requests of other replicas stand in line */
    GRANT_IN_LINE, /* publishes line and takes the replica's share */
    GRANT_JUDGE,   /* takes none: only retries are done, and what cannot be granted is refused */
};

struct grant_batch {
    struct grant *const *grants;
    size_t count; /* at most GRANT_BATCH_MAX; with GRANT_IN_LINE it may be 0 */
    enum grant_mode mode;
    struct grant_line *line; /* with GRANT_CLAIM, replica is read; NULL: line_taken is not looked for */
    /* Set by the batch. */
    bool line_taken; /* GRANT_CLAIM: requests of other replicas stand in line, no account was taken */
    bool given_back; /* accounts were locked for a while and not used */
};

/*
 * Grants as many of the grants (all GRANT_OPEN) as there are idle accounts, the first ones first; those that
 * carry the idempotency key of a lease that exists get that one. Each is judged, also when no account is
 * idle. ERR_OK: each grant is done, refused or still open. Any other error: no grant of the batch is
 * committed and all are open again, or, with ERR_OUTCOME_UNKNOWN, they may be committed and nothing more is
 * known: answer 503. ERR_GRANTS_SUSPENDED: detail says why. ERR_KEYD_UNAVAILABLE: stop the process.
 */
MUST_CHECK enum err grant_batch_run(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant_batch *batch, struct detail *detail);

/* The same with GRANT_CLAIM, for a program that has no replicas. */
MUST_CHECK enum err lease_grant(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant *const grants[], size_t count, struct detail *detail);

#endif
