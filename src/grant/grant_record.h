/* The second half of a grant transaction: writes the lease rows and the accounts that refer to them, commits,
 * and looks up the outcome of a COMMIT whose reply was lost. */
#ifndef FAIRWAY_GRANT_GRANT_RECORD_H
#define FAIRWAY_GRANT_GRANT_RECORD_H

#include "grant_claim.h"

/* A signed lease to record. */
struct grant_record_item {
    const struct lease_request *request;
    const struct lease *lease;
};

struct grant_record {
    const struct grant_batch *batch;
    const struct grant_terms *terms;
    struct db_statement after; /* to be run after the leases are recorded; text NULL: none */
    const struct grant_record_item *items;
    size_t count;
    const struct idempotency_tokens *tokens; /* to be recorded as keys; NULL: none */
    const struct public_key *faults; /* accounts whose sealed seeds do not open: they are quarantined */
    size_t fault_count;
};

/*
 * Writes and commits; with GRANT_CLAIM_SHARE it also removes the decided requests from the replica's row of
 * fairway.waiting. When the connection has a deadline, COMMIT times out so early that its outcome can still
 * be looked up. ERR_OK: committed, also when only the lookup showed it. ERR_OUTCOME_UNKNOWN: the outcome
 * could not be looked up. ERR_NOT_REPLICATED: committed, but perhaps not on the synchronous standby.
 * Any other error: nothing was committed.
 */
MUST_CHECK enum err grant_record_commit(
    struct db *db, const struct grant_record *record, struct detail *detail);

/* Only removes the decided requests from the row, and commits. Errors as db_commit. */
MUST_CHECK enum err grant_record_sharing(
    struct db *db, const struct grant_batch *batch, struct detail *detail);

#endif
