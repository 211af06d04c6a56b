/* One worker of the lease engine: takes a batch, has it granted, answers it. */
#include "base/clock.h"
#include "base/log.h"
#include "engine_state.h"

/* A connection attempt that takes longer fails the batch that needs it. It goes on for the next one. */
#define CONNECT_MS 2000
/* A connection that was lost while it idled is worth another try at once; a database that hangs is not. */
#define RETRY_MS 1000
/* A batch that was rolled back is tried again when so much is left before its deadline. */
#define RETRY_LEFT_MS 300
/* Between looks at a key that is being granted elsewhere: at first a grant transaction's time. */
#define ELSEWHERE_FIRST_MS 5
#define ELSEWHERE_MAX_MS 500
/* Between looks at accounts that are due to another replica, which may be gone. */
#define RECHECK_FIRST_MS 20
#define RECHECK_MAX_MS 200

/* One batch on its way: the tickets, and the grants in the form that grant_batch_run takes. */
struct batch {
    struct engine_ticket *tickets[GRANT_BATCH_MAX];
    struct grant *grants[GRANT_BATCH_MAX];
    struct grant_line line;
    struct grant_batch grant;
};

static int earlier(int a, int b)
{
    return a < b ? a : b;
}

/* ---- what there is to do; the mutex is held */

static void resume_delayed(struct engine *engine, int64_t now_ms)
{
    struct queue still = {0}, ready = {0};
    for (struct engine_ticket *ticket; (ticket = queue_take(&engine->delayed)) != NULL;)
        queue_append(ticket->not_before_ms > now_ms ? &still : &ready, ticket);
    engine->delayed = still;
    queue_return(&engine->queue, &ready);
}

/* Returns false when there is nothing to do now. */
static bool choose(struct engine *engine, enum grant_mode *mode)
{
    const int64_t now_ms = clock_ms();
    if (engine->delayed.count > 0)
        resume_delayed(engine, now_ms);
    if (!engine->shortage) {
        *mode = GRANT_CLAIM;
        return engine->queue.count > 0;
    }
    if (engine->recheck_ms != 0 && engine->recheck_ms <= now_ms)
        engine->claim_due = true;
    if (engine->claim_due && !engine->claiming) {
        *mode = GRANT_IN_LINE;
        return true;
    }
    *mode = GRANT_JUDGE;
    return engine->queue.unjudged > 0;
}

/* The earliest moment at which time alone makes work; 0: none. */
static int64_t next_moment(const struct engine *engine)
{
    int64_t next_ms = engine->shortage && !engine->claiming ? engine->recheck_ms : 0;
    for (const struct engine_ticket *ticket = engine->delayed.first; ticket != NULL; ticket = ticket->next)
        if (next_ms == 0 || ticket->not_before_ms < next_ms)
            next_ms = ticket->not_before_ms;
    return next_ms;
}

/* Returns false when the engine stops. */
static bool wait_for_work(struct engine *engine)
{
    enum grant_mode mode;
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping && !choose(engine, &mode)) {
        const int64_t next_ms = next_moment(engine);
        const struct timespec next = clock_timespec(next_ms);
        if (next_ms == 0)
            pthread_cond_wait(&engine->work, &engine->mutex);
        else
            pthread_cond_timedwait(&engine->work, &engine->mutex, &next);
    }
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->mutex);
    return !stopping;
}

/* Who waits here, as the other replicas are to see it: the batch, then the queue. */
static void fill_line(const struct engine *engine, struct batch *batch)
{
    struct grant_line *line = &batch->line;
    const int64_t now_ms = clock_ms();
    line->count = 0;
    for (size_t i = 0; i < batch->grant.count; i++)
        line->waited_ms[line->count++] = now_ms - batch->tickets[i]->arrived_ms;
    for (const struct engine_ticket *ticket = engine->queue.first;
         ticket != NULL && line->count < GRANT_LINE_MAX; ticket = ticket->next)
        line->waited_ms[line->count++] = now_ms - ticket->arrived_ms;
}

/* Moves the tickets into the batch; those whose clients hung up while they waited into *over. */
static void fill_batch(struct batch *batch, struct queue *from, struct queue *over)
{
    for (struct engine_ticket *ticket;
         batch->grant.count < GRANT_BATCH_MAX && (ticket = queue_take(from)) != NULL;) {
        if (ticket->gone(ticket)) {
            queue_append(over, ticket);
            continue;
        }
        batch->grants[batch->grant.count] = &ticket->grant;
        batch->tickets[batch->grant.count++] = ticket;
    }
}

static void take_batch(struct engine *engine, struct batch *batch)
{
    struct queue new = {0};
    struct queue *from = &engine->queue;
    struct queue over = {0};
    enum grant_mode mode;
    batch->grant = (struct grant_batch){.grants = batch->grants, .line = &batch->line};
    pthread_mutex_lock(&engine->mutex);
    batch->line.replica = engine->replica;
    if (choose(engine, &mode)) {
        batch->grant.mode = mode;
        if (mode == GRANT_JUDGE) {
            queue_take_unjudged(&engine->queue, GRANT_BATCH_MAX, &new);
            from = &new;
        }
        fill_batch(batch, from, &over);
        engine->taken += batch->grant.count;
        if (mode == GRANT_IN_LINE) {
            engine->claiming = true;
            engine->claim_due = false;
            engine->recheck_ms = 0;
            fill_line(engine, batch);
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    for (struct engine_ticket *ticket; (ticket = queue_take(&over)) != NULL;)
        engine_refuse(ticket, ERR_CANCELLED, NULL);
}

/* When the database has to be done with a batch: who arrived first has the earliest deadline. */
static int64_t batch_deadline_ms(const struct batch *batch)
{
    int64_t earliest_ms = clock_ms();
    for (size_t i = 0; i < batch->grant.count; i++)
        if (batch->tickets[i]->arrived_ms < earliest_ms)
            earliest_ms = batch->tickets[i]->arrived_ms;
    return earliest_ms + ENGINE_ANSWER_MS;
}

/* ---- what comes of it */

static void remember(struct engine *engine, enum err e, const struct detail *detail)
{
    pthread_mutex_lock(&engine->mutex);
    if (e != ERR_DATABASE_UNAVAILABLE && e != ERR_OUTCOME_UNKNOWN)
        engine->answered_ms = clock_ms();
    if (e != engine->last_error) {
        if (e == ERR_OK)
            log_info("leases are granted again", NULL);
        else
            log_warn("no lease can be granted", "error=%s detail=\"%s\"", err_code(e), detail->text);
    }
    engine->last_error = e;
    pthread_mutex_unlock(&engine->mutex);
}

/* Looks again soon, and less often the longer nothing comes of it. */
static void recheck(struct engine *engine, bool progress)
{
    const int pause_ms = engine->recheck_pause_ms;
    engine->recheck_pause_ms =
        pause_ms == 0 || progress ? RECHECK_FIRST_MS : earlier(pause_ms * 2, RECHECK_MAX_MS);
    engine->recheck_ms = clock_ms() + engine->recheck_pause_ms;
}

/* The claim in line has ended, and decided requests of the batch wait no more. The mutex is held. */
static void leave_claim(struct engine *engine, const struct batch *batch, size_t decided)
{
    const struct grant_line *line = &batch->line;
    engine->claiming = false;
    engine->published = line->left || decided > line->count ? 0 : line->count - decided;
    if (line->left || (engine->queue.count == 0 && engine->published == 0))
        engine->shortage = engine->claim_due = false;
    /* More than the batch is due to this replica. */
    else if (decided == GRANT_BATCH_MAX && line->share > GRANT_BATCH_MAX)
        engine->claim_due = true;
    /* The others are due to other replicas, or locked by them. They may be gone. */
    else if (line->idle > (int64_t)decided)
        recheck(engine, decided > 0);
}

/* The same when it failed: what this replica has published expires by itself. */
static void fail_claim(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->claiming = false;
    engine->replica = engine_replica_number(); /* the old number's row may still be locked */
    engine->published = 0;
    engine->shortage = engine->claim_due = engine->queue.count > 0;
    pthread_mutex_unlock(&engine->mutex);
}

/* Sorts an open ticket to where it waits on: back into the queue, or aside for a while. */
static void put_back(struct engine_ticket *ticket, struct queue *open, struct queue *aside)
{
    ticket->judged = ticket->grant.open != OPEN_ELSEWHERE;
    if (ticket->judged) {
        ticket->pause_ms = 0;
        queue_append(open, ticket);
        return;
    }
    ticket->pause_ms =
        ticket->pause_ms == 0 ? ELSEWHERE_FIRST_MS : earlier(ticket->pause_ms * 2, ELSEWHERE_MAX_MS);
    ticket->not_before_ms = clock_ms() + ticket->pause_ms;
    queue_append(aside, ticket);
}

/*
 * Answers what is decided; what is still open goes back to its place in the queue. Sorted before that: once
 * an open ticket is back, another thread may answer it, and its memory is gone.
 */
static void answer_batch(struct engine *engine, struct batch *batch)
{
    struct queue open = {0}, aside = {0}, decided = {0};
    size_t decided_count = 0;
    bool is_short = false, is_faulty = false;
    for (size_t i = 0; i < batch->grant.count; i++) {
        struct engine_ticket *ticket = batch->tickets[i];
        if (ticket->grant.state == GRANT_OPEN) {
            is_short |= ticket->grant.open == OPEN_SHORT;
            is_faulty |= ticket->grant.open == OPEN_FAULT;
            put_back(ticket, &open, &aside);
            continue;
        }
        queue_append(&decided, ticket);
        decided_count++;
    }
    pthread_mutex_lock(&engine->mutex);
    engine->taken -= batch->grant.count;
    queue_return(&engine->queue, &open);
    queue_return(&engine->delayed, &aside);
    if (batch->grant.mode == GRANT_IN_LINE)
        leave_claim(engine, batch, decided_count);
    else if (batch->grant.mode == GRANT_CLAIM && is_short)
        engine->shortage = engine->claim_due = true; /* at once: this replica gets in line */
    /* Other accounts may be idle, or others may have met locked what is idle again. */
    engine->claim_due |= engine->shortage && (is_faulty || batch->grant.given_back);
    if (engine->sweeper_idles && engine->queue.count + engine->delayed.count > 0)
        pthread_cond_signal(&engine->waiting);
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
    for (struct engine_ticket *ticket; (ticket = queue_take(&decided)) != NULL;)
        ticket->done(ticket);
}

static void fail_batch(struct engine *engine, struct batch *batch, enum err e, const struct detail *detail)
{
    if (batch->grant.mode == GRANT_IN_LINE)
        fail_claim(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->taken -= batch->grant.count;
    engine->claim_due |= engine->shortage && engine->queue.count > 0; /* what was claimed is idle again */
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->mutex);
    for (size_t i = 0; i < batch->grant.count; i++)
        engine_refuse(batch->tickets[i], e, detail);
}

/* ---- granting */

/* Whether the same batch, as it is, may be tried once more: nothing of it was committed. */
static bool worth_retrying(const struct worker *worker, enum err e, int64_t begun_ms)
{
    if (e == ERR_SERIALIZATION)
        return clock_left_ms(db_deadline_ms(worker->db)) > RETRY_LEFT_MS;
    return e == ERR_DATABASE_UNAVAILABLE && clock_ms() - begun_ms < RETRY_MS;
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

static enum err grant(struct worker *worker, struct grant_batch *batch, struct detail *detail)
{
    const struct engine_settings *settings = &worker->engine->settings;
    const int64_t begun_ms = clock_ms();
    enum err e = grant_batch_run(worker->db, settings->keyd, &settings->grant, batch, detail);
    for (int tries = 1; tries < 3 && worth_retrying(worker, e, begun_ms); tries++)
        e = grant_batch_run(worker->db, settings->keyd, &settings->grant, batch, detail);
    if (e == ERR_KEYD_UNAVAILABLE)
        report_lost_keyd(worker->engine);
    return e;
}

/* Something in the batch makes the database refuse the whole: each alone, so that one item does not fail the
 * others. What finds no account then is granted like any other request. */
static void grant_one_by_one(struct worker *worker, struct batch *batch)
{
    struct engine *engine = worker->engine;
    if (batch->grant.mode == GRANT_IN_LINE)
        fail_claim(engine);
    for (size_t i = 0; i < batch->grant.count; i++) {
        struct batch one = {.tickets = {batch->tickets[i]}, .grants = {batch->grants[i]}};
        struct detail detail = {0};
        one.grant = (struct grant_batch){.grants = one.grants, .count = 1};
        one.grant.mode = batch->grant.mode == GRANT_JUDGE ? GRANT_JUDGE : GRANT_CLAIM;
        enum err e = grant(worker, &one.grant, &detail);
        if (e == ERR_OK)
            answer_batch(engine, &one);
        else
            fail_batch(engine, &one, e, &detail);
    }
}

void *worker_run(void *context)
{
    struct worker *worker = context;
    struct engine *engine = worker->engine;
    struct batch batch;
    while (wait_for_work(engine)) {
        struct detail detail = {0};
        db_set_deadline(worker->db, clock_ms() + CONNECT_MS);
        /* before the batch is taken: in the queue, deadlines and hang-ups are seen while this takes long */
        enum err e = db_connect(worker->db, &detail);
        take_batch(engine, &batch);
        if (batch.grant.count == 0 && batch.grant.mode != GRANT_IN_LINE)
            continue;
        db_set_deadline(worker->db, batch_deadline_ms(&batch));
        if (e == ERR_OK)
            e = grant(worker, &batch.grant, &detail);
        bool item_fault = (e == ERR_CONSTRAINT || e == ERR_INTERNAL) && batch.grant.count > 1;
        if (!item_fault)
            remember(engine, e, &detail);
        if (e == ERR_OK)
            answer_batch(engine, &batch);
        else if (item_fault)
            grant_one_by_one(worker, &batch);
        else
            fail_batch(engine, &batch, e, &detail);
    }
    return NULL;
}
