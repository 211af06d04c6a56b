/* DA7: the fees of a lease and of a fee bump, at every limit. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "stellar/policy.h"

static const struct policy_limits no_limits = {
    .base_fee_stroops = UINT32_MAX, .max_resource_fee_stroops = INT64_MAX};

static enum err fee(
    uint32_t base_fee_stroops, uint32_t operations, int64_t resource_fee_stroops, uint32_t *fee_stroops)
{
    struct envelope envelope = {.operation_count = operations, .resource_fee_stroops = resource_fee_stroops};
    struct policy_limits limits = no_limits;
    limits.base_fee_stroops = base_fee_stroops;
    return policy_fee(&envelope, &limits, fee_stroops, &(struct detail){0});
}

TEST(fee_is_base_fee_by_operations_and_resource_fee)
{
    static const struct {
        uint32_t base, operations;
        int64_t resource;
        uint32_t expected; /* 0: too high */
    } cases[] = {
        {100, 1, 0, 100},
        {1000000, 100, 0, 100000000},
        {100, 1, 12345, 12445},
        {1, 1, UINT32_MAX - 1, UINT32_MAX},
        {1, 1, UINT32_MAX, 0},
        {UINT32_MAX, 1, 0, UINT32_MAX},
        {UINT32_MAX, 1, 1, 0},
        {42949672, 100, 95, UINT32_MAX},
        {42949672, 100, 96, 0},
        {UINT32_MAX, 100, 0, 0},
        {UINT32_MAX, 100, INT64_MAX, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t got = 0;
        enum err e = fee(cases[i].base, cases[i].operations, cases[i].resource, &got);
        assert_int_equal(e, cases[i].expected == 0 ? ERR_FEE_EXCEEDS_MAXIMUM : ERR_OK);
        assert_int_equal(got, cases[i].expected);
    }
}

TEST(the_resource_fee_is_limited)
{
    struct policy_limits limits = {.base_fee_stroops = 100, .max_resource_fee_stroops = 50};
    struct envelope envelope = {.operation_count = 1, .resource_fee_stroops = 50};
    uint32_t got;
    assert_int_equal(policy_fee(&envelope, &limits, &got, NULL), ERR_OK);
    assert_int_equal(got, 150);
    envelope.resource_fee_stroops = 51;
    assert_int_equal(policy_fee(&envelope, &limits, &got, NULL), ERR_FEE_EXCEEDS_MAXIMUM);
    envelope.resource_fee_stroops = -1;
    assert_int_equal(policy_fee(&envelope, &limits, &got, NULL), ERR_INVALID_SOROBAN_TRANSACTION);
}

struct bump {
    uint32_t operations, inner_fee;
    int64_t resource, base, max, cap; /* max: the client's, 0: none */
    int64_t expected;                 /* 0: refused */
};

static void assert_bump(struct bump bump)
{
    struct envelope inner = {.operation_count = bump.operations,
        .fee_stroops = bump.inner_fee,
        .resource_fee_stroops = bump.resource};
    struct detail detail = {0};
    int64_t got = 0;
    enum err e = policy_bump_fee(&inner, &no_limits, bump.base, bump.max, bump.cap, &got, &detail);
    if (bump.expected != 0)
        assert_int_equal(e, ERR_OK);
    else if (e != ERR_FEE_BELOW_MINIMUM || bump.max == 0)
        assert_int_equal(e, ERR_FEE_EXCEEDS_MAXIMUM);
    assert_int_equal(got, bump.expected);
}

TEST(DA7_a_bump_costs_one_operation_more)
{
    assert_bump((struct bump){1, 100, 0, 100, 0, 10000, 200});
    assert_bump((struct bump){100, 10000, 0, 100, 0, 20000, 10100});
    assert_bump((struct bump){1, 600, 500, 100, 0, 10000, 700});
    /* From protocol 23 on an inner fee may be below its resource fee. */
    assert_bump((struct bump){1, 100, 500, 100, 0, 10000, 700});
}

TEST(DA7_a_client_may_bid_higher_but_never_pays_more_than_it_said)
{
    assert_bump((struct bump){1, 100, 0, 100, 200, 10000, 200});
    assert_bump((struct bump){1, 100, 0, 100, 201, 10000, 201});
    assert_bump((struct bump){1, 100, 0, 100, 10000, 10000, 10000});
    assert_bump((struct bump){1, 100, 0, 100, 199, 10000, 0});
    assert_bump((struct bump){1, 100, 0, 100, 1, 10000, 0});
    assert_bump((struct bump){1, 100, 0, 100, -1, 10000, 0});
    assert_bump((struct bump){1, 100, 0, 100, INT64_MIN, 10000, 0});
}

TEST(a_fee_above_the_cap_is_refused)
{
    assert_bump((struct bump){1, 100, 0, 100, 0, 200, 200});
    assert_bump((struct bump){1, 100, 0, 100, 0, 199, 0});
    assert_bump((struct bump){1, 100, 0, 100, 10001, 10000, 0});
    assert_bump((struct bump){1, 100, 0, 100, INT64_MAX, INT64_MAX - 1, 0});
    assert_bump((struct bump){1, 100, 0, 100, INT64_MAX, INT64_MAX, INT64_MAX});
}

TEST(the_refusal_names_the_maximum_and_the_minimum)
{
    struct envelope inner = {.operation_count = 1, .fee_stroops = 100};
    struct detail detail = {0};
    int64_t got;
    assert_int_equal(
        policy_bump_fee(&inner, &no_limits, 100, 0, 199, &got, &detail), ERR_FEE_EXCEEDS_MAXIMUM);
    assert_non_null(strstr(detail.text, "maximum of 199 stroops"));
    assert_int_equal(
        policy_bump_fee(&inner, &no_limits, 100, 901, 900, &got, &detail), ERR_FEE_EXCEEDS_MAXIMUM);
    assert_non_null(strstr(detail.text, "maximum of 900"));
    assert_int_equal(
        policy_bump_fee(&inner, &no_limits, 100, 150, 900, &got, &detail), ERR_FEE_BELOW_MINIMUM);
    assert_non_null(strstr(detail.text, "at least 200."));
}

TEST(an_inflated_resource_fee_is_refused)
{
    struct policy_limits limits = {.base_fee_stroops = 100, .max_resource_fee_stroops = 500};
    struct envelope inner = {.operation_count = 1, .fee_stroops = 600, .resource_fee_stroops = 501};
    int64_t got;
    assert_int_equal(policy_bump_fee(&inner, &limits, 100, 0, 10000, &got, NULL), ERR_FEE_EXCEEDS_MAXIMUM);
    inner.resource_fee_stroops = 500;
    assert_int_equal(policy_bump_fee(&inner, &limits, 100, 0, 10000, &got, NULL), ERR_OK);
    inner.resource_fee_stroops = -1;
    assert_int_equal(
        policy_bump_fee(&inner, &limits, 100, 0, 10000, &got, NULL), ERR_INVALID_SOROBAN_TRANSACTION);
}

TEST(DA7_no_value_overflows)
{
    assert_bump((struct bump){100, 100, 0, INT64_MAX, 0, INT64_MAX, 0});
    assert_bump((struct bump){1, 100, 0, INT64_MAX / 2, 0, INT64_MAX, INT64_MAX - 1});
    assert_bump((struct bump){1, 100, 0, INT64_MAX / 2 + 1, 0, INT64_MAX, 0});
    assert_bump((struct bump){1, 100, INT64_MAX, 100, 0, INT64_MAX, 0});
    assert_bump((struct bump){1, 100, INT64_MAX - 200, 100, 0, INT64_MAX, INT64_MAX});
    assert_bump((struct bump){1, 100, INT64_MAX - 199, 100, 0, INT64_MAX, 0});
    assert_bump((struct bump){100, UINT32_MAX, 0, 0, 0, INT64_MAX, 4337916968});
}

/*
 * The rule of stellar-core: outer inclusion fee x inner operations >= inner inclusion fee x (operations + 1),
 * also when the lease was granted under a higher base fee.
 */
TEST(CAP_15_the_rate_of_a_bump_is_never_below_the_inner_rate)
{
    static const uint32_t inner_fees[] = {0, 1, 99, 100, 101, 333, 100000, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(inner_fees); i++)
        for (uint32_t operations = 1; operations <= 100; operations++)
            for (int64_t resource = 0; resource <= 200; resource += 100) {
                struct envelope inner = {.operation_count = operations,
                    .fee_stroops = inner_fees[i],
                    .resource_fee_stroops = resource};
                int64_t got, inclusion = (int64_t)inner_fees[i] - resource;
                assert_int_equal(policy_bump_fee(&inner, &no_limits, 100, 0, INT64_MAX, &got, NULL), ERR_OK);
                assert_true((got - resource) * operations >= inclusion * (operations + 1));
                assert_true(got - resource >= 100 * ((int64_t)operations + 1));
                /* and not one stroop more than the rules require */
                assert_true((got - 1 - resource) * operations < inclusion * (operations + 1) ||
                            got - resource == 100 * ((int64_t)operations + 1));
            }
}

TEST(a_fee_bump_of_a_transaction_without_operations_is_refused)
{
    struct envelope inner = {.fee_stroops = 100};
    int64_t got;
    assert_int_equal(
        policy_bump_fee(&inner, &no_limits, 100, 0, 10000, &got, NULL), ERR_INVALID_OPERATION_STRUCTURE);
}
