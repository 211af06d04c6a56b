/* Threads that ask the database for requests, or read what the RPC has answered. Every request has an answer
 * by its deadline. */
#include "workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/ticker.h"

struct worker {
    struct workers *workers;
    struct db *db;
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
    int64_t ended_ms; /* when a worker last completed a read */
    bool stopping;
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
    if (began && queue == WORKER_READS)
        workers->ended_ms = clock_ms();
    pthread_mutex_unlock(&workers->mutex);
}

/* Why a job is late. */
static enum err late(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    const bool silent = clock_ms() - workers->ended_ms > DB_WORKERS_SILENCE_MS;
    pthread_mutex_unlock(&workers->mutex);
    return silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
}

static void *run(void *context)
{
    const struct worker *worker = context;
    struct workers *workers = worker->workers;
    for (struct worker_job *job; (job = take(workers)) != NULL;) {
        const bool begins = clock_left_ms(job->item.deadline_ms) >= DB_WORKERS_BEGIN_MS;
        const enum worker_queue queue = job->queue; /* run may free the job */
        if (begins)
            db_set_deadline(worker->db, job->item.deadline_ms);
        job->run(job, begins ? ERR_OK : late(workers), begins ? worker->db : NULL);
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

struct workers *workers_start(const char *database_url, unsigned count)
{
    struct workers *workers = NEW(struct workers);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    workers->count = count;
    workers->running_max = count > 1 ? count - 1 : 1;
    workers->ended_ms = clock_ms();
    for (size_t i = 0; i < WORKER_QUEUES; i++)
        workers->queues[i].waiting.max = WORKERS_QUEUE_MAX;
    workers->threads = NEW_ARRAY(count, struct worker);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        worker->db = db_new(&(struct db_settings){.url = database_url, .name = "fairway api"});
        thread_start(&worker->thread, "api", run, worker);
    }
    ticker_add(end_late, workers);
    return workers;
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
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    end_queued(workers, INT64_MAX, ERR_SHUTTING_DOWN);
    ticker_remove(workers);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        db_free(workers->threads[i].db);
    }
}

void workers_free(struct workers *workers)
{
    pthread_cond_destroy(&workers->arrived);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
