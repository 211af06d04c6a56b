/* How many accounts a transaction may have, and what it offers to pay. */
#include "check.h"
#include "prepare.h"

TEST(a_transaction_has_no_more_accounts_than_signatures_allow)
{
    assert_int_equal(prepare_limit(PROVISIONING_CREATION, INT64_MAX), 18);
    assert_int_equal(prepare_limit(PROVISIONING_MERGE, INT64_MAX), 18);
}

TEST(a_low_fee_cap_allows_fewer_accounts_and_below_the_minimum_fee_none)
{
    assert_int_equal(prepare_limit(PROVISIONING_CREATION, 5500), 18);
    assert_int_equal(prepare_limit(PROVISIONING_CREATION, 5499), 17);
    assert_int_equal(prepare_limit(PROVISIONING_CREATION, 400), 1);
    assert_int_equal(prepare_limit(PROVISIONING_CREATION, 399), 0);
    assert_int_equal(prepare_limit(PROVISIONING_MERGE, 399), 2);
}

TEST(the_fee_doubles_with_each_failure_up_to_the_cap)
{
    const struct provision_settings settings = {
        .fee_per_operation_stroops = 10000, .max_fee_stroops = 1000000};
    assert_int_equal(prepare_fee(PROVISIONING_CREATION, 2, 0, &settings), 70000);
    assert_int_equal(prepare_fee(PROVISIONING_MERGE, 2, 0, &settings), 30000);
    assert_int_equal(prepare_fee(PROVISIONING_CREATION, 2, 1, &settings), 140000);
    assert_int_equal(prepare_fee(PROVISIONING_CREATION, 2, 3, &settings), 560000);
    assert_int_equal(prepare_fee(PROVISIONING_CREATION, 2, 4, &settings), 1000000);
    assert_int_equal(prepare_fee(PROVISIONING_CREATION, 2, UINT32_MAX, &settings), 1000000);
}

TEST(a_fee_always_fits_its_field)
{
    const struct provision_settings settings = {
        .fee_per_operation_stroops = 100000000, .max_fee_stroops = 1000000000000};
    assert_true(prepare_fee(PROVISIONING_CREATION, 18, 0, &settings) == UINT32_MAX);
    assert_true(prepare_fee(PROVISIONING_CREATION, 13, 0, &settings) == 4000000000);
}
