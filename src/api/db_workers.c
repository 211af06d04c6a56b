/* Threads with a session each, for requests that read. Every request has an answer by its deadline. */
#include "db_workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/ticker.h"

struct worker {
    struct db_workers *workers;
    struct db *db;
    pthread_t thread;
};

struct db_workers {
    pthread_mutex_t mutex;  /* guards the members down to stopping */
    pthread_cond_t arrived; /* wakes the workers */
    struct fair_queue queue;
    int64_t ended_ms; /* when a worker last completed an item of work */
    bool stopping;
    unsigned count;
    struct worker *threads;
};

static struct db_work *take(struct db_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    while (workers->queue.count == 0 && !workers->stopping)
        pthread_cond_wait(&workers->arrived, &workers->mutex);
    struct fair_item *item = workers->stopping ? NULL : fair_queue_take(&workers->queue);
    pthread_mutex_unlock(&workers->mutex);
    return (struct db_work *)item;
}

/* Why work is late. */
static enum err late(struct db_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    const bool silent = clock_ms() - workers->ended_ms > DB_WORKERS_SILENCE_MS;
    pthread_mutex_unlock(&workers->mutex);
    return silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
}

static void *run(void *context)
{
    struct worker *worker = context;
    struct db_workers *workers = worker->workers;
    for (struct db_work *work; (work = take(workers)) != NULL;) {
        if (clock_left_ms(work->item.deadline_ms) < DB_WORKERS_BEGIN_MS) {
            work->run(work, late(workers), NULL);
            continue;
        }
        db_set_deadline(worker->db, work->item.deadline_ms);
        work->run(work, ERR_OK, worker->db);
        pthread_mutex_lock(&workers->mutex);
        workers->ended_ms = clock_ms();
        pthread_mutex_unlock(&workers->mutex);
    }
    return NULL;
}

static void end_all(struct fair_item *list, enum err e)
{
    for (struct fair_item *item = list, *next; item != NULL; item = next) {
        struct db_work *work = (struct db_work *)item;
        next = item->next;
        work->run(work, e, NULL);
    }
}

/* Called by the ticker. */
static void end_late(void *context)
{
    struct db_workers *workers = context;
    pthread_mutex_lock(&workers->mutex);
    struct fair_item *list = fair_queue_take_late(&workers->queue, clock_ms());
    pthread_mutex_unlock(&workers->mutex);
    end_all(list, late(workers));
}

struct db_workers *db_workers_start(const char *database_url, unsigned count)
{
    struct db_workers *workers = NEW(struct db_workers);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    workers->count = count;
    workers->queue.max = DB_WORKERS_QUEUE_MAX;
    workers->ended_ms = clock_ms();
    workers->threads = NEW_ARRAY(count, struct worker);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        worker->db = db_new(&(struct db_settings){.url = database_url, .name = "fairway api"});
        thread_start(&worker->thread, run, worker);
    }
    ticker_add(end_late, workers);
    return workers;
}

enum err db_workers_submit(struct db_workers *workers, struct db_work *work)
{
    pthread_mutex_lock(&workers->mutex);
    enum err e = workers->stopping ? ERR_SHUTTING_DOWN : fair_queue_add(&workers->queue, &work->item);
    if (e == ERR_OK)
        pthread_cond_signal(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    return e;
}

void db_workers_stop(struct db_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    struct fair_item *rest = fair_queue_take_late(&workers->queue, INT64_MAX);
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    end_all(rest, ERR_SHUTTING_DOWN);
    ticker_remove(workers);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        db_free(workers->threads[i].db);
    }
}

void db_workers_free(struct db_workers *workers)
{
    if (workers == NULL)
        return;
    pthread_cond_destroy(&workers->arrived);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
