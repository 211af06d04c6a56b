/* How long something has been unavailable, for what continues without it after a limit. */
#ifndef FAIRWAY_INGEST_OUTAGE_H
#define FAIRWAY_INGEST_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* {.limit_ms} is no outage yet. */
struct outage {
    int limit_ms;
    int64_t since_ms, last_ms; /* the first and the last note of it; 0: it is over */
};

/*
 * Notes that something is unavailable now. Returns whether it has been for limit_ms. After four times that
 * without a note, the time begins again: a replica that asks only while it leads may have stopped asking long
 * ago.
 */
bool outage_lasts(struct outage *outage, int64_t now_ms);

/* It is available again. */
void outage_end(struct outage *outage);

#endif
