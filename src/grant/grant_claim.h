/* The reading half of a grant transaction: may we grant, what time is it, which requests are retries, which
 * accounts are idle, who is in the pool. */
#ifndef FAIRWAY_GRANT_GRANT_CLAIM_H
#define FAIRWAY_GRANT_GRANT_CLAIM_H

#include "batch_keys.h"
#include "grant/grant.h"

/* What holds for the whole batch, read in its transaction. */
struct grant_terms {
    struct grants_time time;
    int64_t transaction_id;    /* for pg_xact_status, should the COMMIT stay without an answer */
    int64_t spendable_stroops; /* of the distribution account, or FUNDS_NOT_KNOWN */
};

/* An idle account, locked FOR UPDATE until the transaction ends: not using it is all that giving it back
 * takes. */
struct claimed_account {
    struct public_key key;
    int64_t sequence, sequence_ledger;
    struct sealed_seed sealed;
};

/* What a batch asks for, and what it gets. */
struct grant_claim {
    const struct grant_settings *settings;
    struct grant_batch *batch; /* its mode and line */
    size_t wanted;             /* accounts */
    const char *const *named;  /* addresses */
    size_t named_count;
    struct batch_keys *keys;
    struct grant_terms terms;
    bool *members;                    /* room for named_count: which of the named are in the pool */
    struct claimed_account *accounts; /* room for wanted */
    size_t claimed;
};

/*
 * Begins the transaction, locks the idempotency keys and reads what they took before, and locks up to wanted
 * idle accounts, from a random one on, as the batch's mode says. ERR_GRANTS_SUSPENDED: detail says why. On
 * error the transaction is rolled back.
 */
MUST_CHECK enum err grant_claim_begin(struct db *db, struct grant_claim *claim, struct detail *detail);

#endif
