/* The decisions of the lease engine, without locks, database or clock. */
#include "engine_choice.h"

/* Whether a batch of this queue is worth its cost now: while another batch runs, more tickets may come. */
static bool is_gathered(const struct engine *engine, const struct ticket_queue *queue, int64_t now_ms)
{
    return queue->count > 0 && (engine->taken == 0 || queue->count >= GRANT_BATCH_MAX ||
                                   queue->first->arrived_ms + ENGINE_GATHER_MS <= now_ms);
}

bool engine_choose(const struct engine *engine, int64_t now_ms, struct engine_choice *choice)
{
    const bool claim = engine->is_short ? !engine->claiming && engine->claim_at_ms <= now_ms
                                        : is_gathered(engine, &engine->queue, now_ms),
               check = engine->is_short && engine->queue.unchecked > 0, leases = claim || check,
               bumps = is_gathered(engine, &engine->bumps, now_ms);
    choice->mode = claim ? GRANT_CLAIM : GRANT_CHECK;
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
    int64_t next_ms = engine->is_short && !engine->claiming ? engine->claim_at_ms : 0;
    if (!engine->is_short && engine->queue.count > 0)
        earlier(&next_ms, engine->queue.first->arrived_ms + ENGINE_GATHER_MS);
    if (engine->bumps.count > 0)
        earlier(&next_ms, engine->bumps.first->arrived_ms + ENGINE_GATHER_MS);
    for (const struct engine_ticket *ticket = engine->delayed.first; ticket != NULL; ticket = ticket->next)
        earlier(&next_ms, ticket->not_before_ms);
    return next_ms;
}

int engine_claim_delay_ms(const struct grant_batch *claim)
{
    if (claim->claimed == claim->count && claim->share > (int64_t)claim->count)
        return 0; /* the share is larger than a batch */
    return claim->idle > (int64_t)claim->claimed ? ENGINE_CLAIM_SOON_MS : ENGINE_CLAIM_MS;
}

int64_t engine_wait_end_ms(const struct engine_ticket *ticket)
{
    return ticket->arrived_ms + ticket->wait_ms;
}

int64_t engine_answer_end_ms(const struct engine_ticket *ticket)
{
    return engine_wait_end_ms(ticket) +
           (ticket->wait_ms > ENGINE_WAIT_MS ? ENGINE_LONG_BATCH_MS : ENGINE_BATCH_MS);
}

static bool has_time(const struct engine_run *run, int64_t now_ms)
{
    return run->deadline_ms - now_ms > ENGINE_RETRY_LEFT_MS;
}

static bool is_at_once(const struct engine_run *run, int64_t now_ms)
{
    return now_ms - run->began_ms < ENGINE_AT_ONCE_MS && has_time(run, now_ms);
}

bool engine_runs_again(const struct engine_run *run, enum err e, int64_t now_ms)
{
    return e == ERR_SERIALIZATION ? has_time(run, now_ms)
                                  : e == ERR_DATABASE_UNAVAILABLE && is_at_once(run, now_ms);
}

/* A key finds the lease that may have been committed. */
static bool asks_again(const struct engine_run *run, const struct engine_ticket *ticket, int64_t now_ms)
{
    return !has_time(run, now_ms) && ticket->kind == TICKET_LEASE && ticket->grant.request != NULL &&
           ticket->grant.request->idempotency_key[0] != '\0';
}

bool engine_waits_on(
    const struct engine_run *run, enum err e, const struct engine_ticket *ticket, int64_t now_ms)
{
    const bool unavailable = e == ERR_DATABASE_UNAVAILABLE || e == ERR_KEYD_UNAVAILABLE;
    return (e == ERR_SERIALIZATION || (unavailable && !is_at_once(run, now_ms)) ||
               (e == ERR_OUTCOME_UNKNOWN && asks_again(run, ticket, now_ms))) &&
           now_ms < engine_wait_end_ms(ticket);
}

int engine_key_delay_ms(int delay_ms)
{
    const int longer_ms = delay_ms == 0 ? ENGINE_KEY_DELAY_FIRST_MS : 2 * delay_ms;
    return longer_ms < ENGINE_KEY_DELAY_MAX_MS ? longer_ms : ENGINE_KEY_DELAY_MAX_MS;
}
