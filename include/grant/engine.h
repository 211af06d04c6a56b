/*
 * The lease engine: requests queue here, engine threads take all that wait as one batch. First come, first
 * served; a request that finds no idle account waits up to ENGINE_WAIT_MS, woken when a ledger releases
 * accounts. While accounts are short, the replicas share them by how long their requests have waited.
 *
 * Each request has one deadline, set when it is submitted: it is answered within ENGINE_ANSWER_MS, whatever
 * the database does.
 */
#ifndef FAIRWAY_GRANT_ENGINE_H
#define FAIRWAY_GRANT_ENGINE_H

#include "grant/grant.h"

#define ENGINE_WAIT_MS 6000   /* in the queue */
#define ENGINE_ANSWER_MS 6400 /* until the database is done with a batch that was taken in time */
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
    /* The engine's: */
    int64_t arrived_ms;
    uint64_t arrival;      /* the queue's order */
    bool judged;           /* by a batch that could not grant it */
    int64_t not_before_ms; /* its key is being granted elsewhere: when to look again */
    int pause_ms;          /* before that look; grows */
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
/* Answers everything that waits with ERR_SHUTTING_DOWN at once, finishes the batches under way, ends the
 * threads. */
void engine_stop(struct engine *engine);
size_t engine_waiting(struct engine *engine);

#endif
