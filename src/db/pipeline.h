/* Several statements in one round trip over an open connection (libpq's pipeline mode). */
#ifndef FAIRWAY_DB_PIPELINE_H
#define FAIRWAY_DB_PIPELINE_H

#include "connection.h"

struct pipeline_answers {
    struct db_rows **rows; /* one a statement, NULL from the first error on; or NULL when none is wanted */
    bool unanswered; /* the connection was lost before all was answered: what was sent may have happened */
};

/*
 * Sends all, ends them with one Sync, and reads all answers. Statements behind a failed one are not run;
 * outside an explicit transaction all of them are one transaction.
 */
MUST_CHECK enum err pipeline_run(struct db *db, const struct db_statement statements[], size_t count,
    struct pipeline_answers *answers, struct detail *detail);

#endif
