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

struct workers {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    struct work *first, *last;
    size_t waiting;
    bool stopping;
    unsigned count;
    struct worker *threads;
};

static struct work *take(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    while (workers->first == NULL && !workers->stopping)
        pthread_cond_wait(&workers->arrived, &workers->mutex);
    struct work *work = workers->stopping ? NULL : workers->first;
    if (work != NULL) {
        workers->first = work->next;
        workers->waiting--;
    }
    pthread_mutex_unlock(&workers->mutex);
    return work;
}

static void *run(void *context)
{
    struct worker *worker = context;
    for (struct work *work; (work = take(worker->workers)) != NULL;)
        if (clock_left_ms(work->deadline_ms) > 0)
            work->run(work, ERR_OK, worker->db);
        else
            work->run(work, ERR_OVERLOADED, NULL);
    return NULL;
}

struct workers *workers_start(const char *database_url, unsigned count)
{
    struct workers *workers = NEW(struct workers);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    workers->count = count;
    workers->threads = NEW_ARRAY(count, struct worker);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        worker->db =
            db_new(&(struct db_settings){.url = database_url, .kind = DB_POOLED, .name = "fairway api"});
        if (pthread_create(&worker->thread, NULL, run, worker) != 0)
            log_fatal(EX_OSERR, "cannot create a thread", NULL);
    }
    return workers;
}

enum err workers_submit(struct workers *workers, struct work *work)
{
    work->next = NULL;
    work->deadline_ms = clock_ms() + WORKERS_WAIT_MS;
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
    }
    pthread_mutex_unlock(&workers->mutex);
    return e;
}

void workers_stop(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        db_free(workers->threads[i].db);
    }
    for (struct work *work = workers->first, *next; work != NULL; work = next) {
        next = work->next;
        work->run(work, ERR_SHUTTING_DOWN, NULL);
    }
    pthread_cond_destroy(&workers->arrived);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
