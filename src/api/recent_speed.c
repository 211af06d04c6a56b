/* Samples of this process's metrics, one in five seconds. */
#include "api/recent_speed.h"

#include <pthread.h>

#include "base/clock.h"

#define SAMPLE_EVERY_MS 5000
#define SAMPLES 13 /* a minute, and the time between two */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct speed_sample samples[SAMPLES];
static size_t next, count;

static struct speed_sample sample(int64_t bounds[METRIC_BUCKETS])
{
    struct speed_sample now = {.at_ms = clock_ms(), .granted = metric_read(METRIC_LEASES_GRANTED, 0, 0)};
    (void)metric_buckets(METRIC_LEASE_WAIT, 0, 0, now.waits, bounds);
    for (unsigned rpc = 0; rpc < METRIC_MAX_RPC; rpc++) {
        now.refuted[rpc] = metric_read(METRIC_RPC_REFUTED, rpc, 0);
        for (unsigned method = 0; method < METRIC_MAX_METHOD; method++) {
            const int64_t failed =
                metric_read(METRIC_RPC_CALLS, rpc, METRIC_PAIR(method, METRIC_CALL_FAILED, RESULT));
            now.failed[rpc] += failed;
            now.calls[rpc] +=
                failed + metric_read(METRIC_RPC_CALLS, rpc, METRIC_PAIR(method, METRIC_CALL_OK, RESULT)) +
                metric_read(METRIC_RPC_CALLS, rpc, METRIC_PAIR(method, METRIC_CALL_ERROR, RESULT));
        }
    }
    return now;
}

void recent_speed_keep(void)
{
    int64_t bounds[METRIC_BUCKETS];
    pthread_mutex_lock(&mutex);
    if (count == 0 || clock_left_ms(samples[(next + SAMPLES - 1) % SAMPLES].at_ms + SAMPLE_EVERY_MS) == 0) {
        samples[next] = sample(bounds);
        next = (next + 1) % SAMPLES;
        count += count < SAMPLES;
    }
    pthread_mutex_unlock(&mutex);
}

/* The bound under which this share of the observations is. */
static int64_t quantile(
    const int64_t counts[METRIC_BUCKETS], const int64_t bounds[METRIC_BUCKETS], double share)
{
    int64_t all = 0, below = 0;
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        all += counts[i];
    if (all == 0)
        return -1;
    for (size_t i = 0; i + 1 < METRIC_BUCKETS; i++)
        if ((double)(below += counts[i]) >= share * (double)all)
            return bounds[i];
    return INT64_MAX;
}

/* Compares with the oldest sample that is kept. */
struct speed recent_speed_read(void)
{
    int64_t bounds[METRIC_BUCKETS] = {0}, waits[METRIC_BUCKETS];
    const struct speed_sample now = sample(bounds);
    pthread_mutex_lock(&mutex);
    const struct speed_sample then = count == 0 ? now : samples[(next + SAMPLES - count) % SAMPLES];
    pthread_mutex_unlock(&mutex);
    struct speed speed = {.over_ms = now.at_ms - then.at_ms, .granted = now.granted - then.granted};
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        waits[i] = now.waits[i] - then.waits[i];
    speed.p50_us = quantile(waits, bounds, 0.5);
    speed.p99_us = quantile(waits, bounds, 0.99);
    for (size_t rpc = 0; rpc < METRIC_MAX_RPC; rpc++) {
        speed.calls[rpc] = now.calls[rpc] - then.calls[rpc];
        speed.failed[rpc] = now.failed[rpc] - then.failed[rpc];
        speed.refuted[rpc] = now.refuted[rpc] - then.refuted[rpc];
    }
    return speed;
}
