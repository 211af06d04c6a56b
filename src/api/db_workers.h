/*
 * A few threads with a database connection each. HTTP threads must not block, so they submit what needs the
 * database here. The ticker watches the deadlines of the work that is still queued.
 */
#ifndef FAIRWAY_API_DB_WORKERS_H
#define FAIRWAY_API_DB_WORKERS_H

#include "db/db.h"
#include "fair_queue.h"

#define DB_WORKERS_QUEUE_MAX 1024

struct db_workers;

/* The submitter's memory; it must not touch it from db_workers_submit until run is called. */
struct db_work {
    struct fair_item item; /* first; with the client and the deadline */
    /*
     * Called once, on a thread of the workers or, with an error, of the ticker. With ERR_OK, db gives up at
     * the deadline. With an error, db is NULL: too little time was left, or none (ERR_DATABASE_UNAVAILABLE if
     * the database has completed nothing for a while, else ERR_OVERLOADED), or the workers stop
     * (ERR_SHUTTING_DOWN).
     */
    void (*run)(struct db_work *work, enum err e, struct db *db);
};

/* Starts count workers. Connections open when they are first used. */
struct db_workers *db_workers_start(const char *database_url, unsigned count);
/*
 * Queues the work; never blocks. Clients take turns, and one may fill half of the queue (fair_queue.h).
 * ERR_OVERLOADED, ERR_SHUTTING_DOWN: it was not queued, run is not called.
 */
MUST_CHECK enum err db_workers_submit(struct db_workers *workers, struct db_work *work);
/* Ends the queued work with ERR_SHUTTING_DOWN at once, and waits for the work that runs. */
void db_workers_stop(struct db_workers *workers);
/* After db_workers_stop, when nothing can be submitted any more. NULL is fine. */
void db_workers_free(struct db_workers *workers);

#endif
