/*
 * Housekeeping: deletes what nobody needs any more, in bounded steps. Each function is one step and one
 * transaction. It reads a number of rows that depends on limit alone, not on how much there is or was, and
 * whatever the planner's statistics say. It never waits for another replica's step: then it does nothing.
 *
 * db is a DB_DIRECT session outside a transaction. *rows (0 on error) says how many rows were changed; fewer
 * than limit: that was all for now. Errors as db_run; nothing was changed then.
 */
#ifndef FAIRWAY_POOL_RETENTION_H
#define FAIRWAY_POOL_RETENTION_H

#include "db/db.h"

#define IDEMPOTENCY_KEY_HOURS 24 /* how long a key is remembered */

/* Deletes the oldest of the leases that were settled more than keep_seconds ago, with their fee bumps. */
MUST_CHECK enum err retention_delete_leases(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail);

/* Deletes the oldest of the ledgers that were committed more than keep_seconds ago; the cursor's one stays.
 */
MUST_CHECK enum err retention_delete_ledgers(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail);

/* Removes the idempotency keys from the oldest of the leases that were granted more than keep_seconds ago. */
MUST_CHECK enum err retention_remove_keys(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail);

#endif
