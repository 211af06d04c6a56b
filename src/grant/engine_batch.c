#include "engine_batch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine_choice.h"

/* Between attempts at a request whose idempotency key another transaction has locked; first, as long as a
 * grant takes. */
#define KEY_DELAY_FIRST_MS 5
#define KEY_DELAY_MAX_MS 500
/* Between attempts at idle accounts that are the share of another replica. */
#define RECLAIM_FIRST_MS 20
#define RECLAIM_MAX_MS 200
/* How long new requests wait until the other replicas see them, so that one claim publishes many. */
#define PUBLISH_MS 200

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

bool engine_batch_wait(struct engine *engine)
{
    struct engine_choice choice;
    pthread_mutex_lock(&engine->mutex);
    while (!engine->stopping && !engine_choose(engine, &choice)) {
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

static int compare_times(const void *a, const void *b)
{
    const int64_t one_ms = *(const int64_t *)a, other_ms = *(const int64_t *)b;
    return (one_ms > other_ms) - (one_ms < other_ms);
}

/* Gives the ticket the turn at this place in the order of its replica. The first GRANT_SHARING_MAX are
 * published. */
static void give_turn(struct engine *engine, struct engine_ticket *ticket, size_t place)
{
    ticket->turn_ms = engine->turns_ms[place];
    if (place < GRANT_SHARING_MAX)
        ticket->published_by = engine->claims;
}

/* The requests of the batch and of the queue, which arrived in this order, exchange their turns: the one that
 * arrived first gets the earliest. Returns their number. */
static size_t exchange_turns(struct engine *engine, struct engine_batch *batch)
{
    int64_t *turns_ms = engine->turns_ms;
    size_t count = 0, given = 0;
    for (size_t i = 0; i < batch->count; i++)
        turns_ms[count++] = batch->tickets[i]->turn_ms;
    for (const struct engine_ticket *ticket = engine->queue.first; ticket != NULL; ticket = ticket->next)
        turns_ms[count++] = ticket->turn_ms;
    qsort(turns_ms, count, sizeof turns_ms[0], compare_times);
    for (size_t i = 0; i < batch->count; i++)
        give_turn(engine, batch->tickets[i], given++);
    for (struct engine_ticket *ticket = engine->queue.first; ticket != NULL; ticket = ticket->next)
        give_turn(engine, ticket, given++);
    return count;
}

/* Fills in what the batch publishes: the earliest turns of all requests that wait for an account. */
static void fill_sharing(struct engine *engine, struct engine_batch *batch)
{
    struct grant_sharing *sharing = &batch->sharing;
    const int64_t now_ms = clock_ms();
    engine->claims++;
    const size_t count = exchange_turns(engine, batch);
    sharing->count = count < GRANT_SHARING_MAX ? count : GRANT_SHARING_MAX;
    for (size_t i = 0; i < sharing->count; i++)
        sharing->waited_ms[i] = now_ms - engine->turns_ms[i];
}

static void take_tickets(struct engine *engine, struct engine_batch *batch, struct ticket_queue *from)
{
    for (struct engine_ticket *ticket;
         batch->count < GRANT_BATCH_MAX && (ticket = ticket_queue_take(from)) != NULL;) {
        if (batch->kind == TICKET_BUMP)
            batch->bumps[batch->count] = &ticket->bump;
        else
            batch->grants[batch->count] = &ticket->grant;
        batch->tickets[batch->count++] = ticket;
    }
    engine->taken += batch->count;
}

static void take_leases(struct engine *engine, struct engine_batch *batch, enum grant_mode mode)
{
    struct ticket_queue unchecked = {0};
    batch->grant = (struct grant_batch){.grants = batch->grants, .mode = mode, .sharing = &batch->sharing};
    batch->sharing.replica = engine->replica;
    if (mode == GRANT_CHECK)
        ticket_queue_take_unchecked(&engine->queue, GRANT_BATCH_MAX, &unchecked);
    take_tickets(engine, batch, mode == GRANT_CHECK ? &unchecked : &engine->queue);
    batch->grant.count = batch->count;
    if (mode != GRANT_CLAIM_SHARE)
        return;
    engine->accounts = ACCOUNTS_CLAIMING;
    engine->reclaim_ms = 0;
    fill_sharing(engine, batch);
}

bool engine_batch_take(struct engine *engine, struct engine_batch *batch)
{
    struct engine_choice choice;
    pthread_mutex_lock(&engine->mutex);
    const bool chosen = engine_choose(engine, &choice);
    if (chosen) {
        batch->kind = engine->last_kind = choice.kind;
        batch->count = 0;
        if (choice.kind == TICKET_BUMP)
            take_tickets(engine, batch, &engine->bumps);
        else
            take_leases(engine, batch, choice.mode);
        engine_wake_worker(engine); /* which waits until what is left is worth a batch */
    }
    pthread_mutex_unlock(&engine->mutex);
    return chosen;
}

int64_t engine_batch_deadline_ms(const struct engine_batch *batch)
{
    /* Tickets are in the order of their arrival. */
    const int64_t earliest_ms = batch->count > 0 ? batch->tickets[0]->arrived_ms : clock_ms();
    return earliest_ms + (batch->kind == TICKET_BUMP ? ENGINE_BUMP_ANSWER_MS : ENGINE_ANSWER_MS);
}

/* ---- afterwards; the mutex is held */

/* Plans another claim. The delay grows while claims grant nothing. */
static void plan_reclaim(struct engine *engine, bool granted)
{
    const int delay_ms = engine->reclaim_delay_ms;
    engine->reclaim_delay_ms =
        delay_ms == 0 || granted ? RECLAIM_FIRST_MS : smaller(delay_ms * 2, RECLAIM_MAX_MS);
    engine->reclaim_ms = clock_ms() + engine->reclaim_delay_ms;
}

/* New requests wait for an account. The other replicas see them after the next claim. */
static void plan_publishing(struct engine *engine)
{
    if (engine->reclaim_ms == 0)
        engine->reclaim_ms = clock_ms() + PUBLISH_MS;
}

/* Ends a claim of the share. decided: how many of the batch's tickets were granted or refused. */
static void finish_claim(struct engine *engine, const struct engine_batch *batch, size_t decided)
{
    const struct grant_sharing *sharing = &batch->sharing;
    engine->published = sharing->shortage_over || decided > sharing->count ? 0 : sharing->count - decided;
    if (sharing->shortage_over || (engine->queue.count == 0 && engine->published == 0)) {
        engine->accounts = ACCOUNTS_ENOUGH;
        return;
    }
    engine->accounts = engine->accounts == ACCOUNTS_CLAIMING_DUE ? ACCOUNTS_CLAIM_DUE : ACCOUNTS_SHORT;
    if (decided == GRANT_BATCH_MAX && sharing->share > GRANT_BATCH_MAX)
        engine->accounts = ACCOUNTS_CLAIM_DUE; /* the share is larger than a batch */
    else if (sharing->idle > (int64_t)decided)
        plan_reclaim(engine, decided > 0); /* the others are the share of other replicas, or locked by them */
}

/* A claim outside a shortage found too few accounts. */
static void begin_shortage(struct engine *engine)
{
    if (engine->accounts == ACCOUNTS_ENOUGH)
        engine->accounts = ACCOUNTS_CLAIM_DUE;
    else
        engine_accounts_released(engine);
}

/* The ticket waits for another batch. */
static void put_back(struct engine_ticket *ticket, struct ticket_queue *waiting, struct ticket_queue *delayed)
{
    ticket->checked = ticket->grant.open != OPEN_KEY_LOCKED;
    if (ticket->checked) {
        ticket->delay_ms = 0;
        ticket_queue_append(waiting, ticket);
        return;
    }
    ticket->delay_ms =
        ticket->delay_ms == 0 ? KEY_DELAY_FIRST_MS : smaller(ticket->delay_ms * 2, KEY_DELAY_MAX_MS);
    ticket->not_before_ms = clock_ms() + ticket->delay_ms;
    ticket_queue_append(delayed, ticket);
}

/* What became of a batch's tickets. */
struct outcome {
    struct ticket_queue waiting, delayed, decided, cancelled;
    bool is_short;  /* a ticket of `waiting` found no account */
    bool is_new;    /* the other replicas should know the turn of one, and do not */
    bool is_faulty; /* one got an account whose seed does not open */
};

/* Whether the next claim will publish the ticket's turn, and the last one did not. */
static bool is_new(const struct engine *engine, const struct engine_ticket *ticket)
{
    return ticket->published_by != engine->claims &&
           (engine->published < GRANT_SHARING_MAX ||
               ticket->turn_ms < engine->turns_ms[GRANT_SHARING_MAX - 1]);
}

static void sort_by_outcome(
    const struct engine *engine, const struct engine_batch *batch, struct outcome *outcome)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct engine_ticket *ticket = batch->tickets[i];
        if (batch->kind == TICKET_BUMP || ticket->grant.state != GRANT_OPEN) {
            ticket_queue_append(&outcome->decided, ticket);
        } else if (ticket->cancelled) {
            ticket_queue_append(&outcome->cancelled, ticket);
        } else {
            outcome->is_short |= ticket->grant.open == OPEN_NO_ACCOUNT;
            outcome->is_new |= ticket->grant.open == OPEN_NO_ACCOUNT && is_new(engine, ticket);
            outcome->is_faulty |= ticket->grant.open == OPEN_BROKEN_SEED;
            put_back(ticket, &outcome->waiting, &outcome->delayed);
        }
    }
}

/* The mutex is held. */
static void finish_leases(struct engine *engine, const struct engine_batch *batch, struct outcome *outcome)
{
    ticket_queue_merge(&engine->queue, &outcome->waiting);
    ticket_queue_merge(&engine->delayed, &outcome->delayed);
    if (batch->grant.mode == GRANT_CLAIM_SHARE)
        finish_claim(engine, batch, outcome->decided.count);
    else if (batch->grant.mode == GRANT_CLAIM && outcome->is_short)
        begin_shortage(engine);
    else if (batch->grant.mode == GRANT_CHECK && outcome->is_new)
        plan_publishing(engine);
    /* Other accounts may be idle, or other batches may have skipped an account that this one had locked. */
    if (outcome->is_faulty || batch->grant.locked_unused)
        engine_accounts_released(engine);
    engine_deadline_changed(engine);
}

void engine_batch_finish(struct engine *engine, struct engine_batch *batch)
{
    struct outcome outcome = {0};
    pthread_mutex_lock(&engine->mutex);
    engine->taken -= batch->count;
    sort_by_outcome(engine, batch, &outcome);
    if (batch->kind == TICKET_LEASE)
        finish_leases(engine, batch, &outcome);
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
    for (struct engine_ticket *ticket = outcome.decided.first, *next; ticket != NULL; ticket = next) {
        next = ticket->next; /* done may free the ticket */
        ticket->done(ticket);
    }
    engine_refuse_all(&outcome.cancelled, ERR_CANCELLED, NULL);
}

void engine_batch_abandon_claim(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->replica = engine_replica_number(); /* the row of the old number may still be locked; it expires */
    engine->published = 0;
    engine->accounts = engine->queue.count > 0 ? ACCOUNTS_CLAIM_DUE : ACCOUNTS_ENOUGH;
    pthread_mutex_unlock(&engine->mutex);
}

void engine_batch_fail(
    struct engine *engine, struct engine_batch *batch, enum err e, const struct detail *detail)
{
    const bool leases = batch->kind == TICKET_LEASE;
    if (leases && batch->grant.mode == GRANT_CLAIM_SHARE)
        engine_batch_abandon_claim(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->taken -= batch->count;
    if (leases && engine->queue.count > 0)
        engine_accounts_released(engine); /* its accounts are idle again */
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
    for (size_t i = 0; i < batch->count; i++)
        engine_refuse(batch->tickets[i], e, detail);
}
