#include "workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct worker {
    struct workers *workers;
    struct db *db;
    pthread_t thread;
};

/* How often deadlines in the queue are looked at. */
#define SWEEP_MS 50
/* A database for which no work has ended for so long counts as unavailable. */
#define SILENCE_MS 1500

struct workers {
    pthread_mutex_t mutex;                /* guards the queue and what says how it goes */
    pthread_cond_t arrived, waiting_some; /* for the workers; for the sweeper */
    struct work *first, *last;
    size_t waiting;
    int64_t ended_ms; /* when a worker last ended a work */
    bool stopping;
    unsigned count;
    struct worker *threads;
    pthread_t sweeper;
};

/* The first of the queue, which is not empty. */
static struct work *take_first(struct workers *workers)
{
    struct work *work = workers->first;
    workers->first = work->next;
    workers->waiting--;
    return work;
}

static struct work *take(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    while (workers->first == NULL && !workers->stopping)
        pthread_cond_wait(&workers->arrived, &workers->mutex);
    struct work *work = workers->stopping ? NULL : take_first(workers);
    pthread_mutex_unlock(&workers->mutex);
    return work;
}

static void *run(void *context)
{
    struct worker *worker = context;
    struct workers *workers = worker->workers;
    for (struct work *work; (work = take(workers)) != NULL;) {
        db_set_deadline(worker->db, work->deadline_ms);
        work->run(work, ERR_OK, worker->db);
        pthread_mutex_lock(&workers->mutex);
        workers->ended_ms = clock_ms();
        pthread_mutex_unlock(&workers->mutex);
    }
    return NULL;
}

/* Takes out those whose deadline has passed, as a list. The mutex is held. */
static struct work *take_late(struct workers *workers, int64_t now_ms)
{
    struct work *late = NULL, **end = &late, **at = &workers->first;
    workers->last = NULL;
    while (*at != NULL) {
        struct work *work = *at;
        if (work->deadline_ms > now_ms) {
            workers->last = work;
            at = &work->next;
            continue;
        }
        *at = work->next;
        workers->waiting--;
        work->next = NULL;
        *end = work;
        end = &work->next;
    }
    return late;
}

static void end_all(struct work *list, enum err e)
{
    for (struct work *work = list, *next; work != NULL; work = next) {
        next = work->next;
        work->run(work, e, NULL);
    }
}

static void *sweep(void *context)
{
    struct workers *workers = context;
    pthread_mutex_lock(&workers->mutex);
    while (!workers->stopping) {
        const int64_t now_ms = clock_ms();
        const struct timespec next = clock_timespec(now_ms + SWEEP_MS);
        if (workers->first == NULL) {
            pthread_cond_wait(&workers->waiting_some, &workers->mutex);
            continue;
        }
        pthread_cond_timedwait(&workers->waiting_some, &workers->mutex, &next);
        struct work *late = take_late(workers, clock_ms());
        const bool silent = clock_ms() - workers->ended_ms > SILENCE_MS;
        pthread_mutex_unlock(&workers->mutex);
        end_all(late, silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED);
        pthread_mutex_lock(&workers->mutex);
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

static void start_thread(pthread_t *thread, void *(*body)(void *), void *context)
{
    if (pthread_create(thread, NULL, body, context) != 0)
        log_fatal(EX_OSERR, "cannot create a thread", NULL);
}

struct workers *workers_start(const char *database_url, unsigned count)
{
    struct workers *workers = NEW(struct workers);
    pthread_condattr_t monotonic;
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&workers->arrived, &monotonic);
    pthread_cond_init(&workers->waiting_some, &monotonic);
    pthread_condattr_destroy(&monotonic);
    workers->count = count;
    workers->ended_ms = clock_ms();
    workers->threads = NEW_ARRAY(count, struct worker);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        worker->db =
            db_new(&(struct db_settings){.url = database_url, .kind = DB_POOLED, .name = "fairway api"});
        start_thread(&worker->thread, run, worker);
    }
    start_thread(&workers->sweeper, sweep, workers);
    return workers;
}

enum err workers_submit(struct workers *workers, struct work *work)
{
    work->next = NULL;
    pthread_mutex_lock(&workers->mutex);
    enum err e = workers->stopping                       ? ERR_SHUTTING_DOWN
                 : workers->waiting >= WORKERS_QUEUE_MAX ? ERR_OVERLOADED
                                                         : ERR_OK;
    if (e == ERR_OK) {
        if (workers->first == NULL)
            workers->first = work;
        else
            workers->last->next = work;
        workers->last = work;
        workers->waiting++;
        pthread_cond_signal(&workers->arrived);
        if (workers->waiting == 1)
            pthread_cond_signal(&workers->waiting_some);
    }
    pthread_mutex_unlock(&workers->mutex);
    return e;
}

void workers_stop(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    struct work *rest = workers->first;
    workers->first = workers->last = NULL;
    pthread_cond_broadcast(&workers->arrived);
    pthread_cond_signal(&workers->waiting_some);
    pthread_mutex_unlock(&workers->mutex);
    end_all(rest, ERR_SHUTTING_DOWN);
    pthread_join(workers->sweeper, NULL);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        db_free(workers->threads[i].db);
    }
    pthread_cond_destroy(&workers->arrived);
    pthread_cond_destroy(&workers->waiting_some);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
