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

/* What a client asks for; decoded and judged by policy_check before it gets here. */
struct lease_request {
    struct envelope envelope; /* its spans point into memory that the owner of the request keeps */
    struct named_accounts named;
    uint32_t timeout_s; /* 0: not given */
    char client[CLIENT_SIZE];
    char request_id[REQUEST_ID_SIZE];
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
    GRANT_OPEN,    /* wants an account */
    GRANT_DONE,    /* lease is set and committed */
    GRANT_REFUSED, /* error and detail say why; no account is held */
};

/* One request on its way through grants. A batch leaves GRANT_OPEN those for which no account was idle. */
struct grant {
    const struct lease_request *request;
    enum grant_state state;
    enum err error;
    struct detail detail;
    struct lease lease;
};

struct grant_settings {
    struct network_id network;
    struct policy_limits limits;
    int64_t max_lease_fee_stroops;
    unsigned ledger_seconds; /* expected between two ledgers */
};

#define GRANT_BATCH_MAX 64

/*
 * Grants as many of the count grants (all GRANT_OPEN, at most GRANT_BATCH_MAX) as there are idle accounts,
 * the first ones first. ERR_OK: each grant is done, refused or still open. Any other error: no grant of the
 * batch is committed and all are open again, or, with ERR_OUTCOME_UNKNOWN, they may be committed and nothing
 * more is known: answer 503. ERR_GRANTS_SUSPENDED: detail says why. ERR_KEYD_UNAVAILABLE: stop the process.
 */
MUST_CHECK enum err lease_grant(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant *const grants[], size_t count, struct detail *detail);

#endif
