/* Housekeeping: deletes what is no longer needed, in steps of bounded size. */
#ifndef FAIRWAY_POOL_RETENTION_H
#define FAIRWAY_POOL_RETENTION_H

#include "db/db.h"

#define IDEMPOTENCY_KEY_HOURS 24 /* how long a key is remembered */

enum retention {
    RETENTION_LEASES,  /* deletes leases that have ended, with their fee bumps; age since their end */
    RETENTION_LEDGERS, /* deletes ledgers, but the cursor's; age since their commit */
    RETENTION_KEYS,    /* removes idempotency keys from leases; age since the grant */
};

/*
 * One step and one transaction: changes the oldest rows that are older than keep_seconds, at most limit. How
 * many rows it reads depends on limit alone, not on the size of the tables or the planner's statistics. While
 * another replica runs a step, it changes nothing instead of waiting.
 *
 * db is a DB_DIRECT session outside a transaction. *rows is the number of rows changed (0 on error); fewer
 * than limit: nothing is left to do for now. Errors as db_run; then nothing was changed.
 */
MUST_CHECK enum err retention_step(struct db *db, enum retention what, int64_t keep_seconds, int64_t limit,
    size_t *rows, struct detail *detail);

#endif
