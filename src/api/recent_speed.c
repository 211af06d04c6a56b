/* Samples of this process's metrics, one in five seconds. */
#include "api/recent_speed.h"

#include <pthread.h>

#include "base/clock.h"

#define SAMPLE_EVERY_MS 5000
#define SAMPLES 13 /* a minute, and the time between two */
#define CALLS_MIN 3

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
            now.failed[rpc][method] = failed;
            now.calls[rpc][method] =
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

/* Whether its last three calls or more, those since a sample, did not fail. */
static bool works_again(const struct speed_sample *now, size_t rpc, size_t method)
{
    for (size_t i = 1; i <= count; i++) {
        const struct speed_sample *then = &samples[(next + SAMPLES - i) % SAMPLES];
        if (now->failed[rpc][method] != then->failed[rpc][method])
            return false;
        if (now->calls[rpc][method] - then->calls[rpc][method] >= CALLS_MIN)
            return true;
    }
    return false;
}

static void count_calls(
    struct speed *speed, size_t rpc, const struct speed_sample *then, const struct speed_sample *now)
{
    int64_t calls, failed;
    for (size_t method = 0; method < METRIC_MAX_METHOD; method++) {
        speed->calls[rpc] += calls = now->calls[rpc][method] - then->calls[rpc][method];
        failed = works_again(now, rpc, method) ? 0 : now->failed[rpc][method] - then->failed[rpc][method];
        speed->failed[rpc] += failed;
        if (failed < CALLS_MIN || failed * 2 <= calls)
            continue;
        speed->calls[rpc] = calls;
        speed->failed[rpc] = failed;
        return;
    }
}

/* Compares with the oldest sample that is kept. */
struct speed recent_speed_read(void)
{
    int64_t bounds[METRIC_BUCKETS] = {0}, waits[METRIC_BUCKETS];
    const struct speed_sample now = sample(bounds);
    pthread_mutex_lock(&mutex);
    const struct speed_sample then = count == 0 ? now : samples[(next + SAMPLES - count) % SAMPLES];
    struct speed speed = {.over_ms = now.at_ms - then.at_ms, .granted = now.granted - then.granted};
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        waits[i] = now.waits[i] - then.waits[i];
    speed.p50_us = quantile(waits, bounds, 0.5);
    speed.p99_us = quantile(waits, bounds, 0.99);
    for (size_t rpc = 0; rpc < METRIC_MAX_RPC; rpc++) {
        count_calls(&speed, rpc, &then, &now);
        speed.refuted[rpc] = now.refuted[rpc] - then.refuted[rpc];
    }
    pthread_mutex_unlock(&mutex);
    return speed;
}
