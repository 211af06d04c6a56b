/* How many tickets wait in the queues of an engine: of its inside, which no program needs. */
#ifndef FAIRWAY_TESTS_ENGINE_WAITING_H
#define FAIRWAY_TESTS_ENGINE_WAITING_H

#include "grant/engine_state.h"

static inline size_t engine_waiting(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    const size_t count = engine->queue.count + engine->delayed.count + engine->bumps.count;
    pthread_mutex_unlock(&engine->mutex);
    return count;
}

#endif
