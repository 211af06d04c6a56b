/* Retry pauses grow up to their limit and start again after a success. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backoff.h"

#define FIRST_MS 100
#define MAX_MS 1000

static void pauses_double_up_to_the_limit_and_jitter_takes_off_up_to_half(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct backoff backoff = {0};
        for (unsigned whole_ms = FIRST_MS, i = 0; i < 8; i++) {
            unsigned pause_ms = backoff_next(&backoff, FIRST_MS, MAX_MS);
            assert_in_range(pause_ms, whole_ms / 2, whole_ms);
            whole_ms = 2 * whole_ms < MAX_MS ? 2 * whole_ms : MAX_MS;
        }
    }
}

static void two_replicas_that_fail_together_do_not_retry_together(void **state)
{
    (void)state;
    unsigned equal = 0;
    for (int round = 0; round < 100; round++) {
        struct backoff one = {MAX_MS}, other = {MAX_MS};
        equal += backoff_next(&one, FIRST_MS, MAX_MS) == backoff_next(&other, FIRST_MS, MAX_MS);
    }
    assert_true(equal < 20);
}

static void after_a_success_the_pause_is_a_first_one(void **state)
{
    (void)state;
    struct backoff backoff = {0};
    for (int i = 0; i < 8; i++)
        (void)backoff_next(&backoff, FIRST_MS, MAX_MS);
    backoff_reset(&backoff);
    assert_in_range(backoff_next(&backoff, FIRST_MS, MAX_MS), FIRST_MS / 2, FIRST_MS);
}

static void a_first_pause_above_the_limit_is_cut_to_it(void **state)
{
    (void)state;
    struct backoff backoff = {0};
    assert_in_range(backoff_next(&backoff, 5 * MAX_MS, MAX_MS), MAX_MS / 2, MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_limit_and_jitter_takes_off_up_to_half),
        cmocka_unit_test(two_replicas_that_fail_together_do_not_retry_together),
        cmocka_unit_test(after_a_success_the_pause_is_a_first_one),
        cmocka_unit_test(a_first_pause_above_the_limit_is_cut_to_it),
    };
    return cmocka_run_group_tests_name("ingest/backoff", tests, NULL, NULL);
}
