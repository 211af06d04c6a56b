/* Limits how often something is done that others can cause as often as they like: a log line, a check. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* {0} is new. */
struct rate_limit {
    int64_t period_end_ms;
    unsigned allowed; /* in this period */
    unsigned refused; /* since it was last allowed */
};

/*
 * Returns whether to do it now: at most `most` times in period_ms. If so, *refused (may be NULL) is how often
 * it was refused since the last time. From any thread.
 */
bool rate_limit_allows(struct rate_limit *limit, unsigned most, int period_ms, unsigned *refused);

/* The same for a log line that clients can cause: at most 20 times in ten seconds. */
bool rate_limit_line(struct rate_limit *limit, unsigned *not_logged);
