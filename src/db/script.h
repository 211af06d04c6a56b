/* SQL text of any number of statements without parameters, by the simple protocol: migrations and tests. */
#ifndef FAIRWAY_DB_SCRIPT_H
#define FAIRWAY_DB_SCRIPT_H

#include "db/db.h"

/* Errors as db_query's; ERR_DATABASE_UNAVAILABLE when it takes longer than timeout_ms. What comes back is
 * dropped. */
MUST_CHECK enum err script_run(struct db *db, const char *text, int timeout_ms, struct detail *detail);

#endif
