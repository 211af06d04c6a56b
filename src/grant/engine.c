#include "grant/engine.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine_state.h"
#include "pool/accounts.h"

/* A pause after the listener's connection has failed, and the longest call of the listener to the database.
 */
#define PAUSE_MS 50
#define LISTEN_MS 2000
/* When the database has replied to no batch for so long, requests that time out are told that it is
 * unavailable. */
#define SILENCE_MS 2000

int64_t engine_replica_number(void)
{
    int64_t number;
    while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        ;
    return number;
}

void engine_refuse(struct engine_ticket *ticket, enum err e, const struct detail *detail)
{
    /* A batch that was rolled back may have left another reason. */
    const struct detail reason = detail != NULL ? *detail : (struct detail){0};
    if (ticket->kind == TICKET_BUMP) {
        ticket->bump.state = GRANT_REFUSED;
        ticket->bump.error = e;
        ticket->bump.detail = reason;
    } else {
        ticket->grant.state = GRANT_REFUSED;
        ticket->grant.error = e;
        ticket->grant.detail = reason;
    }
    ticket->done(ticket);
}

void engine_refuse_all(struct ticket_queue *tickets, enum err e, const struct detail *detail)
{
    for (struct engine_ticket *ticket = tickets->first, *next; ticket != NULL; ticket = next) {
        next = ticket->next; /* done may free the ticket */
        engine_refuse(ticket, e, detail);
    }
}

static void wake_listener(struct engine *engine)
{
    if (eventfd_write(engine->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
}

static bool is_stopping(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->mutex);
    return stopping;
}

/* ---- the listener: wakes the workers when accounts may have become idle */

void engine_accounts_released(struct engine *engine)
{
    if (engine->accounts == ACCOUNTS_SHORT)
        engine->accounts = ACCOUNTS_CLAIM_DUE;
    else if (engine->accounts == ACCOUNTS_CLAIMING)
        engine->accounts = ACCOUNTS_CLAIMING_DUE;
}

void engine_wake_worker(struct engine *engine)
{
    if (engine->queue.count + engine->delayed.count + engine->bumps.count > 0)
        pthread_cond_signal(&engine->work);
}

static void accounts_released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine_accounts_released(engine);
    if (engine->accounts == ACCOUNTS_CLAIM_DUE)
        pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
}

static void *listen_for_releases(void *context)
{
    struct engine *engine = context;
    struct db *db = engine->listener_db;
    struct detail detail = {0};
    db_set_deadline(db, clock_ms() + LISTEN_MS);
    if (db_listen(db, ACCOUNTS_CHANNEL, &detail) != ERR_OK)
        log_debug("LISTEN failed; repeated with the next connection", "detail=\"%s\"", detail.text);
    for (int64_t next_poll_ms = 0; !is_stopping(engine);) {
        bool notified = false;
        db_set_deadline(db, clock_ms() + LISTEN_MS);
        if (db_wait_notify(db, ENGINE_SHARE_MS, engine->wake_fd, &notified, &detail) != ERR_OK) {
            log_debug("no notifications", "detail=\"%s\"", detail.text);
            clock_sleep_ms(PAUSE_MS);
        }
        if (notified || clock_ms() >= next_poll_ms) {
            accounts_released(engine);
            next_poll_ms = clock_ms() + ENGINE_SHARE_MS;
        }
    }
    return NULL;
}

/* ---- the deadline thread: refuses tickets that have waited too long. It never waits for the database. */

static void take_earlier(int64_t *earliest_ms, const struct ticket_queue *queue, int wait_ms)
{
    if (queue->first != NULL && queue->first->arrived_ms + wait_ms < *earliest_ms)
        *earliest_ms = queue->first->arrived_ms + wait_ms;
}

/* The first deadline of all tickets that wait now or are submitted later. The mutex is held. */
static int64_t first_deadline_ms(const struct engine *engine)
{
    int64_t first_ms = clock_ms() + ENGINE_BUMP_WAIT_MS;
    take_earlier(&first_ms, &engine->queue, ENGINE_WAIT_MS);
    take_earlier(&first_ms, &engine->delayed, ENGINE_WAIT_MS);
    take_earlier(&first_ms, &engine->bumps, ENGINE_BUMP_WAIT_MS);
    return first_ms;
}

void engine_deadline_changed(struct engine *engine)
{
    if (first_deadline_ms(engine) < engine->deadline_check_ms)
        pthread_cond_signal(&engine->deadlines);
}

/* The mutex is held; it is released while done is called. */
static void refuse_late(struct engine *engine)
{
    static const struct detail silence = {"the database has not replied to any batch for seconds"};
    const int64_t now_ms = clock_ms();
    const bool silent = now_ms - engine->replied_ms > SILENCE_MS;
    const enum err busy = silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
    const enum err none =
        silent || engine->accounts == ACCOUNTS_ENOUGH ? busy : ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
    const struct detail *detail = silent ? &silence : NULL;
    struct ticket_queue leases = {0}, bumps = {0};
    ticket_queue_take_arrived(&engine->queue, now_ms - ENGINE_WAIT_MS, &leases);
    ticket_queue_take_arrived(&engine->delayed, now_ms - ENGINE_WAIT_MS, &leases);
    ticket_queue_take_arrived(&engine->bumps, now_ms - ENGINE_BUMP_WAIT_MS, &bumps);
    pthread_mutex_unlock(&engine->mutex);
    engine_refuse_all(&leases, none, detail);
    engine_refuse_all(&bumps, busy, detail);
    pthread_mutex_lock(&engine->mutex);
}

static void *watch_deadlines(void *context)
{
    struct engine *engine = context;
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping) {
        const struct timespec first = clock_timespec(engine->deadline_check_ms = first_deadline_ms(engine));
        if (engine->deadline_check_ms > clock_ms())
            pthread_cond_timedwait(&engine->deadlines, &engine->mutex, &first);
        else
            refuse_late(engine);
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}

/* ---- */

static void start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    if (pthread_create(thread, NULL, run, context) != 0)
        log_fatal(EX_OSERR, "cannot create a thread", NULL);
}

enum err engine_start(const struct engine_settings *settings, struct engine **out, struct detail *detail)
{
    struct engine *engine = NEW(struct engine);
    pthread_condattr_t monotonic;
    engine->settings = *settings;
    engine->queue.place = TICKET_QUEUED;
    engine->delayed.place = TICKET_DELAYED;
    engine->bumps.place = TICKET_BUMP_QUEUED;
    engine->replica = engine_replica_number();
    engine->replied_ms = clock_ms();
    if (engine->settings.threads == 0)
        engine->settings.threads = 2;
    engine->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->wake_fd < 0) {
        free(engine);
        return detail_set(detail, ERR_INTERNAL, "eventfd failed");
    }
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->work, &monotonic);
    pthread_cond_init(&engine->deadlines, &monotonic);
    pthread_condattr_destroy(&monotonic);
    engine->listener_db = db_new(&(struct db_settings){
        .url = settings->database_direct_url, .kind = DB_DIRECT, .name = "fairway listen"});
    /* without a pooler in between, statements are prepared: a quarter less time for a single request */
    const bool same = text_equal(settings->database_url, settings->database_direct_url);
    const enum db_kind kind = same ? DB_DIRECT : DB_POOLED;
    engine->workers = NEW_ARRAY(engine->settings.threads, struct engine_worker);
    start_thread(&engine->listener_thread, listen_for_releases, engine);
    start_thread(&engine->deadline_thread, watch_deadlines, engine);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        struct engine_worker *worker = &engine->workers[i];
        worker->engine = engine;
        worker->db = db_new(
            &(struct db_settings){.url = settings->database_url, .kind = kind, .name = "fairway grant"});
        start_thread(&worker->thread, engine_worker_run, worker);
    }
    *out = engine;
    return ERR_OK;
}

static size_t waiting(const struct engine *engine)
{
    return engine->queue.count + engine->delayed.count + engine->bumps.count;
}

/* Whether a new ticket at the end of the queue needs a worker. Else one already waits for the queue to fill,
 * or will look at it when its batch has ended. */
static bool needs_worker(const struct engine *engine, const struct ticket_queue *queue)
{
    const bool gathers =
        engine->taken > 0 && (queue == &engine->bumps || engine->accounts == ACCOUNTS_ENOUGH);
    return !gathers || queue->count == 1 || queue->count == GRANT_BATCH_MAX;
}

enum err engine_submit(struct engine *engine, struct engine_ticket *ticket)
{
    struct ticket_queue *queue = ticket->kind == TICKET_BUMP ? &engine->bumps : &engine->queue;
    bool wake = false;
    pthread_mutex_lock(&engine->mutex);
    enum err e = ticket->cancelled                                     ? ERR_CANCELLED
                 : engine->stopping                                    ? ERR_SHUTTING_DOWN
                 : waiting(engine) + engine->taken >= ENGINE_QUEUE_MAX ? ERR_OVERLOADED
                                                                       : ERR_OK;
    if (e == ERR_OK) {
        ticket->arrived_ms = clock_ms();
        ticket->arrival = engine->arrivals++;
        ticket_queue_append(queue, ticket);
        wake = needs_worker(engine, queue);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (wake) /* after unlocking: the worker would only wait for the mutex */
        pthread_cond_signal(&engine->work);
    return e;
}

static struct ticket_queue *queue_at(struct engine *engine, enum ticket_place place)
{
    return place == TICKET_QUEUED    ? &engine->queue
           : place == TICKET_DELAYED ? &engine->delayed
                                     : &engine->bumps;
}

void engine_cancel(struct engine *engine, struct engine_ticket *ticket)
{
    pthread_mutex_lock(&engine->mutex);
    const bool waits = ticket->place != TICKET_ELSEWHERE;
    if (waits)
        ticket_queue_remove(queue_at(engine, ticket->place), ticket);
    else
        ticket->cancelled = true; /* seen by engine_submit, or at the end of the batch */
    pthread_mutex_unlock(&engine->mutex);
    if (waits)
        engine_refuse(ticket, ERR_CANCELLED, NULL);
}

static void refuse_waiting(struct engine *engine)
{
    struct ticket_queue rest = {0};
    pthread_mutex_lock(&engine->mutex);
    ticket_queue_merge(&rest, &engine->queue);
    ticket_queue_merge(&rest, &engine->delayed);
    ticket_queue_merge(&rest, &engine->bumps);
    pthread_mutex_unlock(&engine->mutex);
    engine_refuse_all(&rest, ERR_SHUTTING_DOWN, NULL);
}

void engine_stop(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stopping = true;
    pthread_cond_broadcast(&engine->work);
    pthread_cond_signal(&engine->deadlines);
    pthread_mutex_unlock(&engine->mutex);
    wake_listener(engine);
    refuse_waiting(engine);
    pthread_join(engine->deadline_thread, NULL);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        pthread_join(engine->workers[i].thread, NULL);
        db_free(engine->workers[i].db);
    }
    pthread_join(engine->listener_thread, NULL);
    refuse_waiting(engine); /* what the last batches left open */
    db_free(engine->listener_db);
    close(engine->wake_fd);
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->deadlines);
    pthread_mutex_destroy(&engine->mutex);
    free(engine->workers);
    free(engine);
}

size_t engine_waiting(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    size_t count = waiting(engine);
    pthread_mutex_unlock(&engine->mutex);
    return count;
}
