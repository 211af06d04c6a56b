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

/*
 * Writes and commits. ERR_OK: committed, also when that was learnt only afterwards. ERR_OUTCOME_UNKNOWN:
 * nobody could be asked. ERR_NOT_REPLICATED: committed, but perhaps not on the synchronous standby. Any other
 * error: nothing was committed.
 */
MUST_CHECK enum err record_commit(struct db *db, const struct claim_terms *terms,
    const struct record_item items[], size_t count, const struct record_fault faults[], size_t fault_count,
    struct detail *detail);

#endif
