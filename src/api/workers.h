/*
 * A few threads with a session of the database each, or with a client of Stellar RPC each. HTTP threads must
 * not block, so they submit here what needs one of them. The ticker ends jobs that are still queued at their
 * deadline, and a job that has begun takes no longer than its deadline, or than a call of the RPC
 * (RPC_WORKERS_CALL_MS; more than one only where rpc.h says that it retries). So every job is done within
 * seconds, even if the database or the RPC never answers.
 */
#ifndef FAIRWAY_API_WORKERS_H
#define FAIRWAY_API_WORKERS_H

#include "db/db.h"
#include "fair_queue.h"
#include "rpc/rpc.h"

#define DB_WORKERS_QUEUE_MAX 1024
#define RPC_WORKERS_QUEUE_MAX 128

/* Simulations have a queue of their own. Of threads that ask the RPC, each queue leaves a quarter, at least
 * one, to the other: neither waits for the other. */
enum worker_queue {
    WORKER_READS,
    WORKER_SIMULATIONS,
    WORKER_QUEUES
};

/* What a worker asks. */
struct worker_session {
    struct db *db;   /* NULL: of workers that ask the RPC */
    struct rpc *rpc; /* NULL: of others */
};

/* The submitter's memory; it must not touch it from workers_submit until run is called. */
struct worker_job {
    struct fair_item item; /* first; with the client and the deadline */
    enum worker_queue queue;
    /*
     * Called once, on a thread of the workers or, with an error, of the ticker. With ERR_OK, it may query the
     * database, which gives up at the deadline, or make one call of the RPC. With an error, session is NULL:
     * too little time was left, or none (ERR_DATABASE_UNAVAILABLE if the database has completed nothing for a
     * while, else ERR_OVERLOADED), or the workers stop (ERR_SHUTTING_DOWN).
     */
    void (*run)(struct worker_job *job, enum err e, const struct worker_session *session);
};

struct workers;

/* Starts count workers. Connections open when they are first used. */
struct workers *workers_start_db(const char *url, unsigned count);
struct workers *workers_start_rpc(const char *url, unsigned count);
/*
 * Queues the job; never blocks. Clients take turns, and one may fill half of a queue (fair_queue.h).
 * ERR_OVERLOADED, ERR_SHUTTING_DOWN: it was not queued, run is not called.
 */
MUST_CHECK enum err workers_submit(struct workers *workers, struct worker_job *job);
/* Ends queued jobs with ERR_SHUTTING_DOWN at once, cancels calls of the RPC, and waits for jobs that run. */
void workers_stop(struct workers *workers); /* NULL is fine */
/* After workers_stop, when nothing can be submitted any more. NULL is fine. */
void workers_free(struct workers *workers);

#endif
