#include "engine_choice.h"

#include "base/clock.h"

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

/* Whether a batch of this queue is worth its cost now: while another batch runs, more tickets may come. */
static bool is_gathered(const struct engine *engine, const struct ticket_queue *queue, int64_t now_ms)
{
    return queue->count > 0 && (engine->taken == 0 || queue->count >= GRANT_BATCH_MAX ||
                                   queue->first->arrived_ms + ENGINE_GATHER_MS <= now_ms);
}

/* Returns false when there is no lease to grant now. */
static bool choose_mode(struct engine *engine, int64_t now_ms, enum grant_mode *mode)
{
    if (engine->accounts == ACCOUNTS_ENOUGH) {
        *mode = GRANT_CLAIM;
        return is_gathered(engine, &engine->queue, now_ms);
    }
    if (engine->reclaim_ms != 0 && engine->reclaim_ms <= now_ms)
        engine_accounts_released(engine);
    if (engine->accounts == ACCOUNTS_CLAIM_DUE) {
        *mode = GRANT_CLAIM_SHARE;
        return true;
    }
    *mode = GRANT_CHECK;
    return engine->queue.unchecked > 0;
}

bool engine_choose(struct engine *engine, struct engine_choice *choice)
{
    const int64_t now_ms = clock_ms();
    resume_delayed(engine, now_ms);
    const bool leases = choose_mode(engine, now_ms, &choice->mode),
               bumps = is_gathered(engine, &engine->bumps, now_ms);
    choice->kind = bumps && (!leases || engine->last_kind == TICKET_LEASE) ? TICKET_BUMP : TICKET_LEASE;
    return leases || bumps;
}

static void earlier(int64_t *next_ms, int64_t at_ms)
{
    if (*next_ms == 0 || at_ms < *next_ms)
        *next_ms = at_ms;
}

int64_t engine_choose_again_ms(const struct engine *engine)
{
    int64_t next_ms = engine->accounts == ACCOUNTS_SHORT ? engine->reclaim_ms : 0;
    if (engine->accounts == ACCOUNTS_ENOUGH && engine->queue.count > 0)
        earlier(&next_ms, engine->queue.first->arrived_ms + ENGINE_GATHER_MS);
    if (engine->bumps.count > 0)
        earlier(&next_ms, engine->bumps.first->arrived_ms + ENGINE_GATHER_MS);
    for (const struct engine_ticket *ticket = engine->delayed.first; ticket != NULL; ticket = ticket->next)
        earlier(&next_ms, ticket->not_before_ms);
    return next_ms;
}
