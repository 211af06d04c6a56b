#include "pool/engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "queue.h"
#include "pool/settle.h"

/* How often waiting tickets are looked at for hang-ups and deadlines, and how long a missed NOTIFY can cost.
 */
#define SWEEP_MS 50
#define SLOW_POLL_MS 1000
/* A pause before the database is listened to again. */
#define PAUSE_MS 50
/* A connection that was lost while it idled is worth another try at once; a database that hangs is not. */
#define RETRY_MS 1000
/* Before another look at a key that another replica is granting: a grant transaction's time. */
#define ELSEWHERE_MS 5
/* What a request that waited nearly to its deadline still gets in the database. */
#define BATCH_MIN_MS 1000

struct worker {
    struct engine *engine;
    struct db *db;
    pthread_t thread;
};

/*
 * `dry` says that the last claim found too few idle accounts: the queue then waits for a release instead of
 * asking the database for each arrival. `releases` counts what may have made accounts idle, so that a release
 * between a claim and its end is not missed.
 */
struct engine {
    struct engine_settings settings;
    pthread_mutex_t mutex;
    pthread_cond_t work, waiting; /* for the workers; for the sweeper, while it idles */
    struct queue queue;
    bool dry, stopping, sweeper_idles, keyd_lost;
    uint64_t releases, arrivals;
    enum err last_error;
    int wake_fd; /* ends the listener's wait */
    struct db *listener_db;
    pthread_t listener, sweeper;
    struct worker *workers;
};

static void refuse(struct engine_ticket *ticket, enum err e, const struct detail *detail)
{
    ticket->grant.state = GRANT_REFUSED;
    ticket->grant.error = e;
    if (detail != NULL)
        ticket->grant.detail = *detail;
    ticket->done(ticket);
}

static void refuse_all(struct queue *tickets)
{
    for (struct engine_ticket *ticket; (ticket = queue_take(tickets)) != NULL;)
        refuse(ticket, ticket->grant.error, NULL);
}

static void wake_listener(struct engine *engine)
{
    if (eventfd_write(engine->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
}

/* The queue is not empty any more. The mutex is held. */
static void wake_sweeper(struct engine *engine)
{
    if (engine->sweeper_idles)
        pthread_cond_signal(&engine->waiting);
}

/* Accounts may have become idle. */
static void released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->releases++;
    engine->dry = false;
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
}

/* One batch on its way: the tickets, and the grants in the form that lease_grant takes. */
struct batch {
    size_t count;
    struct engine_ticket *tickets[GRANT_BATCH_MAX];
    struct grant *grants[GRANT_BATCH_MAX];
};

/* False: the engine stops. */
static bool wait_for_work(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping && (engine->queue.count == 0 || engine->dry))
        pthread_cond_wait(&engine->work, &engine->mutex);
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->mutex);
    return !stopping;
}

/* Takes what waits, if anything still does; clients that hung up while they waited leave here. */
static void take_batch(struct engine *engine, struct batch *batch, uint64_t *releases)
{
    struct queue over = {0};
    batch->count = 0;
    pthread_mutex_lock(&engine->mutex);
    for (struct engine_ticket *ticket;
         batch->count < GRANT_BATCH_MAX && (ticket = queue_take(&engine->queue)) != NULL;) {
        if (ticket->gone(ticket)) {
            ticket->grant.error = ERR_CANCELLED;
            queue_append(&over, ticket);
            continue;
        }
        batch->grants[batch->count] = &ticket->grant;
        batch->tickets[batch->count++] = ticket;
    }
    *releases = engine->releases;
    pthread_mutex_unlock(&engine->mutex);
    refuse_all(&over);
}

static void remember(struct engine *engine, enum err e, const struct detail *detail)
{
    pthread_mutex_lock(&engine->mutex);
    if (e != engine->last_error) {
        if (e == ERR_OK)
            log_info("leases are granted again", NULL);
        else
            log_warn("no lease can be granted", "error=%s detail=\"%s\"", err_code(e), detail->text);
    }
    engine->last_error = e;
    pthread_mutex_unlock(&engine->mutex);
}

/*
 * Answers what is decided; what is still open goes back to its place in the queue. Sorted before that: once
 * an open ticket is back, another thread may answer it, and its memory is gone.
 */
static void answer_batch(struct engine *engine, struct batch *batch, uint64_t releases)
{
    struct queue open = {0}, decided = {0};
    size_t elsewhere = 0;
    for (size_t i = 0; i < batch->count; i++) {
        elsewhere += batch->grants[i]->state == GRANT_OPEN && batch->grants[i]->elsewhere;
        queue_append(batch->grants[i]->state == GRANT_OPEN ? &open : &decided, batch->tickets[i]);
    }
    bool is_short = open.count > elsewhere;
    bool is_waiting = open.count > 0;
    pthread_mutex_lock(&engine->mutex);
    queue_return(&engine->queue, &open);
    if (is_short && engine->releases == releases)
        engine->dry = true;
    if (is_waiting)
        wake_sweeper(engine);
    pthread_mutex_unlock(&engine->mutex);
    if (!is_short)
        released(engine); /* what was claimed beyond need is idle again, and others may have seen it locked */
    for (struct engine_ticket *ticket; (ticket = queue_take(&decided)) != NULL;)
        ticket->done(ticket);
    if (elsewhere > 0)
        clock_sleep_ms(ELSEWHERE_MS);
}

static void fail_batch(struct batch *batch, enum err e, const struct detail *detail)
{
    for (size_t i = 0; i < batch->count; i++)
        refuse(batch->tickets[i], e, detail);
}

/* When the database has to be done with a batch: who waited longest has the earliest deadline. */
static int64_t batch_deadline_ms(const struct batch *batch)
{
    int64_t least_ms = clock_ms() + BATCH_MIN_MS, earliest_ms = batch->tickets[0]->deadline_ms;
    for (size_t i = 1; i < batch->count; i++)
        if (batch->tickets[i]->deadline_ms < earliest_ms)
            earliest_ms = batch->tickets[i]->deadline_ms;
    return earliest_ms > least_ms ? earliest_ms : least_ms;
}

/* Whether the same batch, as it is, may be tried once more at once. */
static bool worth_retrying(enum err e)
{
    return e == ERR_TRY_AGAIN || e == ERR_DATABASE_UNAVAILABLE;
}

static void report_lost_keyd(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool reported = engine->keyd_lost;
    engine->keyd_lost = true;
    pthread_mutex_unlock(&engine->mutex);
    if (!reported)
        engine->settings.fatal(ERR_KEYD_UNAVAILABLE);
}

static enum err grant(
    struct worker *worker, struct grant *const grants[], size_t count, struct detail *detail)
{
    struct engine *engine = worker->engine;
    const int64_t patience_ms = clock_ms() + RETRY_MS;
    enum err e =
        lease_grant(worker->db, engine->settings.keyd, &engine->settings.grant, grants, count, detail);
    for (int tries = 1; worth_retrying(e) && tries < 3 && clock_ms() < patience_ms; tries++)
        e = lease_grant(worker->db, engine->settings.keyd, &engine->settings.grant, grants, count, detail);
    if (e == ERR_KEYD_UNAVAILABLE)
        report_lost_keyd(engine);
    return e;
}

/* Something in the batch makes the database refuse the whole: each alone, so that one item does not fail the
 * others. */
static void grant_one_by_one(struct worker *worker, struct batch *batch, uint64_t releases)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch one = {1, {batch->tickets[i]}, {batch->grants[i]}};
        struct detail detail = {0};
        enum err e = grant(worker, one.grants, 1, &detail);
        if (e == ERR_OK) {
            answer_batch(worker->engine, &one, releases);
            continue;
        }
        fail_batch(&one, e, &detail);
    }
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct engine *engine = worker->engine;
    struct batch batch;
    uint64_t releases;
    while (wait_for_work(engine)) {
        struct detail detail = {0};
        db_set_deadline(worker->db, 0);
        /* before the batch is taken: in the queue, deadlines and hang-ups are seen while this takes long */
        enum err e = db_connect(worker->db, &detail);
        take_batch(engine, &batch, &releases);
        if (batch.count == 0)
            continue;
        db_set_deadline(worker->db, batch_deadline_ms(&batch));
        if (e == ERR_OK)
            e = grant(worker, batch.grants, batch.count, &detail);
        bool item_fault = (e == ERR_CONFLICT || e == ERR_INTERNAL) && batch.count > 1;
        if (!item_fault)
            remember(engine, e, &detail);
        if (e == ERR_OK)
            answer_batch(engine, &batch, releases);
        else if (item_fault)
            grant_one_by_one(worker, &batch, releases);
        else {
            fail_batch(&batch, e, &detail);
            released(engine); /* a rolled-back claim */
        }
    }
    return NULL;
}

/* Blocks in the database, for as long as a connection attempt may take. */
static void *listen_for_releases(void *context)
{
    struct engine *engine = context;
    int64_t next_poll_ms = 0;
    struct detail detail = {0};
    if (db_listen(engine->listener_db, POOL_CHANNEL, &detail) != ERR_OK)
        log_debug("the database will be listened to once it answers", "detail=\"%s\"", detail.text);
    for (bool stopping = false; !stopping;) {
        bool notified = false;
        if (db_wait_notify(engine->listener_db, SLOW_POLL_MS, engine->wake_fd, &notified, &detail) !=
            ERR_OK) {
            log_debug("no notifications", "detail=\"%s\"", detail.text);
            clock_sleep_ms(PAUSE_MS);
        }
        if (notified || clock_ms() >= next_poll_ms) {
            released(engine);
            next_poll_ms = clock_ms() + SLOW_POLL_MS;
        }
        pthread_mutex_lock(&engine->mutex);
        stopping = engine->stopping;
        pthread_mutex_unlock(&engine->mutex);
    }
    return NULL;
}

/* Deadlines and hang-ups, whatever the database does: everything in the engine that time drives. */
static void *sweep(void *context)
{
    struct engine *engine = context;
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping) {
        struct queue over = {0};
        engine->sweeper_idles = engine->queue.count == 0;
        if (engine->sweeper_idles) {
            pthread_cond_wait(&engine->waiting, &engine->mutex);
            continue;
        }
        const struct timespec next = clock_timespec(clock_ms() + SWEEP_MS);
        while (!engine->stopping && pthread_cond_timedwait(&engine->waiting, &engine->mutex, &next) == 0)
            ;
        queue_sweep(&engine->queue, clock_ms(), &over);
        pthread_mutex_unlock(&engine->mutex);
        refuse_all(&over);
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
        start_thread(&worker->thread, work, worker);
    }
    *out = engine;
    return ERR_OK;
}

enum err engine_submit(struct engine *engine, struct engine_ticket *ticket)
{
    ticket->deadline_ms = clock_ms() + ENGINE_WAIT_MS;
    pthread_mutex_lock(&engine->mutex);
    enum err e = engine->stopping                          ? ERR_SHUTTING_DOWN
                 : engine->queue.count >= ENGINE_QUEUE_MAX ? ERR_OVERLOADED
                                                           : ERR_OK;
    if (e == ERR_OK) {
        ticket->arrival = engine->arrivals++;
        queue_append(&engine->queue, ticket);
        pthread_cond_signal(&engine->work);
        wake_sweeper(engine);
    }
    pthread_mutex_unlock(&engine->mutex);
    return e;
}

void engine_stop(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stopping = true;
    struct queue rest = engine->queue;
    engine->queue = (struct queue){0};
    pthread_cond_broadcast(&engine->work);
    pthread_cond_signal(&engine->waiting);
    pthread_mutex_unlock(&engine->mutex);
    wake_listener(engine);
    pthread_join(engine->sweeper, NULL);
    for (unsigned i = 0; i < engine->settings.threads; i++) {
        pthread_join(engine->workers[i].thread, NULL);
        db_free(engine->workers[i].db);
    }
    pthread_join(engine->listener, NULL);
    queue_return(&rest, &engine->queue); /* what the last batches left open */
    for (struct engine_ticket *ticket; (ticket = queue_take(&rest)) != NULL;)
        refuse(ticket, ERR_SHUTTING_DOWN, NULL);
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
    size_t count = engine->queue.count;
    pthread_mutex_unlock(&engine->mutex);
    return count;
}
