/* A few threads with a database connection each, for requests that must ask it: HTTP threads never wait. */
#ifndef FAIRWAY_API_WORKERS_H
#define FAIRWAY_API_WORKERS_H

#include "db/db.h"

#define WORKERS_QUEUE_MAX 1024
/* In the queue. What a worker has begun takes as long as the database lets it (db.h). */
#define WORKERS_WAIT_MS 5000

struct workers;

/* The submitter's memory until run is called, once, on a worker's thread. */
struct work {
    /* e is ERR_OK, or why there is no database to ask: ERR_OVERLOADED after WORKERS_WAIT_MS,
     * ERR_SHUTTING_DOWN. */
    void (*run)(struct work *work, enum err e, struct db *db);
    int64_t deadline_ms;
    struct work *next;
};

struct workers *workers_start(const char *database_url, unsigned count);
/* ERR_OVERLOADED or ERR_SHUTTING_DOWN: not taken, run is not called. Never blocks. */
MUST_CHECK enum err workers_submit(struct workers *workers, struct work *work);
/* Finishes what has been begun and answers the rest with ERR_SHUTTING_DOWN. */
void workers_stop(struct workers *workers);

#endif
