/* The second half of a grant transaction: writes the lease rows and the accounts that refer to them, commits,
 * and looks up the outcome of a COMMIT whose reply was lost. */
#ifndef FAIRWAY_GRANT_GRANT_RECORD_H
#define FAIRWAY_GRANT_GRANT_RECORD_H

#include "idempotency.h"

/* A signed lease to record. */
struct grant_record_item {
    const struct lease_request *request;
    const struct lease *lease;
};

struct grant_record {
    const struct grant_batch *batch;
    int64_t transaction_id;
    struct db_statement after; /* to be run after the leases are recorded; text NULL: none */
    const struct grant_record_item *items;
    size_t count;
    const struct idempotency_tokens *tokens; /* to be recorded as keys; NULL: none */
    const struct public_key *faults; /* accounts whose sealed seeds do not open: they are quarantined */
    size_t fault_count;
};

/*
 * Writes and commits, and reports how many requests of the replica are left (see grant_batch). When the
 * connection has a deadline, COMMIT times out so early that its outcome can still be looked up. ERR_OK:
 * committed, also when only the lookup showed it. ERR_OUTCOME_UNKNOWN: the outcome could not be looked up.
 * ERR_NOT_REPLICATED: committed, but perhaps not on the synchronous standby. Any other error: nothing was
 * committed.
 */
MUST_CHECK enum err grant_record_commit(
    struct db *db, const struct grant_record *record, struct detail *detail);

/* Only reports, if the batch has anything to report, and commits. On any error nothing is lost. */
MUST_CHECK enum err grant_record_waiting(
    struct db *db, const struct grant_batch *batch, struct detail *detail);

#endif
