/* What waits in an engine: of its inside, which no program needs. */
#pragma once

#include "base/clock.h"
#include "grant/engine_state.h"

static inline size_t engine_waiting(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    const size_t count = engine->queue.count + engine->delayed.count + engine->bumps.count;
    pthread_mutex_unlock(&engine->mutex);
    return count;
}

/* In a shortage: from now on the next claim waits until the engine is woken, and no longer for its time.
 * Returns false when a claim is due or runs, or there is no shortage. */
static inline bool engine_claim_waits(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    const bool waits = engine->is_short && !engine->claiming && engine->claim_at_ms != 0;
    if (waits)
        engine->claim_at_ms = clock_ms() + 3600000;
    pthread_mutex_unlock(&engine->mutex);
    return waits;
}
