/* Several statements in one round trip over an open connection (libpq's pipeline mode). */
#pragma once

#include "connection.h"

struct pipeline_results {
    struct db_rows **rows; /* one for each statement, NULL from the first error on; may be NULL */
    bool incomplete;       /* the connection was lost before all results came: the statements may have run */
};

/* Sends the statements and one Sync, and reads all results. Statements after a failed one do not run. Outside
 * an explicit transaction they are one transaction. */
MUST_CHECK enum err pipeline_run(struct db *db, const struct db_statement statements[], size_t count,
    struct pipeline_results *results, struct detail *detail);
