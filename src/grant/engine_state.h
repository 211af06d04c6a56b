/* What the threads of the lease engine share: the workers (engine_worker.c, engine_batch.c, engine_choice.c),
 * the deadline thread and the listener for released accounts (engine_threads.c). */
#ifndef FAIRWAY_GRANT_ENGINE_STATE_H
#define FAIRWAY_GRANT_ENGINE_STATE_H

#include <pthread.h>

#include "ticket_queue.h"

struct engine_worker {
    struct engine *engine;
    struct db *db;
    pthread_t thread;
};

/*
 * While there are enough accounts, each worker takes what waits and claims accounts for it. A claim that
 * finds fewer idle accounts than it has requests begins a shortage. In a shortage one worker at a time
 * claims, and only this replica's share of the idle accounts. It claims when accounts may have become idle:
 * when a ledger was committed, when a batch gave accounts back, and at least every ENGINE_SHARE_MS. The other
 * workers only check new requests, so that those that cannot be granted are refused at once. Idle accounts
 * that were the share of another replica are tried again soon (`reclaim_ms`): that replica may have stopped.
 * A claim is also planned for new requests, because it publishes them.
 * The shortage ends when nothing waits, or when many more accounts are idle than requests wait. It does not
 * end while some replica has more requests than it publishes.
 *
 *   ENOUGH --a claim finds too few--> CLAIM_DUE --a worker takes it--> CLAIMING --it ends--> SHORT or ENOUGH
 *                                       ^   ^                             |
 *        SHORT --accounts may be idle---+   |                             | accounts may be idle
 *                                           |                             v
 *                                           +---------it ends-------- CLAIMING_DUE
 */
enum engine_accounts {
    ACCOUNTS_ENOUGH,
    ACCOUNTS_SHORT,       /* a claim would find none */
    ACCOUNTS_CLAIM_DUE,   /* some may have become idle */
    ACCOUNTS_CLAIMING,    /* a worker claims the share */
    ACCOUNTS_CLAIMING_DUE /* the same, and more may have become idle since it began */
};

#define TICKET_KINDS 2

struct engine {
    struct engine_settings settings;
    pthread_mutex_t mutex;                     /* guards what follows */
    pthread_cond_t work;                       /* wakes the workers */
    pthread_cond_t deadlines;                  /* wakes the deadline thread */
    int64_t deadline_check_ms;                 /* when the deadline thread wakes by itself */
    struct ticket_queue queue, delayed, bumps; /* the first two are of leases */
    size_t taken;                              /* tickets in running batches */
    uint64_t arrivals;
    bool stopping;
    enum ticket_kind last_kind; /* of the batch that was taken last */
    enum engine_accounts accounts;
    int64_t reclaim_ms; /* when ACCOUNTS_SHORT becomes ACCOUNTS_CLAIM_DUE; 0: not planned */
    int reclaim_delay_ms;
    int64_t turns_ms[ENGINE_QUEUE_MAX]; /* of the requests of the last GRANT_CLAIM_SHARE, in order */
    uint64_t claims;                    /* how many GRANT_CLAIM_SHARE have begun */
    int64_t replica;                    /* the number of this replica in fairway.waiting */
    size_t published;   /* requests in this replica's row of fairway.waiting, as far as is known */
    int64_t replied_ms; /* when the database last replied to a batch */
    enum err last_error[TICKET_KINDS]; /* of a batch */

    int wake_fd; /* ends the listener's wait */
    struct db *listener_db;
    pthread_t listener_thread, deadline_thread;
    struct engine_worker *workers;
};

/* How often a replica publishes that its requests still wait. fairway.share_of_idle ignores rows older than
 * 2 s. */
#define ENGINE_SHARE_MS 500

/* The threads; each runs until the engine stops. A worker grants; the listener wakes the workers when
 * accounts may have become idle; the deadline thread refuses tickets that have waited too long, and never
 * waits for the database. */
void *engine_worker_run(void *worker);
void *engine_listen(void *engine);
void *engine_watch_deadlines(void *engine);

/* Returns a random number for engine.replica. */
int64_t engine_replica_number(void);

/* Refuses the ticket, which is in no queue of the engine any more, and calls its done. detail may be NULL.
 * The mutex is not held. */
void engine_refuse(struct engine_ticket *ticket, enum err e, const struct detail *detail);
/* The same for all tickets of a list that only the caller has. */
void engine_refuse_all(struct ticket_queue *tickets, enum err e, const struct detail *detail);

/* After tickets were put back: wakes the deadline thread if one has a deadline that is earlier than it
 * expects. The mutex is held. */
void engine_deadline_changed(struct engine *engine);

#endif
