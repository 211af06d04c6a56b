/* When a hold ends (DR10): by the close times of ledgers, never by a clock, and not where a wrong clock began
 * it. */
#include "pool/grants_allowed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "grant/grant.h"

#define LEDGER_SECONDS 5
#define SLACK grants_clock_slack_s(LEDGER_SECONDS)
#define NOW INT64_C(1800000000)

static int64_t after(int64_t until_s, int64_t close_time_s, int64_t clock_s)
{
    return grants_hold_after(until_s, close_time_s, clock_s, LEDGER_SECONDS);
}

static void DR10_a_ledger_that_closed_after_the_hold_ends_it(void **state)
{
    (void)state;
    assert_int_equal(after(NOW, NOW + 1, NOW + 1), 0);
}

static void DR10_a_ledger_at_the_very_second_may_still_include_a_forgotten_lease(void **state)
{
    (void)state;
    assert_int_equal(after(NOW, NOW, NOW), NOW);
    assert_int_equal(after(NOW, NOW - 100, NOW + 100), NOW);
}

static void DR10_the_clock_alone_ends_nothing(void **state)
{
    (void)state;
    assert_int_equal(after(NOW, NOW - 1000, NOW + 1000), NOW);
}

static void DR10_a_clock_within_the_slack_of_grants_is_believed(void **state)
{
    (void)state;
    assert_int_equal(after(NOW, NOW + 1, NOW + 1 - SLACK), 0);
}

static void DR10_a_clock_further_behind_the_ledgers_begins_the_hold_anew(void **state)
{
    (void)state;
    const int64_t close_time_s = NOW + 1, clock_s = close_time_s - SLACK - 1;
    assert_int_equal(after(NOW, close_time_s, clock_s), close_time_s + LEASE_SECONDS_MAX + 2 * SLACK);
    /* never earlier than it was */
    assert_int_equal(after(NOW + 10000, close_time_s, clock_s), NOW + 10000);
}

/* The worst that grants allow: the lost database's clock ahead of the ledgers, ours behind them. */
static void DR10_a_hold_outlasts_every_lease_that_two_wrong_clocks_allow(void **state)
{
    (void)state;
    const int64_t ledgers_s = NOW, theirs_s = ledgers_s + SLACK, ours_s = ledgers_s - SLACK;
    const int64_t longest_s = theirs_s + LEASE_SECONDS_MAX;
    const int64_t until_s = after(0, ours_s + SLACK + 1, ours_s) - 1 - SLACK; /* as begun by our clock */
    assert_true(until_s >= longest_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DR10_a_ledger_that_closed_after_the_hold_ends_it),
        cmocka_unit_test(DR10_a_ledger_at_the_very_second_may_still_include_a_forgotten_lease),
        cmocka_unit_test(DR10_the_clock_alone_ends_nothing),
        cmocka_unit_test(DR10_a_clock_within_the_slack_of_grants_is_believed),
        cmocka_unit_test(DR10_a_clock_further_behind_the_ledgers_begins_the_hold_anew),
        cmocka_unit_test(DR10_a_hold_outlasts_every_lease_that_two_wrong_clocks_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
