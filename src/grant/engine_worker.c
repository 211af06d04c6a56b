/* One worker of the engine: takes a batch, runs it in the database, and returns its tickets. */
#include "base/clock.h"
#include "base/log.h"
#include "engine_batch.h"

/* A connection attempt that takes longer fails the batch that needs it; it continues for the next batch. */
#define CONNECT_MS 2000
/* An idle connection that was lost fails the batch at once: then it runs again. After that time its deadline
 * is too near. */
#define RETRY_MS 1000
/* A batch that was rolled back is retried when so much time is left before its deadline. */
#define RETRY_LEFT_MS 300
#define TRIES 3

/* Whether the same batch may be run again: nothing of it was committed. */
static bool worth_retrying(const struct engine_worker *worker, enum err e, int64_t begun_ms)
{
    if (e == ERR_SERIALIZATION)
        return clock_left_ms(db_deadline_ms(worker->db)) > RETRY_LEFT_MS;
    return e == ERR_DATABASE_UNAVAILABLE && clock_ms() - begun_ms < RETRY_MS;
}

static enum err run_once(struct engine_worker *worker, struct engine_batch *batch, struct detail *detail)
{
    const struct engine_settings *settings = &worker->engine->settings;
    if (batch->kind == TICKET_BUMP)
        return bump_batch_run(worker->db, settings->keyd, batch->bumps, batch->count, detail);
    return grant_batch_run(worker->db, settings->keyd, &settings->grant, &batch->grant, detail);
}

static enum err run_in_database(
    struct engine_worker *worker, struct engine_batch *batch, struct detail *detail)
{
    const int64_t begun_ms = clock_ms();
    enum err e = run_once(worker, batch, detail);
    for (int tries = 1; tries < TRIES && worth_retrying(worker, e, begun_ms); tries++) {
        batch->grant.again = true;
        e = run_once(worker, batch, detail);
    }
    batch->grant.again = false;
    return e;
}

/* The database refuses a batch because of one of its items: each item is run alone, so that only that one
 * fails. */
static void run_one_by_one(struct engine_worker *worker, struct engine_batch *batch)
{
    struct engine *engine = worker->engine;
    if (batch->kind == TICKET_LEASE && batch->grant.mode == GRANT_CLAIM_SHARE)
        engine_batch_abandon_claim(engine);
    for (size_t i = 0; i < batch->count; i++) {
        struct engine_batch one = {.kind = batch->kind,
            .tickets = {batch->tickets[i]},
            .grants = {batch->grants[i]},
            .bumps = {batch->bumps[i]},
            .count = 1};
        struct detail detail = {0};
        one.grant = (struct grant_batch){.grants = one.grants, .count = 1};
        one.grant.mode = batch->grant.mode == GRANT_CHECK ? GRANT_CHECK : GRANT_CLAIM;
        enum err e = run_in_database(worker, &one, &detail);
        if (e == ERR_OK)
            engine_batch_finish(engine, &one);
        else
            engine_batch_fail(engine, &one, e, &detail);
    }
}

/* Logs when batches of a kind begin to fail, fail for another reason, or work again. */
static void log_outcome(struct engine *engine, enum ticket_kind kind, enum err e, const struct detail *detail)
{
    static const char *const failing[] = {"leases cannot be granted; requests get this error",
        "fee bumps cannot be signed; requests get this error"};
    static const char *const working[] = {"leases are granted again", "fee bumps are signed again"};
    pthread_mutex_lock(&engine->mutex);
    if (e != ERR_DATABASE_UNAVAILABLE && e != ERR_OUTCOME_UNKNOWN)
        engine->replied_ms = clock_ms();
    if (e != engine->last_error[kind]) {
        if (e == ERR_OK)
            log_info(working[kind], NULL);
        else
            log_warn(failing[kind], "error=%s detail=\"%s\"", err_code(e), detail->text);
    }
    engine->last_error[kind] = e;
    pthread_mutex_unlock(&engine->mutex);
}

static void run_batch(
    struct engine_worker *worker, struct engine_batch *batch, enum err e, struct detail *detail)
{
    struct engine *engine = worker->engine;
    db_set_deadline(worker->db, engine_batch_deadline_ms(batch));
    if (e == ERR_OK)
        e = run_in_database(worker, batch, detail);
    bool item_fault = (e == ERR_CONSTRAINT || e == ERR_INTERNAL) && batch->count > 1;
    if (!item_fault)
        log_outcome(engine, batch->kind, e, detail);
    if (e == ERR_OK)
        engine_batch_finish(engine, batch);
    else if (item_fault)
        run_one_by_one(worker, batch);
    else
        engine_batch_fail(engine, batch, e, detail);
}

void *engine_worker_run(void *context)
{
    struct engine_worker *worker = context;
    struct engine_batch batch = {0};
    while (engine_batch_wait(worker->engine)) {
        struct detail detail = {0};
        db_set_deadline(worker->db, clock_ms() + CONNECT_MS);
        /* Before the batch is taken: tickets in the queue can be cancelled and time out meanwhile. */
        enum err e = db_connect(worker->db, &detail);
        if (engine_batch_take(worker->engine, &batch))
            run_batch(worker, &batch, e, &detail);
    }
    return NULL;
}
