/* The writing half of a grant transaction: lease rows, the accounts that name them, COMMIT, and the truth
 * about a lost one. */
#ifndef FAIRWAY_GRANT_GRANT_RECORD_H
#define FAIRWAY_GRANT_GRANT_RECORD_H

#include "grant_claim.h"

/* A signed lease on its way into the database. */
struct grant_record_item {
    const struct lease_request *request;
    const struct lease *lease;
};

struct grant_record {
    const struct grant_batch *batch;
    const struct grant_terms *terms;
    const struct grant_record_item *items;
    size_t count;
    const struct public_key *faults; /* accounts whose sealed seeds do not open: they are quarantined */
    size_t fault_count;
};

/*
 * Writes and commits; with GRANT_IN_LINE also who has left the line. Where the connection has a deadline,
 * COMMIT is given up so early that its outcome can still be looked up. ERR_OK: committed, also when that was
 * learnt only afterwards. ERR_OUTCOME_UNKNOWN: the outcome could not be looked up. ERR_NOT_REPLICATED:
 * committed, but perhaps not on the synchronous standby. Any other error: nothing was committed.
 */
MUST_CHECK enum err grant_record_commit(
    struct db *db, const struct grant_record *record, struct detail *detail);

/* Commits only who has left the line. Errors as db_commit. */
MUST_CHECK enum err grant_record_line(struct db *db, const struct grant_batch *batch, struct detail *detail);

#endif
