/* Deletes what nobody needs any more, in bounded steps between ledgers. */
#ifndef FAIRWAY_INGEST_JANITOR_H
#define FAIRWAY_INGEST_JANITOR_H

#include "db/db.h"

struct janitor {
    int64_t retention_s;
    int64_t due_ms; /* clock_ms() */
};

/* Does one step when it is due; a step that found more than it may delete makes the next one due at once. */
MUST_CHECK enum err janitor_step(struct janitor *janitor, struct db *db, struct detail *detail);

#endif
