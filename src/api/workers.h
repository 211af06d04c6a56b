/*
 * A few threads with a session of the database each. HTTP threads must not block, and the loop that asks the
 * RPC must not decode (rpc/loop.h), so they submit here what queries the database, and what reads an answer
 * of the RPC. The ticker ends jobs that are still queued at their deadline, and a job that has begun takes no
 * longer than its deadline. So every job is done within seconds, even if the database never answers.
 */
#pragma once

#include "db/db.h"
#include "base/fair_queue.h"

#define WORKERS_QUEUE_MAX 1024

/* Each queue leaves a thread to the other, so that answers do not wait for a database that hangs. */
enum worker_queue {
    WORKER_READS,
    WORKER_ANSWERS, /* of the RPC */
    WORKER_QUEUES
};

/* The submitter's memory; it must not touch it from workers_submit until run is called. */
struct worker_job {
    struct fair_item item; /* first; with the client and the deadline */
    enum worker_queue queue;
    /*
     * Called once, on a thread of the workers or, with an error, of the ticker. With ERR_OK, it may query the
     * database, which gives up at the deadline. With an error, db is NULL: too little time was left, or none
     * (ERR_DATABASE_UNAVAILABLE if the database has completed nothing for a while, else ERR_OVERLOADED), or
     * the workers stop (ERR_SHUTTING_DOWN).
     */
    void (*run)(struct worker_job *job, enum err e, struct db *db);
};

struct workers;

/* Starts count workers. Connections open when they are first used. */
struct workers *workers_start(const char *database_url, unsigned count);
/*
 * Queues the job; never blocks. Clients take turns, and one may fill half of a queue (fair_queue.h).
 * ERR_OVERLOADED, ERR_SHUTTING_DOWN: it was not queued, run is not called.
 */
MUST_CHECK enum err workers_submit(struct workers *workers, struct worker_job *job);
/* Ends queued jobs with ERR_SHUTTING_DOWN at once, and waits for jobs that run. */
void workers_stop(struct workers *workers);
/* After workers_stop, when nothing can be submitted any more. */
void workers_free(struct workers *workers);
