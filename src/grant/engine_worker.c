/* One worker of the engine: takes a batch from a queue, runs it in the database, and calls done for its
 * tickets or puts them back. What it decides about the queues is in engine_choice.c; nothing here knows SQL.
 */
#include "base/deadlines.h"

#include "base/clock.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/metric.h"
#include "engine_choice.h"
#include "grant/grant.h"

#define TRIES 3

/* The tickets of a batch, all of one kind, and what they contain in the form that grant_batch_run or
 * bump_batch_run takes. */
struct batch {
    enum ticket_kind kind;
    struct engine_ticket *tickets[GRANT_BATCH_MAX];
    union {
        struct grant *grants[GRANT_BATCH_MAX];
        struct bump *bumps[GRANT_BATCH_MAX];
    };
    size_t count;
    struct grant_batch claim; /* of leases: their mode, and what became of the claim */
    bool in_shortage;         /* it claims as the only one */
    uint64_t releases;        /* engine.releases when it was taken */
    struct engine_run run;
};

/* ---- taking a batch; the mutex is held */

void engine_wake_worker(struct engine *engine)
{
    if (engine->queue.count + engine->delayed.count + engine->bumps.count > 0)
        pthread_cond_signal(&engine->work);
}

static void resume_delayed(struct engine *engine, int64_t now_ms)
{
    struct ticket_queue ready = {0};
    for (struct engine_ticket *ticket = engine->delayed.first, *next; ticket != NULL; ticket = next) {
        next = ticket->next;
        if (ticket->not_before_ms > now_ms)
            continue;
        ticket_queue_remove(&engine->delayed, ticket);
        ticket_queue_append(&ready, ticket);
    }
    ticket_queue_merge(&engine->queue, &ready);
}

/* Blocks until there may be a batch to take. Returns false when the engine stops. */
static bool wait_for_work(struct engine *engine)
{
    struct engine_choice choice;
    pthread_mutex_lock(&engine->mutex);
    for (;;) {
        resume_delayed(engine, clock_ms());
        if (engine->stopping || engine_choose(engine, clock_ms(), &choice))
            break;
        const int64_t next_ms = engine_choose_again_ms(engine);
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

static void take_tickets(struct engine *engine, struct batch *batch)
{
    struct ticket_queue unchecked = {0}, *from = batch->kind == TICKET_BUMP ? &engine->bumps : &engine->queue;
    const bool claims = batch->kind == TICKET_LEASE && batch->claim.mode == GRANT_CLAIM;
    uint64_t least;
    if (batch->kind == TICKET_LEASE && !claims) {
        ticket_queue_take_unchecked(from, GRANT_BATCH_MAX, &unchecked);
        from = &unchecked;
    }
    batch->count = ticket_queue_take_in_turn(from, batch->tickets, &least);
    if (claims && batch->count > 0)
        engine->turn = least;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->kind == TICKET_BUMP)
            batch->bumps[i] = &batch->tickets[i]->bump;
        else
            batch->grants[i] = &batch->tickets[i]->grant;
    engine->taken += batch->count;
    if (batch->count > 0)
        metric_observe(METRIC_BATCH_SIZE, batch->kind, 0, (int64_t)batch->count);
}

/* Returns false when another worker has already taken what there was. */
static bool take(struct engine *engine, struct batch *batch)
{
    struct engine_choice choice;
    pthread_mutex_lock(&engine->mutex);
    const bool chosen = engine_choose(engine, clock_ms(), &choice);
    if (chosen) {
        const bool claims = choice.kind == TICKET_LEASE && choice.mode == GRANT_CLAIM;
        *batch = (struct batch){.kind = choice.kind,
            .claim = {.mode = choice.mode, .replica = engine->replica},
            .in_shortage = claims && engine->is_short,
            .releases = engine->releases};
        engine->last_kind = choice.kind;
        engine->claiming |= batch->in_shortage;
        take_tickets(engine, batch);
        batch->claim.queued = engine->queue.count;
        batch->claim.reports = batch->in_shortage;
        engine_wake_worker(engine); /* which waits until what is left is worth a batch */
    }
    pthread_mutex_unlock(&engine->mutex);
    return chosen;
}

/* ---- running it */

static enum err run_once(
    struct engine_worker *worker, struct batch *batch, size_t from, size_t count, struct detail *detail)
{
    const struct engine_settings *settings = &worker->engine->settings;
    if (batch->kind == TICKET_BUMP)
        return bump_batch_run(worker->db, settings->keyd, &batch->bumps[from], count, detail);
    batch->claim.grants = &batch->grants[from];
    batch->claim.count = count;
    return grant_batch_run(worker->db, settings->keyd, &settings->grant, &batch->claim, detail);
}

static bool is_in_state(const struct engine_ticket *ticket, enum grant_state state)
{
    return (ticket->kind == TICKET_BUMP ? ticket->bump.state : ticket->grant.state) == state;
}

/* Keeps the outcome of a run; one that only refused proves nothing. Logs when batches of a kind begin to
 * fail, fail for another reason, or work again. */
static void note_outcome(struct engine *engine, const struct batch *batch, size_t from, size_t count,
    enum err e, const struct detail *detail)
{
    bool counts = e != ERR_OK;
    for (size_t i = from; i < from + count; i++)
        counts |= is_in_state(batch->tickets[i], GRANT_DONE);
    const enum ticket_kind kind = batch->kind;
    static const char *const failing[] = {"leases cannot be granted; requests get this error",
        "fee bumps cannot be signed; requests get this error"};
    static const char *const working[] = {"leases are granted again", "fee bumps are signed again"};
    pthread_mutex_lock(&engine->mutex);
    if (e != ERR_DATABASE_UNAVAILABLE && e != ERR_OUTCOME_UNKNOWN)
        engine->replied_ms = clock_ms();
    struct engine_outcome *outcome = &engine->outcomes[kind];
    if (counts && e != outcome->e) {
        if (e == ERR_OK)
            log_info(working[kind], NULL);
        else
            log_warn(failing[kind], "error=%s detail=\"%s\"", err_code(e), detail->text);
    }
    const int64_t now_ms = clock_ms();
    if (counts)
        *outcome = (struct engine_outcome){.failures = e == ERR_OK ? 0 : outcome->failures + 1,
            .ended_ms = now_ms,
            .failed_for_ms = e == ERR_OK ? 0 : now_ms - batch->run.began_ms,
            .e = e,
            .detail = e == ERR_OK ? (struct detail){""} : *detail};
    pthread_mutex_unlock(&engine->mutex);
}

static enum err run_again(
    struct engine_worker *worker, struct batch *batch, size_t from, size_t count, struct detail *detail)
{
    enum err e = run_once(worker, batch, from, count, detail);
    for (int tries = 1; tries < TRIES && engine_runs_again(&batch->run, e, clock_ms()); tries++)
        e = run_once(worker, batch, from, count, detail);
    return e;
}

/* Runs count tickets of the batch, unless e is an error already. Those that it leaves open wait for another
 * batch. When the database refuses them because of one item, or has them run again and again, each runs
 * alone while there is time, so that only that one fails. Returns the error of the last run that failed. */
static enum err run(struct engine_worker *worker, struct batch *batch, size_t from, size_t count, enum err e,
    struct detail *detail)
{
    if (e == ERR_OK)
        e = run_again(worker, batch, from, count, detail);
    if ((e == ERR_CONSTRAINT || e == ERR_INTERNAL || e == ERR_SERIALIZATION) && count > 1) {
        enum err of_items = ERR_OK;
        for (; count > 0 && engine_runs_again(&batch->run, ERR_SERIALIZATION, clock_ms()); from++, count--) {
            struct detail own = {0};
            const enum err of_item = run(worker, batch, from, 1, ERR_OK, &own);
            of_items = of_item != ERR_OK ? of_item : of_items;
        }
        if (count == 0)
            return of_items;
        e = ERR_SERIALIZATION; /* no time is left: the others wait */
    }
    note_outcome(worker->engine, batch, from, count, e, detail);
    for (size_t i = from; e != ERR_OK && i < from + count; i++) {
        if (!engine_waits_on(&batch->run, e, batch->tickets[i], clock_ms()))
            engine_set_refused(batch->tickets[i], e, detail);
        batch->tickets[i]->is_unknown |= e == ERR_OUTCOME_UNKNOWN;
    }
    return e;
}

/* ---- afterwards; the mutex is held */

void engine_accounts_released(struct engine *engine)
{
    engine->releases++;
    engine->claim_at_ms = 0;
}

/* What became of a batch's tickets. */
struct outcome {
    struct ticket_queue waiting, delayed, decided;
    bool is_faulty; /* one got an account whose seed does not open */
};

/* checked: the batch ran without error. */
static void sort_open(struct engine_ticket *ticket, bool checked, struct outcome *outcome)
{
    const bool lease = ticket->kind == TICKET_LEASE;
    if (lease && ticket->grant.open == OPEN_KEY_LOCKED) {
        ticket->delay_ms = engine_key_delay_ms(ticket->delay_ms);
        ticket->not_before_ms = clock_ms() + ticket->delay_ms;
        ticket->checked = false;
        ticket_queue_append(&outcome->delayed, ticket);
        return;
    }
    outcome->is_faulty |= lease && ticket->grant.open == OPEN_BROKEN_SEED;
    ticket->delay_ms = 0;
    ticket->checked = lease && checked;
    ticket->is_unknown &= !checked; /* its key was free */
    ticket_queue_append(&outcome->waiting, ticket);
}

static void sort_by_outcome(const struct batch *batch, bool checked, struct outcome *outcome)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct engine_ticket *ticket = batch->tickets[i];
        *ticket->had -=
            batch->kind == TICKET_BUMP || ticket->grant.state != GRANT_DONE || !ticket->grant.lease.first;
        const bool is_open = is_in_state(ticket, GRANT_OPEN);
        if (is_open && ticket->cancelled)
            engine_set_refused(ticket, ERR_CANCELLED, NULL);
        if (is_open && !ticket->cancelled)
            sort_open(ticket, checked, outcome);
        else
            ticket_queue_append(&outcome->decided, ticket);
    }
}

static void end_claim(struct engine *engine, const struct batch *batch)
{
    if (batch->claim.left > 0) {
        const bool missed = engine->releases != batch->releases;
        engine->is_short = true;
        engine->claim_at_ms = missed ? 0 : clock_ms() + engine_claim_delay_ms(&batch->claim);
    } else if (batch->in_shortage)
        engine->is_short = false;
}

static void call_done(struct ticket_queue *decided)
{
    for (struct engine_ticket *ticket = decided->first, *next; ticket != NULL; ticket = next) {
        next = ticket->next; /* done may free the ticket */
        engine_done(ticket);
    }
}

/* e: ERR_OK when every run of the batch was without error. */
static void finish(struct engine *engine, const struct batch *batch, enum err e)
{
    struct outcome outcome = {0};
    pthread_mutex_lock(&engine->mutex);
    INVARIANT(engine->taken >= batch->count && engine->claiming >= batch->in_shortage);
    engine->taken -= batch->count;
    engine->claiming &= !batch->in_shortage;
    sort_by_outcome(batch, e == ERR_OK, &outcome);
    if (batch->kind == TICKET_BUMP)
        ticket_queue_merge(&engine->bumps, &outcome.waiting);
    else {
        ticket_queue_merge(&engine->queue, &outcome.waiting);
        ticket_queue_merge(&engine->delayed, &outcome.delayed);
        engine->claimed += batch->claim.claimed;
        if (e == ERR_OK && batch->claim.mode == GRANT_CLAIM)
            end_claim(engine, batch);
        /* Other accounts may be idle, or other batches may have skipped an account that this one had locked.
         */
        if (e != ERR_OK || outcome.is_faulty || batch->claim.locked_unused)
            engine_accounts_released(engine);
        /* No request waits: else a database that is down would be asked without a pause. */
        engine->is_short &= e == ERR_OK || batch->count > 0;
    }
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
    call_done(&outcome.decided);
}

void *engine_worker_run(void *context)
{
    struct engine_worker *worker = context;
    struct batch batch;
    while (wait_for_work(worker->engine)) {
        struct detail detail = {0};
        const int64_t began_ms = clock_ms();
        db_set_deadline(worker->db, began_ms + ENGINE_CONNECT_MS);
        /* Before the batch is taken: tickets in the queue can be cancelled and time out meanwhile. */
        enum err e = db_connect(worker->db, &detail);
        if (!take(worker->engine, &batch))
            continue;
        /* The earliest deadline of its tickets limits all calls to the database. */
        batch.run = (struct engine_run){began_ms, clock_ms() + ENGINE_ANSWER_MS};
        for (size_t i = 0; i < batch.count; i++)
            if (engine_answer_end_ms(batch.tickets[i]) < batch.run.deadline_ms)
                batch.run.deadline_ms = engine_answer_end_ms(batch.tickets[i]);
        db_set_deadline(worker->db, batch.run.deadline_ms);
        finish(worker->engine, &batch, run(worker, &batch, 0, batch.count, e, &detail));
    }
    return NULL;
}
