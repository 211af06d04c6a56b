/* Pauses that grow. What is tried again is not known here. */
#include "base/backoff.h"

#include <stdlib.h>

unsigned backoff_next(struct backoff *backoff, unsigned first_ms, unsigned max_ms)
{
    const unsigned next_ms = backoff->pause_ms == 0 ? first_ms : 2 * backoff->pause_ms;
    backoff->pause_ms = next_ms < max_ms ? next_ms : max_ms;
    return backoff->pause_ms - arc4random_uniform(backoff->pause_ms / 2 + 1);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->pause_ms = 0;
}
