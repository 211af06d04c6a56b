/* A few threads with a database connection each, for requests that must ask it: HTTP threads never wait. One
 * thread more watches the deadlines of those that wait for a worker; it never waits for the database. */
#ifndef FAIRWAY_API_WORKERS_H
#define FAIRWAY_API_WORKERS_H

#include "db/db.h"

#define WORKERS_QUEUE_MAX 1024

struct workers;

/* The submitter's memory until run is called, once, on a thread of the workers. */
struct work {
    /*
     * e is ERR_OK, and db gives up at deadline_ms; or why there is no database to ask: at deadline_ms
     * ERR_OVERLOADED, or ERR_DATABASE_UNAVAILABLE when it has answered nothing for a while;
     * ERR_SHUTTING_DOWN.
     */
    void (*run)(struct work *work, enum err e, struct db *db);
    int64_t deadline_ms; /* clock_ms; set by the submitter */
    struct work *next;
};

struct workers *workers_start(const char *database_url, unsigned count);
/* ERR_OVERLOADED or ERR_SHUTTING_DOWN: not taken, run is not called. Never blocks. */
MUST_CHECK enum err workers_submit(struct workers *workers, struct work *work);
/* Answers what waits with ERR_SHUTTING_DOWN at once, and finishes what has been begun. */
void workers_stop(struct workers *workers);

#endif
