#include "grant/engine.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine_state.h"
#include "pool/accounts.h"

/* How often waiting tickets are looked at for hang-ups and deadlines. */
#define SWEEP_MS 50
/* A pause before the database is listened to again, and the longest call of the listener to it. */
#define PAUSE_MS 50
#define LISTEN_MS 2000
/* A database that answers no batch for so long is said to be unavailable to those who waited in vain. */
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
    ticket->grant.state = GRANT_REFUSED;
    ticket->grant.error = e;
    if (detail != NULL)
        ticket->grant.detail = *detail;
    ticket->done(ticket);
}

static void wake_listener(struct engine *engine)
{
    if (eventfd_write(engine->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
}

/* Accounts may have become idle. */
static void released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->claim_due |= engine->shortage;
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
}

static bool is_stopping(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->mutex);
    return stopping;
}

static void *listen_for_releases(void *context)
{
    struct engine *engine = context;
    struct db *db = engine->listener_db;
    struct detail detail = {0};
    db_set_deadline(db, clock_ms() + LISTEN_MS);
    if (db_listen(db, ACCOUNTS_CHANNEL, &detail) != ERR_OK)
        log_debug("LISTEN is repeated when the database answers", "detail=\"%s\"", detail.text);
    for (int64_t next_poll_ms = 0; !is_stopping(engine);) {
        bool notified = false;
        db_set_deadline(db, clock_ms() + LISTEN_MS);
        if (db_wait_notify(db, ENGINE_LINE_MS, engine->wake_fd, &notified, &detail) != ERR_OK) {
            log_debug("no notifications", "detail=\"%s\"", detail.text);
            clock_sleep_ms(PAUSE_MS);
        }
        if (notified || clock_ms() >= next_poll_ms) {
            released(engine);
            next_poll_ms = clock_ms() + ENGINE_LINE_MS;
        }
    }
    return NULL;
}

/* Why requests waited in vain. The mutex is held. */
static enum err late_reason(const struct engine *engine, int64_t now_ms)
{
    if (now_ms - engine->answered_ms > SILENCE_MS)
        return ERR_DATABASE_UNAVAILABLE;
    return engine->shortage ? ERR_CHANNEL_ACCOUNT_UNAVAILABLE : ERR_OVERLOADED;
}

static void refuse_late(struct queue *tickets)
{
    static const struct detail silent = {"the database has not answered any grant for seconds"};
    for (struct engine_ticket *ticket; (ticket = queue_take(tickets)) != NULL;) {
        enum err e = ticket->grant.error;
        engine_refuse(ticket, e, e == ERR_DATABASE_UNAVAILABLE ? &silent : NULL);
    }
}

/* Deadlines and hang-ups: never waits for the database. */
static void *sweep(void *context)
{
    struct engine *engine = context;
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping) {
        struct queue over = {0};
        engine->sweeper_idles = engine->queue.count + engine->delayed.count == 0;
        if (engine->sweeper_idles) {
            pthread_cond_wait(&engine->waiting, &engine->mutex);
            continue;
        }
        const struct timespec next = clock_timespec(clock_ms() + SWEEP_MS);
        while (!engine->stopping && pthread_cond_timedwait(&engine->waiting, &engine->mutex, &next) == 0)
            ;
        const int64_t now_ms = clock_ms();
        const enum err late = late_reason(engine, now_ms);
        queue_sweep(&engine->queue, now_ms - ENGINE_WAIT_MS, late, &over);
        queue_sweep(&engine->delayed, now_ms - ENGINE_WAIT_MS, late, &over);
        pthread_mutex_unlock(&engine->mutex);
        refuse_late(&over);
        pthread_mutex_lock(&engine->mutex);
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    if (pthread_create(thread, NULL, run, context) != 0)
        log_fatal(71, "cannot create a thread", NULL);
}

enum err engine_start(const struct engine_settings *settings, struct engine **out, struct detail *detail)
{
    struct engine *engine = NEW(struct engine);
    pthread_condattr_t monotonic;
    engine->settings = *settings;
    engine->replica = engine_replica_number();
    engine->answered_ms = clock_ms();
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
    pthread_cond_init(&engine->waiting, &monotonic);
    pthread_condattr_destroy(&monotonic);
    engine->listener_db = db_new(&(struct db_settings){
        .url = settings->database_direct_url, .kind = DB_DIRECT, .name = "fairway listen"});
    /* without a pooler in between, statements are prepared: a quarter less time for a single request */
    const bool same = text_equal(settings->database_url, settings->database_direct_url);
    const enum db_kind kind = same ? DB_DIRECT : DB_POOLED;
    engine->workers = NEW_ARRAY(engine->settings.threads, struct worker);
    start_thread(&engine->listener, listen_for_releases, engine);
    start_thread(&engine->sweeper, sweep, engine);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        struct worker *worker = &engine->workers[i];
        worker->engine = engine;
        worker->db = db_new(
            &(struct db_settings){.url = settings->database_url, .kind = kind, .name = "fairway grant"});
        start_thread(&worker->thread, worker_run, worker);
    }
    *out = engine;
    return ERR_OK;
}

enum err engine_submit(struct engine *engine, struct engine_ticket *ticket)
{
    ticket->arrived_ms = clock_ms();
    ticket->judged = false;
    ticket->pause_ms = 0;
    pthread_mutex_lock(&engine->mutex);
    const size_t unanswered = engine->queue.count + engine->delayed.count + engine->taken;
    enum err e = engine->stopping                 ? ERR_SHUTTING_DOWN
                 : unanswered >= ENGINE_QUEUE_MAX ? ERR_OVERLOADED
                                                  : ERR_OK;
    if (e == ERR_OK) {
        ticket->arrival = engine->arrivals++;
        queue_append(&engine->queue, ticket);
        pthread_cond_signal(&engine->work);
        if (engine->sweeper_idles)
            pthread_cond_signal(&engine->waiting);
    }
    pthread_mutex_unlock(&engine->mutex);
    return e;
}

/* Whatever waits is told that this replica stops. */
static void refuse_waiting(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    struct queue rest = engine->queue;
    engine->queue = (struct queue){0};
    queue_return(&rest, &engine->delayed);
    engine->delayed = (struct queue){0};
    pthread_mutex_unlock(&engine->mutex);
    for (struct engine_ticket *ticket; (ticket = queue_take(&rest)) != NULL;)
        engine_refuse(ticket, ERR_SHUTTING_DOWN, NULL);
}

void engine_stop(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stopping = true;
    pthread_cond_broadcast(&engine->work);
    pthread_cond_signal(&engine->waiting);
    pthread_mutex_unlock(&engine->mutex);
    wake_listener(engine);
    refuse_waiting(engine);
    pthread_join(engine->sweeper, NULL);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        pthread_join(engine->workers[i].thread, NULL);
        db_free(engine->workers[i].db);
    }
    pthread_join(engine->listener, NULL);
    refuse_waiting(engine); /* what the last batches left open */
    db_free(engine->listener_db);
    close(engine->wake_fd);
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->waiting);
    pthread_mutex_destroy(&engine->mutex);
    free(engine->workers);
    free(engine);
}

size_t engine_waiting(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    size_t waiting = engine->queue.count + engine->delayed.count;
    pthread_mutex_unlock(&engine->mutex);
    return waiting;
}
