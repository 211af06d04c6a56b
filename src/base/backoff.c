/* Pauses that grow. What is tried again is not known here. */
#include "base/backoff.h"

#include <sys/random.h>

#include "base/clock.h"

/* Returns a number below n. Jitter needs no good randomness. */
static unsigned random_below(unsigned n)
{
    unsigned number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = (unsigned)clock_us();
    return n > 0 ? number % n : 0;
}

unsigned backoff_next(struct backoff *backoff, unsigned first_ms, unsigned max_ms)
{
    const unsigned next_ms = backoff->pause_ms == 0 ? first_ms : 2 * backoff->pause_ms;
    backoff->pause_ms = next_ms < max_ms ? next_ms : max_ms;
    return backoff->pause_ms - random_below(backoff->pause_ms / 2 + 1);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->pause_ms = 0;
}
