/* The two threads of the engine that grant nothing: one listens for released accounts, one refuses tickets
 * that have waited too long. */
#include "base/clock.h"
#include "base/log.h"
#include "engine_choice.h"
#include "pool/accounts.h"

/* A pause after the listener's connection has failed, and the longest call of the listener to the database.
 */
#define PAUSE_MS 50
#define LISTEN_MS 2000
/* When the database has replied to no batch for so long, requests that time out are told that it is
 * unavailable. */
#define SILENCE_MS 2000

static bool is_stopping(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->mutex);
    return stopping;
}

/* ---- the listener: wakes the workers when accounts may have become idle */

static void accounts_released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine_accounts_released(engine);
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
}

void *engine_listen(void *context)
{
    struct engine *engine = context;
    struct db *db = engine->listener_db;
    struct detail detail = {0};
    db_set_deadline(db, clock_ms() + LISTEN_MS);
    if (db_listen(db, ACCOUNTS_CHANNEL, &detail) != ERR_OK)
        log_debug("LISTEN failed; repeated with the next connection", "detail=\"%s\"", detail.text);
    while (!is_stopping(engine)) {
        bool notified = false;
        db_set_deadline(db, clock_ms() + LISTEN_MS);
        if (db_wait_notify(db, LISTEN_MS / 2, engine->wake_fd, &notified, &detail) != ERR_OK) {
            log_debug("no notifications", "detail=\"%s\"", detail.text);
            clock_sleep_ms(PAUSE_MS);
        }
        if (notified)
            accounts_released(engine);
    }
    return NULL;
}

/* ---- the deadline thread: refuses tickets that have waited too long. It never waits for the database. */

static void take_earlier(int64_t *earliest_ms, const struct ticket_queue *queue)
{
    if (queue->first != NULL && engine_wait_end_ms(queue->first) < *earliest_ms)
        *earliest_ms = engine_wait_end_ms(queue->first);
}

/* The first deadline of all tickets that wait now or are submitted later. The mutex is held. */
static int64_t first_deadline_ms(const struct engine *engine)
{
    int64_t first_ms = clock_ms() + ENGINE_BUMP_WAIT_MS;
    take_earlier(&first_ms, &engine->queue);
    take_earlier(&first_ms, &engine->delayed);
    take_earlier(&first_ms, &engine->bumps);
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
    const enum err none = silent || !engine->is_short ? busy : ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
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

void *engine_watch_deadlines(void *context)
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
