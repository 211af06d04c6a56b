/* Counters and histograms: each event once, buckets by their bounds, bounded values of labels. */
#include "base/metric.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"

static char *text(void)
{
    char *out;
    size_t len;
    FILE *file = open_memstream(&out, &len);
    metric_write(file);
    fclose(file);
    return out;
}

static void assert_says(const char *line)
{
    AUTO_FREE char *all = text();
    AUTO_FREE char *whole = mem_format("\n%s\n", line);
    if (strstr(all, whole) == NULL)
        fail_msg("no line %s", line);
}

TEST(a_series_is_there_before_its_first_event)
{
    assert_says("# TYPE fairway_http_requests_total counter");
    assert_says("fairway_http_requests_total{route=\"other\",code=\"INTERNAL\"} 0");
    assert_says("fairway_http_request_duration_seconds_bucket{route=\"other\",le=\"+Inf\"} 0");
    assert_says("fairway_http_request_duration_seconds_sum{route=\"other\"} 0.000000");
    assert_says("fairway_http_connections{listener=\"admin\"} 0");
}

/* A value that equals a bound is in its bucket, and in all above. */
TEST(a_time_is_in_the_buckets_that_are_not_below_it)
{
    const unsigned route = metric_label_add(METRIC_ROUTE, "GET /a");
    metric_observe(METRIC_REQUEST_SECONDS, route, 0, 1000);
    metric_observe(METRIC_REQUEST_SECONDS, route, 0, 1001);
    metric_observe(METRIC_REQUEST_SECONDS, route, 0, 60000001);
    assert_says("fairway_http_request_duration_seconds_bucket{route=\"GET /a\",le=\"0.001\"} 1");
    assert_says("fairway_http_request_duration_seconds_bucket{route=\"GET /a\",le=\"0.0025\"} 2");
    assert_says("fairway_http_request_duration_seconds_bucket{route=\"GET /a\",le=\"60\"} 2");
    assert_says("fairway_http_request_duration_seconds_bucket{route=\"GET /a\",le=\"+Inf\"} 3");
    assert_says("fairway_http_request_duration_seconds_sum{route=\"GET /a\"} 60.002002");
    assert_says("fairway_http_request_duration_seconds_count{route=\"GET /a\"} 3");
    assert_int_equal(metric_read(METRIC_REQUEST_SECONDS, route, 0), 3);
}

TEST(each_series_has_its_own_value)
{
    const unsigned route = metric_label_add(METRIC_ROUTE, "GET /b");
    metric_add(METRIC_REQUESTS, route, ERR_NOT_FOUND, 2);
    metric_add(METRIC_REQUESTS, route, ERR_INTERNAL, 3);
    assert_says("fairway_http_requests_total{route=\"GET /b\",code=\"NOT_FOUND\"} 2");
    assert_says("fairway_http_requests_total{route=\"GET /b\",code=\"INTERNAL\"} 3");
    assert_int_equal(metric_read(METRIC_REQUESTS, METRIC_OTHER, ERR_NOT_FOUND), 0);
}

TEST(clients_after_the_sixteenth_are_one)
{
    for (int i = 0; i < 16; i++) {
        AUTO_FREE char *name = mem_format("client-%d", i);
        assert_int_equal(metric_label_add(METRIC_CLIENT, name), METRIC_NO_CLIENT + 1 + i);
        assert_int_equal(metric_label_add(METRIC_CLIENT, name), METRIC_NO_CLIENT + 1 + i);
    }
    assert_int_equal(metric_label_add(METRIC_CLIENT, "one-more"), METRIC_OTHER);
    assert_int_equal(metric_label_find(METRIC_CLIENT, "one-more"), METRIC_OTHER);
    assert_int_equal(metric_label_find(METRIC_CLIENT, "client-15"), METRIC_NO_CLIENT + 16);
}

#define THREADS 4
#define EACH 20000

static void *count(void *context)
{
    for (int i = 0; i < EACH; i++) {
        metric_add(METRIC_REQUESTS, METRIC_OTHER, ERR_OK, 1);
        metric_observe(METRIC_REQUEST_SECONDS, METRIC_OTHER, 0, i);
    }
    return NULL;
}

TEST(no_event_of_several_threads_is_lost)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(metric_read(METRIC_REQUESTS, METRIC_OTHER, ERR_OK), THREADS * EACH);
    assert_int_equal(metric_read(METRIC_REQUEST_SECONDS, METRIC_OTHER, 0), THREADS * EACH);
}
