/* What a client may use of one process at once. */
#include "check.h"

#include <stdio.h>

#include "client_loads.h"

#define SECOND_US 1000000

static struct client_loads loads;
static struct client_load *load; /* of the last request that began */
static enum limit limit;         /* that refused the last one that did not */
static int retry_after_s;        /* then */

static int set_up(void **state)
{
    client_loads_init(&loads);
    return 0;
}

static int tear_down(void **state)
{
    client_loads_free(&loads);
    return 0;
}

#define IN_FLIGHT(n) ((struct limits){.most = {[LIMIT_REQUESTS_IN_FLIGHT] = (n)}})
#define PER_SECOND(n) ((struct limits){.most = {[LIMIT_REQUESTS_PER_SECOND] = (n)}})
#define BOTH(a, b)                                                                                           \
    ((struct limits){.most = {[LIMIT_REQUESTS_IN_FLIGHT] = (a), [LIMIT_REQUESTS_PER_SECOND] = (b)}})

static bool begins(const char *client, struct limits limits, uint64_t body_bytes, int64_t now_us)
{
    limit = client_loads_begin(&loads, client, &limits, body_bytes, now_us, &load, &retry_after_s);
    return limit == LIMIT_NONE;
}

/* How many requests with such a body begin and end at this time. */
static unsigned count(const char *client, uint32_t per_second, uint64_t body_bytes, int64_t now_us)
{
    unsigned taken = 0;
    while (taken < 1000 && begins(client, PER_SECOND(per_second), body_bytes, now_us)) {
        client_loads_end(&loads, load);
        taken++;
    }
    return taken;
}

TEST_WITH(a_client_has_so_many_requests_in_progress_and_another_one_as_many, set_up, tear_down)
{
    const struct limits three = IN_FLIGHT(3);
    struct client_load *first = NULL;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(begins("a", three, 0, 0));
        first = load;
    }
    assert_false(begins("a", three, 0, 0));
    assert_int_equal(limit, LIMIT_REQUESTS_IN_FLIGHT);
    assert_int_equal(retry_after_s, 1);
    assert_true(begins("b", three, 0, 0));
    client_loads_end(&loads, first);
    assert_true(begins("a", three, 0, 0));
    assert_false(begins("a", three, 0, 0));
    assert_true(begins("a", IN_FLIGHT(0), 0, 0)); /* when it is alone */
}

TEST_WITH(a_client_sends_so_many_requests_a_second_and_saves_no_more_than_a_second, set_up, tear_down)
{
    assert_int_equal(count("a", 10, 0, 0), 10);
    assert_int_equal(limit, LIMIT_REQUESTS_PER_SECOND);
    assert_int_equal(retry_after_s, 1);
    assert_int_equal(count("b", 10, 0, 0), 10);
    assert_int_equal(count("a", 10, 0, SECOND_US / 10 - 1), 0);
    assert_int_equal(count("a", 10, 0, SECOND_US / 10), 1);
    assert_int_equal(count("a", 10, 0, SECOND_US / 2), 4);
    assert_int_equal(count("a", 10, 0, 100 * SECOND_US), 10);
    assert_int_equal(count("a", 0, 0, 100 * SECOND_US), 1000);
    assert_int_equal(count("c", 1, 0, 0), 1);
}

TEST_WITH(a_body_counts_by_its_size, set_up, tear_down)
{
    assert_int_equal(count("small", 10, CLIENT_LOAD_BODY_BYTES - 1, 0), 10);
    assert_int_equal(count("page", 10, CLIENT_LOAD_BODY_BYTES, 0), 5);
    /* One that costs more than a second is let in, and the next ones wait for it. */
    assert_int_equal(count("large", 10, 24 * CLIENT_LOAD_BODY_BYTES, 0), 1);
    assert_int_equal(retry_after_s, 2);
    assert_int_equal(count("large", 10, 0, 6 * SECOND_US / 10 - 1), 0);
    assert_int_equal(retry_after_s, 2);
    assert_int_equal(count("large", 10, 0, 6 * SECOND_US / 10), 0);
    assert_int_equal(retry_after_s, 1);
    assert_int_equal(count("large", 10, 0, 16 * SECOND_US / 10 - 1), 0);
    assert_int_equal(count("large", 10, 0, 16 * SECOND_US / 10), 1);
}

TEST_WITH(a_request_that_is_refused_costs_nothing, set_up, tear_down)
{
    const struct limits both = BOTH(1, 2);
    assert_true(begins("a", both, 0, 0));
    for (unsigned i = 0; i < 10; i++)
        assert_false(begins("a", both, 0, 0));
    client_loads_end(&loads, load);
    assert_true(begins("a", both, 0, 0));
    client_loads_end(&loads, load);
    assert_false(begins("a", both, 0, 0));
    assert_int_equal(limit, LIMIT_REQUESTS_PER_SECOND);
    assert_true(begins("a", both, 0, SECOND_US / 2));
}

TEST_WITH(waits_are_counted_apart, set_up, tear_down)
{
    const struct limits two = {.most = {[LIMIT_WAITS] = 2}}, none = {0};
    struct client_load *a, *b;
    assert_true(begins("a", IN_FLIGHT(0), 0, 0));
    a = load;
    assert_true(begins("b", IN_FLIGHT(0), 0, 0));
    b = load;
    assert_int_equal(client_loads_begin_wait(&loads, a, &two), LIMIT_NONE);
    assert_int_equal(client_loads_begin_wait(&loads, a, &two), LIMIT_NONE);
    assert_int_equal(client_loads_begin_wait(&loads, a, &two), LIMIT_WAITS);
    assert_int_equal(client_loads_begin_wait(&loads, b, &two), LIMIT_NONE);
    assert_int_equal(client_loads_begin_wait(&loads, b, &none), LIMIT_NONE);
    assert_int_equal(client_loads_begin_wait(&loads, b, &none), LIMIT_NONE);
    client_loads_end_wait(&loads, a);
    assert_int_equal(client_loads_begin_wait(&loads, a, &two), LIMIT_NONE);
}

/* Names come and go as CLIENTS_FILE changes, so the records of those that have gone are used again. */
TEST_WITH(a_record_in_use_is_kept_and_any_other_is_used_again, set_up, tear_down)
{
    const struct limits limits = BOTH(1, 1);
    struct client_load *busy, *first;
    assert_true(begins("busy", limits, 0, 0));
    busy = load;
    assert_true(begins("first", limits, 0, 0));
    first = load;
    client_loads_end(&loads, first);
    for (unsigned i = 1; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "client-%u", i);
        assert_true(begins(name, limits, 0, i * SECOND_US));
        assert_ptr_equal(load, first);
        client_loads_end(&loads, load);
    }
    assert_false(begins("busy", limits, 0, 200 * SECOND_US));
    assert_ptr_equal(load, busy);
    assert_true(begins("busier", limits, 0, 99 * SECOND_US)); /* client-99 has not had its second yet */
    assert_ptr_not_equal(load, first);
    assert_false(begins("client-99", limits, 0, 99 * SECOND_US));
}

/* One begins, of a client without requestsPerSecond; and ends, unless it goes on. */
static bool simulates(bool scarce, int64_t now_us)
{
    return client_loads_begin_simulation(&loads, load, &PER_SECOND(0), true, scarce, now_us) == LIMIT_NONE;
}

static bool fails(bool scarce, int64_t now_us)
{
    const bool begun = simulates(scarce, now_us);
    if (begun)
        client_loads_end_simulation(&loads, load, &PER_SECOND(0), true, scarce, now_us);
    return begun;
}

/* Else one client's failing simulations use up the RPC for all. */
TEST_WITH(a_failed_simulation_counts_ten_times_or_five_are_free_each_second, set_up, tear_down)
{
    const struct limits none = PER_SECOND(0), twenty = PER_SECOND(20);
    assert_true(begins("a", twenty, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(client_loads_begin_simulation(&loads, load, &twenty, true, false, 0), LIMIT_NONE);
        client_loads_end_simulation(&loads, load, &twenty, i == 0, false, 0);
    }
    client_loads_end(&loads, load);
    assert_int_equal(count("a", 20, 0, 0), 10);
    assert_true(begins("b", none, 0, 0));
    for (unsigned i = 0; i < CLIENT_LOAD_FAILED_MAX; i++)
        assert_true(fails(false, 0));
    assert_false(fails(false, 0));
    for (unsigned i = 0; i < 500; i++)
        assert_true(simulates(false, SECOND_US));
    for (unsigned i = 0; i < 500; i++)
        client_loads_end_simulation(&loads, load, &none, true, false, SECOND_US);
    assert_false(fails(false, 10 * SECOND_US));
    assert_true(fails(false, 11 * SECOND_US));
    client_loads_end(&loads, load);
    assert_true(begins("c", none, 0, 11 * SECOND_US)); /* it does not get b's record */
    assert_true(simulates(false, 11 * SECOND_US));
}

TEST_WITH(
    while_rpcs_refuse_a_client_that_fails_has_one_simulation_at_a_time_and_others_all, set_up, tear_down)
{
    assert_true(begins("a", PER_SECOND(0), 0, 0));
    assert_true(fails(true, 0));
    assert_false(simulates(true, SECOND_US / 10));
    assert_true(simulates(true, SECOND_US / 2));
    assert_false(simulates(true, SECOND_US / 2));
    assert_true(fails(false, SECOND_US / 2));
    client_loads_end_simulation(&loads, load, &PER_SECOND(0), true, true, SECOND_US / 2);
    assert_false(simulates(true, SECOND_US));
    assert_true(fails(true, 3 * SECOND_US));
    assert_true(begins("b", PER_SECOND(0), 0, 0));
    for (unsigned i = 0; i < 64; i++)
        assert_true(simulates(true, 0));
}
