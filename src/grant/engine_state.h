/* What the threads of the lease engine share: the workers (engine_worker.c), the ticker, and the watch, which
 * calls engine_released (engine.c). Decisions about it are in engine_choice.c. */
#pragma once

#include <pthread.h>

#include "ticket_queue.h"

struct engine_worker {
    struct engine *engine;
    struct db *db;
    pthread_t thread;
};

#define TICKET_KINDS 2

/*
 * While there are enough accounts, each worker takes what waits and claims accounts for it. A claim that
 * leaves requests without an account begins a shortage. In a shortage one worker at a time claims: when
 * accounts may have become idle, soon when it left some to other replicas, and at least every
 * ENGINE_CLAIM_MS, because each claim reports how many requests wait. The other workers check new requests
 * once, so that those that cannot be granted are refused at once. A claim that leaves no request without an
 * account ends the shortage.
 *
 *   enough --requests are left--> short --time, or accounts may be idle--> claim due --a worker--> claiming
 *      ^                            ^                                                                 |
 *      +------- none are left ------+---------------------- requests are left ------------------------+
 */
struct engine {
    struct engine_settings settings;
    pthread_mutex_t mutex;                     /* guards what follows */
    pthread_cond_t work;                       /* wakes the workers */
    struct ticket_queue queue, delayed, bumps; /* the first two are of leases */
    size_t taken;                              /* tickets in running batches */
    uint64_t arrivals;
    uint64_t nobodys, turn; /* what tickets without a client have had; the least of those that wait */
    bool stopping;
    enum ticket_kind last_kind; /* of the batch that was taken last */
    bool is_short;              /* a shortage; these two are about it: */
    bool claiming;              /* a worker claims */
    int64_t claim_at_ms;        /* when the next claim is due; 0: now */
    uint64_t releases;          /* how often accounts may have become idle */
    size_t claimed, pace;       /* accounts since the last release; between releases, of late */
    int64_t replica;            /* the number of this replica in fairway.waiting */
    int64_t replied_ms;         /* when the database last replied to a batch */
    struct engine_outcome outcomes[TICKET_KINDS];

    struct engine_worker *workers;
};

/* A worker's thread, which grants until the engine stops. */
void *engine_worker_run(void *worker);

/* Decides the ticket: it is refused. detail may be NULL. */
void engine_set_refused(struct engine_ticket *ticket, enum err e, const struct detail *detail);

/* Counts what became of a decided ticket, and calls its done. The mutex is not held. */
void engine_done(struct engine_ticket *ticket);

/* Accounts may have become idle: in a shortage, a claim is due. The mutex is held. */
void engine_accounts_released(struct engine *engine);
/* Wakes a worker if any ticket waits. The mutex is held. */
void engine_wake_worker(struct engine *engine);
