/* The writing half of a grant transaction: lease rows, the accounts that name them, COMMIT, and the truth
 * about a lost one. */
#ifndef FAIRWAY_POOL_RECORD_H
#define FAIRWAY_POOL_RECORD_H

#include "claim.h"

/* A signed lease on its way into the database. */
struct record_item {
    const struct lease_request *request;
    const struct lease *lease;
};

/* An account whose sealed seed keyd could not use: it must not be chosen again. */
struct record_fault {
    struct public_key account;
    const char *reason;
};

struct record {
    const struct grant_batch *batch;
    const struct claim_terms *terms;
    const struct record_item *items;
    size_t count;
    const struct record_fault *faults;
    size_t fault_count;
};

/*
 * Writes and commits; with GRANT_IN_LINE also who has left the line. Where the connection has a deadline,
 * COMMIT is given up so early that its outcome can still be looked up. ERR_OK: committed, also when that was
 * learnt only afterwards. ERR_OUTCOME_UNKNOWN: the outcome could not be looked up. ERR_NOT_REPLICATED:
 * committed, but perhaps not on the synchronous standby. Any other error: nothing was committed.
 */
MUST_CHECK enum err record_commit(struct db *db, const struct record *record, struct detail *detail);

/* Commits only who has left the line. Errors as db_commit. */
MUST_CHECK enum err record_line(struct db *db, const struct grant_batch *batch, struct detail *detail);

#endif
