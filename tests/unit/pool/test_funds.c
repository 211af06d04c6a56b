/* What the distribution account can spend, and when that is too little. */
#include <string.h>

#include "check.h"
#include "pool/funds.h"

static const struct funds_limits limits = {
    .payment_stroops = 20000, .low_payments = 1000, .min_payments = 100};

static int64_t spendable(int64_t balance, int64_t reserves, int64_t base_reserve, int64_t selling)
{
    const struct account_entry read = {
        .balance_stroops = balance, .reserves = reserves, .selling_stroops = selling};
    struct funds funds = {.bound = true};
    assert_true(funds_take(&funds, &read, 1, base_reserve));
    return funds.spendable_stroops;
}

TEST(reserves_and_selling_liabilities_cannot_be_spent)
{
    assert_int_equal(spendable(100000000, 2, 5000000, 0), 90000000);
    assert_int_equal(spendable(100000000, 17, 5000000, 0), 15000000);
    assert_int_equal(spendable(100000000, 17, 5000000, 15000000), 0);
    assert_int_equal(spendable(100000000, 17, 5000000, 14999999), 1);
    assert_int_equal(spendable(100000000, 21, 5000000, 0), 0);
    /* its own two reserves are sponsored too */
    assert_int_equal(spendable(100, 0, 5000000, 0), 100);
}

TEST(impossible_numbers_leave_nothing_to_spend)
{
    assert_int_equal(spendable(INT64_MAX, INT64_MAX, UINT32_MAX, 0), 0);
    assert_int_equal(spendable(INT64_MAX, -1, 1, 0), 0);
    assert_int_equal(spendable(INT64_MIN, 1, 1, 0), 0);
    assert_int_equal(spendable(INT64_MAX, 0, 0, INT64_MIN), 0);
    assert_int_equal(spendable(-1, 0, 0, 0), 0);
}

static enum funds_level level(int64_t spendable_stroops)
{
    const struct funds funds = {.known = true, .spendable_stroops = spendable_stroops};
    return funds_level(&funds, &limits);
}

TEST(the_limits_separate_the_levels)
{
    assert_int_equal(level(1000 * 20000), FUNDS_OK);
    assert_int_equal(level(1000 * 20000 - 1), FUNDS_LOW);
    assert_int_equal(level(100 * 20000), FUNDS_LOW);
    assert_int_equal(level(100 * 20000 - 1), FUNDS_TOO_LOW);
    assert_int_equal(level(0), FUNDS_TOO_LOW);
    assert_int_equal(funds_level(&(struct funds){.known = false}, &limits), FUNDS_UNKNOWN);
}

TEST(a_lease_is_refused_below_the_minimum_and_granted_while_the_balance_is_unknown)
{
    static const struct funds_limits no_floor = {.payment_stroops = 20000, .low_payments = 1000}, none = {0};
    struct detail detail = {0};
    assert_int_equal(funds_check_lease(100 * 20000, &limits, &detail), ERR_OK);
    assert_int_equal(
        funds_check_lease(100 * 20000 - 1, &limits, &detail), ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED);
    assert_non_null(strstr(detail.text, "can spend 0.1999999 XLM, 99 payments"));
    assert_non_null(strstr(detail.text, "MIN_BALANCE_PAYMENTS is 100"));
    assert_int_equal(funds_check_lease(FUNDS_NOT_KNOWN, &limits, &detail), ERR_OK);
    assert_int_equal(funds_check_lease(0, &no_floor, &detail), ERR_OK);
    assert_int_equal(funds_check_lease(0, &none, &detail), ERR_OK);
}

TEST(a_fee_bump_is_refused_only_if_the_account_cannot_pay_it)
{
    struct detail detail = {0};
    assert_int_equal(funds_check_bump(20000, 20000, &detail), ERR_OK);
    assert_int_equal(funds_check_bump(19999, 20000, &detail), ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED);
    assert_non_null(strstr(detail.text, "19999"));
    assert_int_equal(funds_check_bump(FUNDS_NOT_KNOWN, INT64_MAX, &detail), ERR_OK);
}

TEST(the_last_read_of_the_account_counts)
{
    const struct public_key ours = {{1}}, other = {{2}};
    const struct account_entry rich = {.key = ours,
                                   .balance_stroops = 90000000,
                                   .reserves = 4,
                                   .selling_stroops = 7},
                               merged = {.key = ours, .removed = true}, foreign = {.key = other};
    struct funds funds = {.bound = true, .account = ours}, unbound = {.bound = false};
    assert_true(funds_take(&funds, &rich, UINT32_MAX, 5000000));
    assert_true(funds.known);
    assert_int_equal(funds.ledger, UINT32_MAX);
    assert_int_equal(funds.balance_stroops, 90000000);
    assert_int_equal(funds.spendable_stroops, 90000000 - 4 * 5000000 - 7);
    assert_false(funds_take(&funds, &foreign, 101, 5000000));
    assert_int_equal(funds.balance_stroops, 90000000);
    assert_true(funds_take(&funds, &merged, 100, 5000000)); /* the read before named a wrong ledger */
    assert_int_equal(funds.ledger, 100);
    assert_int_equal(funds.spendable_stroops, 0);
    assert_false(funds_take(&unbound, &rich, 100, 5000000));
    assert_false(unbound.known);
}
