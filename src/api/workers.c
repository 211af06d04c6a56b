/* Threads that ask the database or the RPC for requests. Every request has an answer by its deadline. */
#include "workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/thread.h"
#include "base/ticker.h"

/* A simulation returns the events and changes of the transaction. */
#define RPC_ANSWER_MAX ((size_t)8 << 20)

struct worker {
    struct workers *workers;
    struct worker_session session;
    pthread_t thread;
};

struct queue {
    struct fair_queue waiting;
    unsigned running;
};

struct workers {
    pthread_mutex_t mutex;  /* guards the members down to stopping */
    pthread_cond_t arrived; /* wakes the workers */
    struct queue queues[WORKER_QUEUES];
    size_t last;      /* the queue whose job began last */
    int64_t ended_ms; /* when a worker last completed a job */
    bool stopping;
    bool asks_rpc;
    struct stop stop;            /* cancels calls of the RPC */
    unsigned count, running_max; /* of one queue */
    struct worker *threads;
};

/* The mutex is held. The queues take turns. */
static struct worker_job *begin_next(struct workers *workers)
{
    for (size_t i = 1; i <= WORKER_QUEUES; i++) {
        const size_t at = (workers->last + i) % WORKER_QUEUES;
        struct queue *queue = &workers->queues[at];
        if (queue->waiting.count == 0 || queue->running == workers->running_max)
            continue;
        workers->last = at;
        queue->running++;
        return (struct worker_job *)fair_queue_take(&queue->waiting);
    }
    return NULL;
}

/* Returns NULL when the workers stop. */
static struct worker_job *take(struct workers *workers)
{
    struct worker_job *job = NULL;
    pthread_mutex_lock(&workers->mutex);
    while (!workers->stopping && (job = begin_next(workers)) == NULL)
        pthread_cond_wait(&workers->arrived, &workers->mutex);
    pthread_mutex_unlock(&workers->mutex);
    return job;
}

/* began: it was not too late. */
static void note_end(struct workers *workers, enum worker_queue queue, bool began)
{
    pthread_mutex_lock(&workers->mutex);
    if (workers->queues[queue].running-- == workers->running_max)
        pthread_cond_signal(&workers->arrived);
    if (began)
        workers->ended_ms = clock_ms();
    pthread_mutex_unlock(&workers->mutex);
}

/* Why a job is late. */
static enum err late(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    const bool silent = clock_ms() - workers->ended_ms > DB_WORKERS_SILENCE_MS;
    pthread_mutex_unlock(&workers->mutex);
    return silent && !workers->asks_rpc ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
}

static void *run(void *context)
{
    const struct worker *worker = context;
    struct workers *workers = worker->workers;
    const int least_ms = workers->asks_rpc ? 1 : DB_WORKERS_BEGIN_MS;
    for (struct worker_job *job; (job = take(workers)) != NULL;) {
        const bool begins = clock_left_ms(job->item.deadline_ms) >= least_ms;
        const enum worker_queue queue = job->queue; /* run may free the job */
        if (begins && !workers->asks_rpc)
            db_set_deadline(worker->session.db, job->item.deadline_ms);
        job->run(job, begins ? ERR_OK : late(workers), begins ? &worker->session : NULL);
        note_end(workers, queue, begins);
    }
    return NULL;
}

/* Ends the queued jobs whose deadlines have passed; at INT64_MAX all. Returns whether others are queued. */
static bool end_queued(struct workers *workers, int64_t now_ms, enum err e)
{
    bool waits = false;
    for (size_t i = 0; i < WORKER_QUEUES; i++) {
        pthread_mutex_lock(&workers->mutex);
        struct fair_item *list = fair_queue_take_late(&workers->queues[i].waiting, now_ms);
        waits |= workers->queues[i].waiting.count > 0;
        pthread_mutex_unlock(&workers->mutex);
        for (struct fair_item *item = list, *next; item != NULL; item = next) {
            struct worker_job *job = (struct worker_job *)item;
            next = item->next;
            job->run(job, e, NULL);
        }
    }
    return waits;
}

/* Called by the ticker. */
static bool end_late(void *workers)
{
    return end_queued(workers, clock_ms(), late(workers));
}

static struct workers *start(bool asks_rpc, const char *url, unsigned count)
{
    struct workers *workers = NEW(struct workers);
    struct detail detail;
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    workers->asks_rpc = asks_rpc;
    workers->count = count;
    workers->running_max = asks_rpc && count > 1 ? count - (count + 3) / 4 : count;
    workers->ended_ms = clock_ms();
    for (size_t i = 0; i < WORKER_QUEUES; i++)
        workers->queues[i].waiting.max = asks_rpc ? RPC_WORKERS_QUEUE_MAX : DB_WORKERS_QUEUE_MAX;
    if (asks_rpc && stop_open(&workers->stop, &detail) != ERR_OK)
        log_fatal(EX_OSERR, "cannot start the RPC threads", "reason=\"%s\"", detail.text);
    workers->threads = NEW_ARRAY(count, struct worker);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        if (asks_rpc)
            worker->session.rpc = rpc_new(&(struct rpc_settings){.url = url,
                .timeout_ms = RPC_WORKERS_CALL_MS,
                .max_body = RPC_ANSWER_MAX,
                .cancel_fd = workers->stop.fd});
        else
            worker->session.db = db_new(&(struct db_settings){.url = url, .name = "fairway api"});
        thread_start(&worker->thread, asks_rpc ? "api rpc" : "api db", run, worker);
    }
    ticker_add(end_late, workers);
    return workers;
}

struct workers *workers_start_db(const char *url, unsigned count)
{
    return start(false, url, count);
}

struct workers *workers_start_rpc(const char *url, unsigned count)
{
    return start(true, url, count);
}

enum err workers_submit(struct workers *workers, struct worker_job *job)
{
    pthread_mutex_lock(&workers->mutex);
    enum err e = workers->stopping ? ERR_SHUTTING_DOWN
                                   : fair_queue_add(&workers->queues[job->queue].waiting, &job->item);
    if (e == ERR_OK)
        pthread_cond_signal(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    if (e == ERR_OK)
        ticker_wake();
    return e;
}

void workers_stop(struct workers *workers)
{
    if (workers == NULL)
        return;
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    end_queued(workers, INT64_MAX, ERR_SHUTTING_DOWN);
    ticker_remove(workers);
    if (workers->asks_rpc)
        stop_tell(&workers->stop);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        db_free(workers->threads[i].session.db);
        rpc_free(workers->threads[i].session.rpc);
    }
    if (workers->asks_rpc)
        stop_close(&workers->stop);
}

void workers_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    pthread_cond_destroy(&workers->arrived);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
