/* The lease engine from outside: start, submit, cancel, stop. Nothing here waits for the database, but for
 * engine_stop. */
#include "grant/engine.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/thread.h"
#include "base/ticker.h"
#include "engine_choice.h"

void engine_set_refused(struct engine_ticket *ticket, enum err e, const struct detail *detail)
{
    /* A batch that was rolled back may have left another reason. */
    struct detail reason = detail != NULL ? *detail : (struct detail){0};
    if (ticket->is_unknown)
        e = detail_set(
            &reason, ERR_OUTCOME_UNKNOWN, "the reply to COMMIT was lost, and its key was not free");
    if (ticket->kind == TICKET_BUMP) {
        ticket->bump.state = GRANT_REFUSED;
        ticket->bump.item.error = e;
        ticket->bump.item.detail = reason;
    } else {
        ticket->grant.state = GRANT_REFUSED;
        ticket->grant.error = e;
        ticket->grant.detail = reason;
    }
}

static void count_lease(const struct engine_ticket *ticket)
{
    const struct grant *grant = &ticket->grant;
    const bool granted = grant->state == GRANT_DONE && grant->lease.first && !grant->is_of_another,
               bids = granted && grant->lease.bid_stroops != 0;
    metric_add(METRIC_LEASES_GRANTED, 0, 0, granted);
    metric_add(METRIC_FEE_BUMPS, 0, 0, bids);
    metric_add(METRIC_SUBMISSIONS, 0, 0, bids);
    if (granted || (grant->state == GRANT_REFUSED && grant->error == ERR_CHANNEL_ACCOUNT_UNAVAILABLE))
        metric_observe(METRIC_LEASE_WAIT, 0, 0, (clock_ms() - ticket->arrived_ms) * 1000);
}

static void count_bump(const struct bump *bump)
{
    const bool done = bump->state == GRANT_DONE;
    metric_add(METRIC_FEE_BUMPS, 0, 0, done);
    metric_add(METRIC_SUBMISSIONS, 0, 0, done && bump->request->submits && bump->item.first);
}

void engine_done(struct engine_ticket *ticket)
{
    if (ticket->kind == TICKET_BUMP)
        count_bump(&ticket->bump);
    else
        count_lease(ticket);
    ticket->done(ticket);
}

/* Refuses all tickets of a list, which are in no queue of the engine any more. The mutex is not held. */
static void refuse_all(struct ticket_queue *tickets, enum err e, const struct detail *detail, size_t ledgers)
{
    for (struct engine_ticket *ticket = tickets->first, *next; ticket != NULL; ticket = next) {
        next = ticket->next; /* done may free the ticket */
        engine_set_refused(ticket, e, detail);
        ticket->ledgers = ledgers;
        engine_done(ticket);
    }
}

static size_t waiting(const struct engine *engine)
{
    return engine->queue.count + engine->delayed.count + engine->bumps.count;
}

/* Called by the ticker: refuses tickets that have waited too long. */
static bool tick(void *context)
{
    struct engine *engine = context;
    static const struct detail silence = {"the database has not replied to any batch for seconds"};
    const int64_t now_ms = clock_ms();
    pthread_mutex_lock(&engine->mutex);
    const bool silent = now_ms - engine->replied_ms > ENGINE_SILENCE_MS;
    const enum err busy = silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
    const enum err none = silent || !engine->is_short ? busy : ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
    const struct detail *detail = silent ? &silence : NULL;
    struct ticket_queue leases = {0}, bumps = {0};
    const int64_t most_ms = silent ? ENGINE_WAIT_MS : INT64_MAX;
    const size_t ledgers = engine->pace == 0 ? 0 : 1 + engine->queue.count / engine->pace;
    ticket_queue_take_late(&engine->queue, now_ms, most_ms, &leases);
    ticket_queue_take_late(&engine->delayed, now_ms, most_ms, &leases);
    ticket_queue_take_late(&engine->bumps, now_ms, most_ms, &bumps);
    const bool watches = waiting(engine) + engine->taken > 0;
    pthread_mutex_unlock(&engine->mutex);
    refuse_all(&leases, none, detail, ledgers);
    refuse_all(&bumps, busy, detail, 0);
    return watches; /* tickets of a batch may be queued again */
}

struct engine *engine_start(const struct engine_settings *settings)
{
    struct engine *engine = NEW(struct engine);
    engine->settings = *settings;
    engine->queue.is_shared = engine->delayed.is_shared = engine->bumps.is_shared = true;
    while (getrandom(&engine->replica, sizeof engine->replica, 0) != (ssize_t)sizeof engine->replica)
        ;
    engine->replied_ms = clock_ms();
    if (engine->settings.threads == 0)
        engine->settings.threads = 2;
    pthread_mutex_init(&engine->mutex, NULL);
    thread_cond_init(&engine->work);
    engine->workers = NEW_ARRAY(engine->settings.threads, struct engine_worker);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        struct engine_worker *worker = &engine->workers[i];
        worker->engine = engine;
        worker->db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway grant"});
        thread_start(&worker->thread, "grant", engine_worker_run, worker);
    }
    ticker_add(tick, engine);
    return engine;
}

/* Whether to wake a worker for a ticket that was just added. If not, a worker is already waiting for more
 * tickets, or will look at the queue after its batch. */
static bool needs_worker(const struct engine *engine, const struct ticket_queue *queue)
{
    const bool gathers = engine->taken > 0 && (queue == &engine->bumps || !engine->is_short);
    return !gathers || queue->count == 1 || queue->count == GRANT_BATCH_MAX;
}

enum err engine_submit(struct engine *engine, struct engine_ticket *ticket)
{
    const bool bumps = ticket->kind == TICKET_BUMP;
    struct ticket_queue *queue = bumps ? &engine->bumps : &engine->queue;
    bool wake = false;
    if (bumps)
        ticket->wait_ms = ENGINE_BUMP_WAIT_MS;
    else if (ticket->wait_ms < ENGINE_WAIT_MS)
        ticket->wait_ms = ENGINE_WAIT_MS;
    if (ticket->had == NULL)
        ticket->had = &engine->nobodys;
    pthread_mutex_lock(&engine->mutex);
    enum err e = ticket->cancelled                                     ? ERR_CANCELLED
                 : engine->stopping                                    ? ERR_SHUTTING_DOWN
                 : waiting(engine) + engine->taken >= ENGINE_QUEUE_MAX ? ERR_OVERLOADED
                                                                       : ERR_OK;
    if (e == ERR_OK) {
        ticket->arrived_ms = clock_ms();
        ticket->arrival = engine->arrivals++;
        if (*ticket->had < engine->turn)
            *ticket->had = engine->turn; /* it has not waited meanwhile */
        ticket_queue_append(queue, ticket);
        wake = needs_worker(engine, queue);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (wake) /* after unlocking: the worker would only wait for the mutex */
        pthread_cond_signal(&engine->work);
    if (e == ERR_OK)
        ticker_wake();
    return e;
}

struct engine_outcome engine_outcome(struct engine *engine, enum ticket_kind kind)
{
    pthread_mutex_lock(&engine->mutex);
    const struct engine_outcome outcome = engine->outcomes[kind];
    pthread_mutex_unlock(&engine->mutex);
    return outcome;
}

void engine_released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    if (engine->claimed > 0) /* the watch is also told what releases no account */
        engine->pace = (engine->pace + engine->claimed + 1) / 2;
    engine->claimed = 0;
    engine_accounts_released(engine);
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
}

void engine_cancel(struct engine *engine, struct engine_ticket *ticket)
{
    pthread_mutex_lock(&engine->mutex);
    const bool waits = ticket->queue != NULL;
    if (waits)
        ticket_queue_remove(ticket->queue, ticket);
    else
        ticket->cancelled = true; /* seen by engine_submit, or at the end of the batch */
    pthread_mutex_unlock(&engine->mutex);
    if (waits) {
        engine_set_refused(ticket, ERR_CANCELLED, NULL);
        engine_done(ticket);
    }
}

static void refuse_waiting(struct engine *engine)
{
    struct ticket_queue rest = {0};
    pthread_mutex_lock(&engine->mutex);
    ticket_queue_merge(&rest, &engine->queue);
    ticket_queue_merge(&rest, &engine->delayed);
    ticket_queue_merge(&rest, &engine->bumps);
    pthread_mutex_unlock(&engine->mutex);
    refuse_all(&rest, ERR_SHUTTING_DOWN, NULL, 0);
}

void engine_stop(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stopping = true;
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
    refuse_waiting(engine);
    ticker_remove(engine);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        pthread_join(engine->workers[i].thread, NULL);
        db_free(engine->workers[i].db);
    }
    refuse_waiting(engine); /* what the last batches left open */
    pthread_cond_destroy(&engine->work);
    pthread_mutex_destroy(&engine->mutex);
    free(engine->workers);
    free(engine);
}
