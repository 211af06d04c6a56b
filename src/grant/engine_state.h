/* What the threads of the lease engine share: workers (worker.c), and those that watch deadlines and listen
 * for releases (engine.c). */
#ifndef FAIRWAY_GRANT_ENGINE_STATE_H
#define FAIRWAY_GRANT_ENGINE_STATE_H

#include <pthread.h>

#include "ticket_queue.h"

struct worker {
    struct engine *engine;
    struct db *db;
    pthread_t thread;
};

/*
 * While accounts are plentiful, each worker takes what waits and claims accounts for it. A claim that comes
 * short begins a shortage: from then on one worker at a time claims, in line with the other replicas, when
 * accounts may have become idle (claim_due) and at least every ENGINE_LINE_MS; the others only judge requests
 * that are new. The shortage ends when nothing waits, or when many more accounts are idle than requests wait.
 */
struct engine {
    struct engine_settings settings;
    pthread_mutex_t mutex;        /* guards what follows */
    pthread_cond_t work, waiting; /* for the workers; for the sweeper, while it idles */
    struct queue queue, delayed;  /* delayed: until their not_before_ms */
    size_t taken;                 /* in batches that are under way */
    bool stopping, sweeper_idles, keyd_lost;
    bool shortage, claim_due, claiming;
    int64_t replica;    /* this replica's number in line */
    size_t published;   /* requests in its row, as far as is known */
    int64_t recheck_ms; /* accounts are idle that this replica did not get: when to look again; 0: none */
    int recheck_pause_ms;
    uint64_t arrivals;
    int64_t answered_ms; /* when the database last answered a batch */
    enum err last_error;

    int wake_fd; /* ends the listener's wait */
    struct db *listener_db;
    pthread_t listener, sweeper;
    struct worker *workers;
};

/* How often a replica says that its requests still wait; fairway.waiting forgets it after 2 s. */
#define ENGINE_LINE_MS 500

/* A worker's thread: grants until the engine stops. */
void *worker_run(void *worker);

/* A random number: no other replica has it. */
int64_t engine_replica_number(void);

/* Answers the ticket: calls its done. */
void engine_refuse(struct engine_ticket *ticket, enum err e, const struct detail *detail);

#endif
