/* How fast this replica has been in the last minute: differences of its metrics, which recent_speed_keep
 * keeps. Any thread. */
#pragma once

#include "base/metric.h"

struct speed_sample {
    int64_t at_ms; /* clock_ms */
    int64_t granted, waits[METRIC_BUCKETS];
    /* By place in RPC_URL: calls of each method, and ledgers that were refuted. */
    int64_t calls[METRIC_MAX_RPC][METRIC_MAX_METHOD], failed[METRIC_MAX_RPC][METRIC_MAX_METHOD];
    int64_t refuted[METRIC_MAX_RPC];
};

struct speed {
    int64_t over_ms; /* the time that this is about: a minute, or less */
    int64_t granted; /* leases */
    int64_t p50_us,
        p99_us; /* of the wait for a lease: the upper bounds of the histogram; -1: none; INT64_MAX */
    /* By place in RPC_URL: of all methods, or of one of which more than half, and three, have failed. */
    int64_t calls[METRIC_MAX_RPC], failed[METRIC_MAX_RPC];
    int64_t refuted[METRIC_MAX_RPC];
};

/* To be called about once a second, whoever asks meanwhile. */
void recent_speed_keep(void);
struct speed recent_speed_read(void);
