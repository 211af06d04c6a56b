/*
 * The engine grants leases and signs fee bumps: requests wait in a queue for each, and the engine's threads
 * take all that wait in one as a batch. The two queues take turns. So do the clients that wait for leases:
 * the one that has had fewest is next; of a client, first come, first served. A request for a lease that
 * finds no idle account waits for a ledger to release one: up to ENGINE_WAIT_MS, or wait_ms when that is
 * more. While accounts are short, the replicas share them in proportion to their waiting requests (see
 * grant_batch).
 *
 * While a batch runs, new requests are collected for ENGINE_GATHER_MS, so that the next batch has many of
 * them and each costs less. The next worker that is free takes them. A request that comes while none runs is
 * taken at once.
 *
 * Each request has one deadline, set when it is submitted: done is called within ENGINE_ANSWER_MS (or wait_ms
 * and what that has more than ENGINE_WAIT_MS), and soon after ENGINE_WAIT_MS when the database does not
 * reply. The calls of a batch end at the earliest deadline of its requests; when it fails then, and nothing
 * of it was committed, the requests that have time left wait for another batch. So do those with a key when
 * the outcome of its COMMIT is unknown then: by the key the next one finds the lease, as that of an earlier
 * request, or that there is none.
 */
#pragma once

#include "grant/bump.h"

#include "base/deadlines.h"

#define ENGINE_GATHER_MS 3
#define ENGINE_QUEUE_MAX 10000

struct engine;
struct ticket_queue;

/*
 * A request in the queue: the submitter's memory, zeroed before. From engine_submit until done is called, the
 * submitter does not touch it. done is called once, from a thread of the engine or from engine_cancel or
 * engine_stop, without any lock; the state of the grant or bump is GRANT_DONE or GRANT_REFUSED then.
 */
struct engine_ticket {
    enum ticket_kind {
        TICKET_LEASE,
        TICKET_BUMP
    } kind; /* which of these two members is set */
    union {
        struct grant grant;
        struct bump bump;
    };
    void (*done)(struct engine_ticket *ticket);
    int64_t wait_ms; /* of a lease; engine_submit raises it to ENGINE_WAIT_MS */
    size_t ledgers;  /* the engine's, when accounts are short: until one is likely to be idle; 0: not known */
    /* Of a lease: how many its client has had, as if it had always waited. The submitter's memory, the same
     * for each of the client's tickets; NULL: nobody's in particular. From here on the engine's mutex guards
     * all: */
    uint64_t *had;
    struct ticket_queue *queue; /* NULL: not submitted yet, in a batch, or decided */
    bool cancelled;
    bool is_unknown; /* it may have a lease already: only another batch, by its key, says that it has none */
    bool checked;    /* a batch has checked it and had no account for it: it needs no GRANT_CHECK */
    int64_t arrived_ms;
    uint64_t arrival;      /* the queue's order */
    int64_t not_before_ms; /* OPEN_KEY_LOCKED: when to try again */
    int delay_ms;          /* before that attempt; grows */
    struct engine_ticket *next, *previous;
};

struct engine_settings {
    const char *database_url;
    unsigned threads; /* 0: 2 */
    struct grant_settings grant;
    struct keyd *keyd; /* when it is lost, requests are refused; keyd_runs tells the process */
};

struct engine *engine_start(const struct engine_settings *settings);
/* Accounts may have been released: in a shortage, workers claim them. The watch calls this (grant/watch.h).
 */
void engine_released(struct engine *engine);
/*
 * ERR_OVERLOADED, ERR_SHUTTING_DOWN, or ERR_CANCELLED when engine_cancel came first: the ticket was not taken
 * and done is not called. Never blocks.
 */
MUST_CHECK enum err engine_submit(struct engine *engine, struct engine_ticket *ticket);
/*
 * The client has left. A ticket that waits is removed and done is called at once with ERR_CANCELLED, from
 * this function. One that is in a batch is still granted when the batch has an account for it; else it is
 * refused when the batch ends, with ERR_CANCELLED or with the error of the batch. Never blocks.
 *
 * It may run at the same time as engine_submit or done, but not after the ticket has been freed. With
 * http_on_client_gone this holds: http_reply_* waits until the callback has returned, and the ticket is freed
 * after it.
 */
void engine_cancel(struct engine *engine, struct engine_ticket *ticket);
/* What became of the last batches of a kind. Of one that fails by its items each item counts as a batch. One
 * that had none done counts for nothing. */
struct engine_outcome {
    unsigned failures;     /* those in a row that failed */
    int64_t ended_ms;      /* the last one, by clock_ms; 0: none yet */
    int64_t failed_for_ms; /* how long the last one tried, if it failed */
    enum err e;            /* of the last one */
    struct detail detail;
};
struct engine_outcome engine_outcome(struct engine *engine, enum ticket_kind kind);
/*
 * Refuses all that wait with ERR_SHUTTING_DOWN, finishes the running batches and ends the threads. The done
 * of a ticket that engine_cancel removed shortly before may still run in its thread when this returns.
 * Frees the engine.
 */
void engine_stop(struct engine *engine);
