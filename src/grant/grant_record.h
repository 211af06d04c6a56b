/* The second half of a grant transaction: writes the lease rows and the accounts that refer to them, commits,
 * and looks up the outcome of a COMMIT whose reply was lost. */
#pragma once

#include "idempotency.h"
#include "lease_claims.h"

/* A signed lease to record. */
struct grant_record_item {
    struct grant *grant;  /* granted_us of its lease is set */
    int64_t open_max;     /* how many open leases its client may have; 0: as many as it likes */
    int64_t contract_max; /* how many of them may call the request's contract; 0: as many as it likes */
};

struct grant_record {
    const struct grant_batch *batch;
    int64_t transaction_id;
    struct grant_record_item *items;
    size_t count;
    const struct lease_claims *claims; /* of the batch */
    const struct public_key *faults;   /* accounts whose sealed seeds do not open: they are quarantined */
    size_t fault_count;
};

/*
 * Writes and commits, and reports how many requests of the replica are left (see grant_batch). When the
 * connection has a deadline, COMMIT times out so early that its outcome can still be looked up. ERR_OK: all
 * items are committed, also when only the lookup showed it. ERR_OUTCOME_UNKNOWN: the outcome could not be
 * looked up. ERR_NOT_REPLICATED: committed, but perhaps not on the synchronous standby. Any other error:
 * nothing was committed; ERR_SERIALIZATION: also when another batch has used what a limit left, or has
 * leased a claim, since this one began. It refuses that when it runs again.
 */
MUST_CHECK enum err grant_record_commit(
    struct db *db, const struct grant_record *record, struct detail *detail);

/* Only reports, if the batch has anything to report, and commits. On any error nothing is lost. */
MUST_CHECK enum err grant_record_waiting(
    struct db *db, const struct grant_batch *batch, struct detail *detail);
