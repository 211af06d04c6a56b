/*
 * Granting leases: one database transaction for a batch of requests. It claims idle accounts, has the
 * transactions signed and records the leases. A request whose lease was not committed has changed nothing.
 */
#pragma once

#include "db/db.h"
#include "grant/lease.h"

/*
 * Grants as many of the grants (all GRANT_OPEN) as there are idle accounts, in the order of the array. A
 * request that carries the idempotency key of an existing lease gets that lease. Each request is checked,
 * also when no account is idle. ERR_OK: each grant is done, refused or still open. On error all grants are
 * open again. ERR_OUTCOME_UNKNOWN: leases may have been committed, and the outcome could not be looked up;
 * the caller must refuse the requests without a key. ERR_NOT_REPLICATED: see grant_record_commit. Any other
 * error: nothing of the batch was committed. ERR_GRANTS_SUSPENDED: detail says why.
 */
MUST_CHECK enum err grant_batch_run(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant_batch *batch, struct detail *detail);
