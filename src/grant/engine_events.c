/* What happens to the engine from outside its workers: accounts are released, and time passes. Nothing here
 * waits for the database. */
#include "base/clock.h"
#include "engine_choice.h"

void engine_released(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine_accounts_released(engine);
    engine_wake_worker(engine);
    pthread_mutex_unlock(&engine->mutex);
}

bool engine_tick(void *context)
{
    struct engine *engine = context;
    static const struct detail silence = {"the database has not replied to any batch for seconds"};
    const int64_t now_ms = clock_ms();
    pthread_mutex_lock(&engine->mutex);
    const bool silent = now_ms - engine->replied_ms > ENGINE_SILENCE_MS;
    const enum err busy = silent ? ERR_DATABASE_UNAVAILABLE : ERR_OVERLOADED;
    const enum err none = silent || !engine->is_short ? busy : ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
    const struct detail *detail = silent ? &silence : NULL;
    struct ticket_queue leases = {0}, bumps = {0};
    ticket_queue_take_arrived(&engine->queue, now_ms - ENGINE_WAIT_MS, &leases);
    ticket_queue_take_arrived(&engine->delayed, now_ms - ENGINE_WAIT_MS, &leases);
    ticket_queue_take_arrived(&engine->bumps, now_ms - ENGINE_BUMP_WAIT_MS, &bumps);
    const bool watches =
        engine->queue.count + engine->delayed.count + engine->bumps.count + engine->taken > 0;
    pthread_mutex_unlock(&engine->mutex);
    engine_refuse_all(&leases, none, detail);
    engine_refuse_all(&bumps, busy, detail);
    return watches; /* tickets of a batch may be queued again */
}
