/* When a hold ends (DR10): the close times of ledgers decide, even if a wrong clock began the hold. */
#include "pool/grants_allowed.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "stellar/policy.h"

#define LEDGER_MS 5000
#define SLACK grants_clock_slack_s(LEDGER_MS)
#define NOW INT64_C(1800000000)

static int64_t after(int64_t until_s, int64_t close_time_s, int64_t clock_s)
{
    return grants_hold_after(until_s, close_time_s, clock_s, LEDGER_MS);
}

TEST(H18_the_clock_may_be_off_by_30_seconds_and_a_ledger)
{
    assert_int_equal(grants_clock_slack_s(LEDGER_MS), 35);
    assert_int_equal(grants_clock_slack_s(600), 31);
}

static struct grants_state granting(void)
{
    return (struct grants_state){
        .known = true, .same_database = true, .ledger = 7, .close_time_s = NOW, .clock_s = NOW};
}

static void assert_check(const struct grants_state *given, uint32_t seen, const char *why)
{
    struct detail detail = {0};
    assert_int_equal(
        grants_check(given, LEDGER_MS, seen, &detail), why == NULL ? ERR_OK : ERR_GRANTS_SUSPENDED);
    assert_true(why == NULL || strstr(detail.text, why) != NULL);
}

TEST(H18_each_condition_alone_suspends_grants)
{
    struct grants_state one = granting();
    assert_check(&one, 7, NULL);
    assert_check(&one, 8, "set back");
    assert_check(&(struct grants_state){0}, 0, "no ledger");
    one.clock_s = NOW + SLACK;
    assert_check(&one, 0, NULL);
    one.clock_s = NOW + SLACK + 1;
    assert_check(&one, 0, "apart");
    one.clock_s = NOW - SLACK - 1;
    assert_check(&one, 0, "apart");
    one = granting();
    one.same_database = false;
    assert_check(&one, 0, "failed over");
    one = granting();
    one.held_until_s = NOW - 1;
    assert_check(&one, 0, "on hold");
    one = granting();
    one.stopped = true;
    snprintf(one.reason, sizeof one.reason, "a gap");
    assert_check(&one, 0, "a gap");
}

TEST(DR10_a_ledger_that_closed_after_the_hold_ends_it)
{
    assert_int_equal(after(NOW, NOW + 1, NOW + 1), 0);
}

TEST(DR10_a_ledger_that_closed_in_the_last_second_of_the_hold_does_not_end_it)
{
    assert_int_equal(after(NOW, NOW, NOW), NOW);
    assert_int_equal(after(NOW, NOW - 100, NOW + 100), NOW);
}

TEST(DR10_the_clock_alone_ends_no_hold)
{
    assert_int_equal(after(NOW, NOW - 1000, NOW + 1000), NOW);
}

TEST(DR10_a_clock_within_the_slack_does_not_extend_the_hold)
{
    assert_int_equal(after(NOW, NOW + 1, NOW + 1 - SLACK), 0);
}

TEST(DR10_a_clock_slower_than_the_slack_starts_the_hold_again)
{
    const int64_t close_time_s = NOW + 1, clock_s = close_time_s - SLACK - 1;
    assert_int_equal(after(NOW, close_time_s, clock_s), close_time_s + LEASE_SECONDS_MAX + 2 * SLACK);
    /* never shorter than before */
    assert_int_equal(after(NOW + 10000, close_time_s, clock_s), NOW + 10000);
}

/* The worst case: the clock of the lost database was fast by the slack, ours is slow by it. */
TEST(DR10_a_hold_outlasts_every_lease_that_two_wrong_clocks_allow)
{
    const int64_t ledgers_s = NOW, theirs_s = ledgers_s + SLACK, ours_s = ledgers_s - SLACK;
    const int64_t longest_s = theirs_s + LEASE_SECONDS_MAX;
    const int64_t until_s =
        after(0, ours_s + SLACK + 1, ours_s) - 1 - SLACK; /* a hold counted from our clock */
    assert_true(until_s >= longest_s);
}
