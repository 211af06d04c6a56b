/* A few threads with a database connection each, for requests that must ask it: HTTP threads never wait. */
#ifndef FAIRWAY_API_WORKERS_H
#define FAIRWAY_API_WORKERS_H

#include "db/db.h"

#define WORKERS_QUEUE_MAX 1024

struct workers;

/* The submitter's memory until run is called, once, on a worker's thread. db is NULL when the workers stop:
 * answer without it. */
struct work {
    void (*run)(struct work *work, struct db *db);
    struct work *next;
};

struct workers *workers_start(const char *database_url, unsigned count);
/* ERR_OVERLOADED or ERR_SHUTTING_DOWN: not taken. */
MUST_CHECK enum err workers_submit(struct workers *workers, struct work *work);
void workers_stop(struct workers *workers);

#endif
