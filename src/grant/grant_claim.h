/* The first half of a grant transaction: reads whether grants are allowed, the present time, earlier leases
 * of the idempotency keys and which named accounts are in the pool, and locks idle accounts. */
#pragma once

#include "idempotency.h"
#include "lease_bids.h"
#include "lease_claims.h"
#include "grant/lease.h"
#include "limits/usage.h"
#include "pool/account_read.h"

/* What all requests of the batch are checked against, read in its transaction by this statement. */
extern const char grant_terms_sql[];
struct grant_terms {
    struct grants_time time;
    int64_t transaction_id;    /* for pg_xact_status, when the reply to COMMIT is lost */
    int64_t spendable_stroops; /* of the distribution account, or FUNDS_NOT_KNOWN */
};

/* Input and result of grant_claim_begin. */
struct grant_claim {
    const struct grant_settings *settings;
    struct grant_batch *batch;
    size_t wanted;            /* accounts */
    const char *const *named; /* addresses */
    size_t named_count;
    struct idempotency_keys *keys;
    struct lease_claims *claims;
    struct usage *usage;
    struct lease_bids *bids;
    struct grant_terms terms;
    bool *members; /* room for named_count; set: which of the named are in the pool */
    /* Room for wanted; set: idle accounts, locked FOR UPDATE until the transaction ends. An unused one stays
     * idle. */
    struct account_source *accounts;
    size_t claimed;
};

/*
 * Begins the transaction, locks the idempotency keys, reads which leases they and the claims have, and with
 * GRANT_CLAIM locks up to wanted idle accounts in random order. Sets claimed, idle and share of the batch.
 * ERR_GRANTS_SUSPENDED: detail says why. On error the transaction is rolled back.
 */
MUST_CHECK enum err grant_claim_begin(struct db *db, struct grant_claim *claim, struct detail *detail);
