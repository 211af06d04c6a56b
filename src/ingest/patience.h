/* How long something may be missing before ingestion continues without it. */
#ifndef FAIRWAY_INGEST_PATIENCE_H
#define FAIRWAY_INGEST_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* {.limit_ms} is one that misses nothing. */
struct patience {
    int limit_ms;
    int64_t since_ms, last_ms; /* the first and the last note that it is missing; 0: it is not */
};

/*
 * Notes that it is missing. Returns whether it has been missing for limit_ms. After four times that without a
 * call, the time begins again: a replica that asks only while it leads may have stopped asking long ago.
 */
bool patience_ended(struct patience *patience, int64_t now_ms);

/* It is there. */
void patience_restore(struct patience *patience);

#endif
