/*
 * Granting leases: one database transaction for a batch of requests. It claims idle accounts, has the
 * transactions signed and records the leases. A request whose lease was not committed has changed nothing.
 */
#ifndef FAIRWAY_GRANT_GRANT_H
#define FAIRWAY_GRANT_GRANT_H

#include "db/db.h"
#include "keys/keyd.h"
#include "pool/funds.h"
#include "pool/grants_allowed.h"
#include "stellar/envelope.h"
#include "stellar/policy.h"

#define CLIENT_SIZE 65 /* a client's name (auth/auth.h); '' with AUTH=none */
#define REQUEST_ID_SIZE 65
#define IDEMPOTENCY_KEY_SIZE 256
#define TOKEN_KEY_SIZE 72

/* What a client may have; 0: as much as it likes. */
struct lease_limits {
    uint32_t open_leases, leases_per_second, pool_percent;
};

/* What a client asks for; decoded, and checked by policy_check, before it gets here. */
struct lease_request {
    struct envelope envelope; /* its spans point into memory that the owner of the request keeps */
    struct named_accounts named;
    uint32_t timeout_s; /* 0: not given */
    char client[CLIENT_SIZE];
    char request_id[REQUEST_ID_SIZE];
    char idempotency_key[IDEMPOTENCY_KEY_SIZE]; /* '': none */
    char token_key[TOKEN_KEY_SIZE]; /* '': none. A second key of the same lease, only with the first: "token:"
                                       and its hash */
    struct hash digest;             /* SHA-256 of the body; only with a key */
    struct lease_limits limits;
    /* ERR_OK, or why the request gets no new lease. With an idempotency key it may still be a retry, and then
     * gets the earlier request's lease. */
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

enum grant_state {
    GRANT_OPEN,    /* not decided yet: needs an account */
    GRANT_DONE,    /* lease is set and committed */
    GRANT_REFUSED, /* error and detail say why; no account is leased */
};

/* One request in a batch. Those for which no account was idle are GRANT_OPEN after it. */
struct grant {
    const struct lease_request *request;
    enum grant_state state;
    enum {
        OPEN_NO_ACCOUNT,  /* no account was idle, or none was in the replica's share */
        OPEN_KEY_LOCKED,  /* another transaction has locked its idempotency key */
        OPEN_BROKEN_SEED, /* the seed of its account does not open; the account is quarantined now */
    } open;               /* why it is GRANT_OPEN after a batch */
    enum err error;
    struct detail detail;
    const char *limit; /* with ERR_LIMIT_EXCEEDED, its name */
    struct lease lease;
};

struct grant_settings {
    struct network_id network;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops;
    struct funds_limits funds; /* of the distribution account; below them nothing is granted */
    unsigned ledger_seconds;   /* expected between two ledgers */
    /* The master keys that keyd has, in memory of the caller's; none: all. Accounts sealed under another key
     * are not claimed. */
    const char *key_ids[MASTER_KEY_ROWS_MAX + 1];
    size_t key_id_count;
};

#define GRANT_BATCH_MAX 64

/*
 * How replicas share the idle accounts while there are too few. Each request has a turn, by which the
 * requests of all replicas are ordered: a random time, at most ENGINE_TURN_MS / 2 before or after its
 * arrival. The requests of one replica are granted in the order of arrival, so they exchange their turns: the
 * one that arrived first gets the earliest. Each replica publishes the earliest turns of its waiting requests
 * in fairway.waiting. fairway.share_of_idle counts the idle accounts, assigns one to each of the earliest
 * turns of all replicas, and returns how many of those turns are this replica's. When a replica has more
 * requests than it publishes, no account is assigned to a turn after its last published one.
 *
 * So the requests that two replicas received at the same time are interleaved, in proportion to their
 * numbers. A grant does not change the turns of other requests: a replica that claims later than another one
 * finds the accounts of its turns still idle.
 */
#define GRANT_SHARING_MAX 256 /* fairway.share_of_idle has this number, and GRANT_BATCH_MAX, too */
struct grant_sharing {
    int64_t replica; /* a random number; a new one after an error, whose transaction may still lock the row */
    int64_t waited_ms[GRANT_SHARING_MAX]; /* now less the earliest turns of its waiting requests, the largest
                                             first; negative for turns after now */
    size_t count;
    /* Set by the batch. */
    int64_t idle;    /* idle accounts, at most waiting + GRANT_BATCH_MAX, and fewer than that when a replica
                        has more requests than it publishes; -1: no other replica shares, and they were not
                        counted */
    int64_t waiting; /* published turns of all replicas */
    int64_t share;   /* accounts that this replica may take */
    bool shortage_over; /* this replica need not publish any more */
};

enum grant_mode {
    GRANT_CLAIM,       /* takes idle accounts, unless requests of other replicas wait for some */
    GRANT_CLAIM_SHARE, /* publishes sharing and takes the replica's share */
    GRANT_CHECK,       /* takes none: returns earlier leases to repeated requests, and refuses requests that
                          cannot be granted */
};

struct grant_batch {
    struct grant *const *grants;
    size_t count; /* at most GRANT_BATCH_MAX; with GRANT_CLAIM_SHARE it may be 0 */
    enum grant_mode mode;
    struct grant_sharing *sharing; /* GRANT_CLAIM reads replica; NULL with GRANT_CLAIM: other replicas are
                                      ignored */
    bool again; /* it was rolled back before: what limited clients use is locked before it is read */
    /* Set by the batch. */
    bool others_wait;   /* GRANT_CLAIM: requests of other replicas wait, so no account was taken */
    bool locked_unused; /* accounts were locked, so that other claims skipped them, and not used */
};

/*
 * Grants as many of the grants (all GRANT_OPEN) as there are idle accounts, in the order of the array. A
 * request that carries the idempotency key of an existing lease gets that lease. Each request is checked,
 * also when no account is idle. ERR_OK: each grant is done, refused or still open. On error all grants are
 * open again. ERR_OUTCOME_UNKNOWN: leases may have been committed, and the outcome could not be looked up;
 * the caller must refuse the requests. ERR_NOT_REPLICATED: see grant_record_commit. Any other error: nothing
 * of the batch was committed. ERR_GRANTS_SUSPENDED: detail says why.
 */
MUST_CHECK enum err grant_batch_run(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant_batch *batch, struct detail *detail);

#endif
