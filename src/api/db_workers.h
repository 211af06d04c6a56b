/*
 * A few threads with a database connection each. HTTP threads must not block, so they submit what needs the
 * database here. One more thread watches the deadlines of the work that is still queued; it never waits for
 * the database.
 */
#ifndef FAIRWAY_API_DB_WORKERS_H
#define FAIRWAY_API_DB_WORKERS_H

#include "db/db.h"

#define DB_WORKERS_QUEUE_MAX 1024
#define DB_WORKERS_CLIENT_MAX 512 /* of one client */

struct db_workers;

/* The submitter's memory; it must not touch it from db_workers_submit until run is called. */
struct db_work {
    /*
     * Called once, on a thread of the workers. With ERR_OK, db gives up at deadline_ms. With an error, db is
     * NULL: the deadline passed in the queue (ERR_DATABASE_UNAVAILABLE if the database has completed nothing
     * for a while, else ERR_OVERLOADED), or the workers stop (ERR_SHUTTING_DOWN).
     */
    void (*run)(struct db_work *work, enum err e, struct db *db);
    int64_t deadline_ms; /* by clock_ms; set by the submitter, as is client */
    const char *client;  /* whose work it is; NULL: nobody's in particular */
    struct db_work *next;
    uint64_t turn;
};

/* Starts count workers. Connections open when they are first used. */
struct db_workers *db_workers_start(const char *database_url, unsigned count);
/*
 * Queues the work; never blocks. Clients take turns: the work of one that has little in the queue runs before
 * most of the work of one that has much. ERR_OVERLOADED, ERR_SHUTTING_DOWN: it was not queued, run is not
 * called.
 */
MUST_CHECK enum err db_workers_submit(struct db_workers *workers, struct db_work *work);
/* Ends the queued work with ERR_SHUTTING_DOWN at once, waits for the work that runs, and frees the workers.
 */
void db_workers_stop(struct db_workers *workers);

#endif
