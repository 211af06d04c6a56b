/*
 * A few threads with a client of Stellar RPC each, for what has to be known before a request goes to the
 * engine. HTTP threads must not block, so they submit it here. The time is bounded: work that has waited
 * RPC_WORKERS_WAIT_MS is not begun, and no HTTP request takes longer than RPC_WORKERS_CALL_MS (a call makes
 * more than one only where rpc.h says that it retries). So every work is done within seconds, even if the RPC
 * never answers.
 */
#ifndef FAIRWAY_API_RPC_WORKERS_H
#define FAIRWAY_API_RPC_WORKERS_H

#include "fair_queue.h"
#include "rpc/rpc.h"

#define RPC_WORKERS_QUEUE_MAX 128 /* of each kind */

/* Each kind has a queue of its own, and leaves a quarter of the threads, at least one, to the other: neither
 * waits for the other. */
enum rpc_work_kind {
    RPC_WORK_READ,
    RPC_WORK_SIMULATION,
    RPC_WORK_KINDS
};

struct rpc_workers;

/* The submitter's memory; it must not touch it from rpc_workers_submit until run is called. */
struct rpc_work {
    struct fair_item item; /* first; with the client. The deadline is set by rpc_workers_submit */
    /*
     * Called once, on a thread of the workers. With ERR_OK it may make one call with rpc. With an error, rpc
     * is NULL: the work has waited too long (ERR_OVERLOADED), or the workers stop (ERR_SHUTTING_DOWN).
     */
    void (*run)(struct rpc_work *work, enum err e, struct rpc *rpc);
    enum rpc_work_kind kind;
    const char *request_id; /* the call carries it */
    void *context;          /* the submitter's */
};

/* Starts count threads (0: 8). */
struct rpc_workers *rpc_workers_start(const char *url, unsigned count);
/* Queues the work; never blocks. Clients take turns, and one may fill half of a queue (fair_queue.h).
 * ERR_OVERLOADED, ERR_SHUTTING_DOWN: it was not queued, run is not called. */
MUST_CHECK enum err rpc_workers_submit(struct rpc_workers *workers, struct rpc_work *work);
/* Cancels running calls, ends the queued work with ERR_SHUTTING_DOWN, and frees the workers. */
void rpc_workers_stop(struct rpc_workers *workers);

#endif
