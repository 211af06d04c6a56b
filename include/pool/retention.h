/* Housekeeping: makes partitions for the days to come, and removes what is no longer needed, in short steps.
 */
#pragma once

#include "db/db.h"

enum retention {
    RETENTION_PARTITIONS, /* makes the partitions of the next RETENTION_DAYS_AHEAD days */
    RETENTION_HISTORY,    /* drops the leases of whole days, with their results and fee bumps, and the
                             idempotency keys of the days before yesterday; age since the grant */
    RETENTION_LEDGERS,    /* deletes ledgers, but the cursor's; age since their commit */
    RETENTION_FORGET,     /* deletes reports of waiting requests, and claims, that no longer count */
    RETENTION_KINDS
};

#define RETENTION_DAYS_AHEAD 7

/*
 * One step and one transaction. RETENTION_PARTITIONS extends the partitions by one day. RETENTION_HISTORY
 * drops one day: nothing of it is younger than keep_seconds, and no lease of it is open. RETENTION_LEDGERS
 * and RETENTION_FORGET delete at most limit rows of a table. How much a step reads does not depend on the
 * size of the tables or the planner's statistics. While another replica runs a step, it changes nothing
 * instead of waiting.
 *
 * db is a session outside a transaction. *changed is the number of tables made or dropped, or of
 * rows deleted or changed (0 on error). Nothing is left to do for now when it is 0 or, for those two,
 * less than limit. Errors as db_run; then nothing was changed. A table is dropped under a lock that excludes
 * all its users, and grants queue behind the step that waits for it: the session's lock_timeout must be
 * short.
 */
MUST_CHECK enum err retention_step(struct db *db, enum retention what, int64_t keep_seconds, int64_t limit,
    size_t *changed, struct detail *detail);
