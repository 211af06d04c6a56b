/* Threads that ask the RPC for requests. Queues, waits and calls are bounded. */
#include "rpc_workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/thread.h"

#define THREADS_DEFAULT 8
/* A simulation returns the events and changes of the transaction. */
#define ANSWER_MAX ((size_t)8 << 20)

struct worker {
    struct rpc_workers *workers;
    struct rpc *rpc;
    pthread_t thread;
};

struct queue {
    struct fair_queue waiting;
    unsigned running;
};

struct rpc_workers {
    pthread_mutex_t mutex; /* guards the members down to stopping */
    pthread_cond_t arrived;
    struct queue queues[RPC_WORK_KINDS];
    size_t last; /* the kind that began last */
    bool stopping;
    struct stop stop;            /* cancels running calls */
    unsigned count, running_max; /* of one kind */
    struct worker *threads;
};

/* Begins the next work; the kinds take turns. NULL: none may begin now. */
static struct rpc_work *begin_next(struct rpc_workers *workers)
{
    for (size_t i = 1; i <= RPC_WORK_KINDS; i++) {
        const size_t kind = (workers->last + i) % RPC_WORK_KINDS;
        struct queue *queue = &workers->queues[kind];
        if (queue->waiting.count == 0 || queue->running == workers->running_max)
            continue;
        workers->last = kind;
        queue->running++;
        return (struct rpc_work *)fair_queue_take(&queue->waiting);
    }
    return NULL;
}

/* Returns NULL when the workers stop. */
static struct rpc_work *take(struct rpc_workers *workers)
{
    struct rpc_work *work = NULL;
    pthread_mutex_lock(&workers->mutex);
    while (!workers->stopping && (work = begin_next(workers)) == NULL)
        pthread_cond_wait(&workers->arrived, &workers->mutex);
    pthread_mutex_unlock(&workers->mutex);
    return work;
}

static void note_end(struct rpc_workers *workers, enum rpc_work_kind kind)
{
    pthread_mutex_lock(&workers->mutex);
    workers->queues[kind].running--;
    pthread_cond_signal(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
}

static void *run(void *context)
{
    struct worker *worker = context;
    for (struct rpc_work *work; (work = take(worker->workers)) != NULL;) {
        const bool late = clock_ms() > work->item.deadline_ms;
        const enum rpc_work_kind kind = work->kind; /* run may free the work */
        rpc_set_request_id(worker->rpc, work->request_id);
        work->run(work, late ? ERR_OVERLOADED : ERR_OK, late ? NULL : worker->rpc);
        note_end(worker->workers, kind);
    }
    return NULL;
}

struct rpc_workers *rpc_workers_start(const char *url, unsigned count)
{
    struct rpc_workers *workers = NEW(struct rpc_workers);
    struct detail detail;
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->arrived, NULL);
    workers->count = count != 0 ? count : THREADS_DEFAULT;
    workers->threads = NEW_ARRAY(workers->count, struct worker);
    workers->running_max = workers->count > 1 ? workers->count - (workers->count + 3) / 4 : workers->count;
    for (size_t kind = 0; kind < RPC_WORK_KINDS; kind++)
        workers->queues[kind].waiting.max = RPC_WORKERS_QUEUE_MAX;
    if (stop_open(&workers->stop, &detail) != ERR_OK)
        log_fatal(EX_OSERR, "cannot start the RPC threads", "reason=\"%s\"", detail.text);
    for (unsigned i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->threads[i];
        worker->workers = workers;
        worker->rpc = rpc_new(&(struct rpc_settings){.url = url,
            .timeout_ms = RPC_WORKERS_CALL_MS,
            .max_body = ANSWER_MAX,
            .cancel_fd = workers->stop.fd});
        thread_start(&worker->thread, run, worker);
    }
    return workers;
}

enum err rpc_workers_submit(struct rpc_workers *workers, struct rpc_work *work)
{
    struct fair_queue *queue = &workers->queues[work->kind].waiting;
    work->item.deadline_ms = clock_ms() + RPC_WORKERS_WAIT_MS;
    pthread_mutex_lock(&workers->mutex);
    enum err e = workers->stopping ? ERR_SHUTTING_DOWN : fair_queue_add(queue, &work->item);
    if (e == ERR_OK)
        pthread_cond_signal(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    return e;
}

void rpc_workers_stop(struct rpc_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->arrived);
    pthread_mutex_unlock(&workers->mutex);
    stop_tell(&workers->stop);
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
        rpc_free(workers->threads[i].rpc);
    }
    for (size_t kind = 0; kind < RPC_WORK_KINDS; kind++)
        for (struct fair_item *item = fair_queue_take_late(&workers->queues[kind].waiting, INT64_MAX), *next;
             item != NULL; item = next) {
            struct rpc_work *work = (struct rpc_work *)item;
            next = item->next;
            work->run(work, ERR_SHUTTING_DOWN, NULL);
        }
    stop_close(&workers->stop);
    pthread_cond_destroy(&workers->arrived);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
}
