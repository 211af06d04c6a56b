/* Warns when an old snapshot keeps vacuum from removing dead rows: each lease leaves two, and what reads the
 * accounts gets slower with each. */
#ifndef FAIRWAY_INGEST_SNAPSHOT_WATCH_H
#define FAIRWAY_INGEST_SNAPSHOT_WATCH_H

#include "db/db.h"

struct snapshot_watch {
    int64_t next_ms; /* when it looks again */
    int64_t warn_ms; /* when it warns again; 0: at once */
};

/* Looks, at most every ten seconds; else returns ERR_OK at once. */
MUST_CHECK enum err snapshot_watch_step(struct snapshot_watch *watch, struct db *db, struct detail *detail);

#endif
