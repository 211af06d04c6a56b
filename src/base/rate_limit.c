/* A limit on how often something happens in a period. It never waits. */
#include "base/rate_limit.h"

#include <pthread.h>
#include <stddef.h>

#include "base/clock.h"

#define LINES 20
#define LINES_MS 10000

/* One mutex for all limits: it is held for a few instructions. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool rate_limit_allows(struct rate_limit *limit, unsigned most, int period_ms, unsigned *refused)
{
    const int64_t now_ms = clock_ms();
    pthread_mutex_lock(&mutex);
    if (now_ms >= limit->period_end_ms) {
        limit->period_end_ms = now_ms + period_ms;
        limit->allowed = 0;
    }
    const bool allows = limit->allowed < most;
    if (refused != NULL)
        *refused = limit->refused;
    limit->refused = allows ? 0 : limit->refused + 1;
    limit->allowed += allows;
    pthread_mutex_unlock(&mutex);
    return allows;
}

bool rate_limit_line(struct rate_limit *limit, unsigned *not_logged)
{
    return rate_limit_allows(limit, LINES, LINES_MS, not_logged);
}
