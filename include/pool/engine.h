/*
 * The lease engine: requests queue here, engine threads take all that wait as one batch. First come, first
 * served; a request that finds no idle account waits up to ENGINE_WAIT_MS in all, woken when a ledger
 * releases accounts.
 */
#ifndef FAIRWAY_POOL_ENGINE_H
#define FAIRWAY_POOL_ENGINE_H

#include "pool/lease.h"

#define ENGINE_WAIT_MS 6000
#define ENGINE_QUEUE_MAX 10000

struct engine;

/*
 * A request in the queue; the submitter's memory, untouched by it from engine_submit until done is called
 * (from an engine thread, once; grant.state is GRANT_DONE or GRANT_REFUSED). gone tells whether the client
 * has hung up; such a request leaves the queue with ERR_CANCELLED.
 */
struct engine_ticket {
    struct grant grant;
    void (*done)(struct engine_ticket *ticket);
    bool (*gone)(struct engine_ticket *ticket);
    int64_t deadline_ms;
    uint64_t arrival; /* the queue's order */
    struct engine_ticket *next;
};

struct engine_settings {
    const char *database_url;        /* may lead through a transaction pooler */
    const char *database_direct_url; /* for LISTEN */
    unsigned threads;                /* 0: 2 */
    struct grant_settings grant;
    struct keyd *keyd;
    void (*fatal)(enum err e); /* keyd is gone: called once, from an engine thread */
};

MUST_CHECK enum err engine_start(
    const struct engine_settings *settings, struct engine **out, struct detail *detail);
/* ERR_OVERLOADED or ERR_SHUTTING_DOWN: the ticket was not taken and done is not called. Never blocks. */
MUST_CHECK enum err engine_submit(struct engine *engine, struct engine_ticket *ticket);
/* Answers everything that waits with ERR_SHUTTING_DOWN, finishes the batches under way, ends the threads. */
void engine_stop(struct engine *engine);
size_t engine_waiting(struct engine *engine);

#endif
