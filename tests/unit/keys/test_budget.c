/* Rules of budget.h. */
#include <string.h>

#include "check.h"
#include "budget.h"

#define SECOND 1000000
#define HOUR (3600LL * SECOND)

static const struct keyd_budget limits = {.signatures_per_second = 100, .fee_stroops_per_hour = 3600000};

static struct budget full(int64_t now_us)
{
    return budget_of(&limits, limits.fee_stroops_per_hour, now_us);
}

static bool refused(struct budget *budget, int64_t now_us, unsigned signatures, int64_t fee_stroops)
{
    struct detail detail = {0};
    enum err e = budget_take(budget, now_us, signatures, fee_stroops, &detail);
    assert_true(e == ERR_OK || e == ERR_KEYD_BUDGET);
    assert_true((e == ERR_OK) == (detail.text[0] == '\0'));
    return e != ERR_OK;
}

TEST(a_full_budget_gives_one_period_and_then_what_the_time_brings)
{
    struct budget budget = full(5 * SECOND);
    for (int i = 0; i < 100; i++)
        assert_false(refused(&budget, 5 * SECOND, 1, 0));
    assert_true(refused(&budget, 5 * SECOND, 1, 0));
    assert_true(refused(&budget, 5 * SECOND + 9999, 1, 0));
    assert_false(refused(&budget, 5 * SECOND + 10001, 1, 0)); /* a hundredth of a second later */
    assert_true(refused(&budget, 5 * SECOND + 10002, 1, 0));
    assert_false(refused(&budget, 6 * SECOND + 10010, 100, 0));
    assert_true(refused(&budget, 6 * SECOND + 10011, 1, 0));
}

TEST(fees_are_counted_by_the_hour_and_name_their_option)
{
    struct budget budget = full(0);
    struct detail detail;
    assert_false(refused(&budget, 0, 1, 3600000));
    assert_int_equal(budget_take(&budget, 0, 1, 1, &detail), ERR_KEYD_BUDGET);
    assert_non_null(strstr(detail.text, "KEYD_MAX_FEES_PER_HOUR=3600000"));
    assert_false(refused(&budget, 60 * SECOND, 1, 59999)); /* 1000 a second */
    assert_true(refused(&budget, 60 * SECOND, 1, 3));
    assert_int_equal(budget_take(&budget, 60 * SECOND, 101, 0, &detail), ERR_KEYD_BUDGET);
    assert_non_null(strstr(detail.text, "100 a second"));
}

TEST(fees_start_with_a_twelfth_of_an_hour)
{
    struct budget budget = budget_of(&limits, 100000, 0);
    assert_true(refused(&budget, 0, 1, 300001));
    assert_false(refused(&budget, 0, 1, 300000));
    assert_true(refused(&budget, 0, 1, 1));
    assert_false(refused(&budget, HOUR / 2, 1, 1800000)); /* it fills as ever */
    assert_true(refused(&budget, HOUR / 2, 1, 1));
}

TEST(every_fee_that_may_be_signed_can_be_signed_at_the_start)
{
    struct budget budget = budget_of(&limits, 300001, 0);
    assert_false(refused(&budget, 0, 1, 300001));
    assert_true(refused(&budget, 0, 1, 1));
    budget = budget_of(&limits, INT64_MAX, 0); /* at most the amount of an hour */
    assert_false(refused(&budget, 0, 1, 3600000));
    assert_true(refused(&budget, 0, 1, 1));
}

TEST(what_is_refused_takes_nothing)
{
    struct budget budget = full(0);
    assert_true(refused(&budget, 0, 1, 3600001));
    assert_true(refused(&budget, 0, 101, 1));
    assert_false(refused(&budget, 0, 100, 3600000));
}

TEST(an_idle_time_saves_at_most_one_period)
{
    struct budget budget = full(0);
    assert_false(refused(&budget, 1000 * HOUR, 100, 3600000));
    assert_true(refused(&budget, 1000 * HOUR, 1, 0));
    assert_true(refused(&budget, 1000 * HOUR, 0, 1));
}

/* One stroop in 100 us is far below what one step brings in whole stroops. */
TEST(small_steps_lose_nothing)
{
    struct budget budget = full(0);
    int64_t taken = 0;
    for (int64_t now_us = 0; now_us < 10 * SECOND; now_us += 100)
        while (!refused(&budget, now_us, 0, 1000))
            taken += 1000;
    assert_in_range(taken, 3600000 + 9 * 1000, 3600000 + 10 * 1000);
}
