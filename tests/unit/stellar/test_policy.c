/* Limits of stellar/policy.h for requests, and for what a channel account may sign. test_policy_property.c
 * has the rules that no limit decides. */
#include "check.h"
#include "stellar/envelope_build.h"
#include "judge.h"

/* A call whose user has not signed an entry gets another error: test_policy_property.c. */
TEST(an_operation_without_a_source_is_refused_as_such)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 3);
    add_payment(&sample, NO_SOURCE, 0);
    assert_refused(&sample, ERR_INVALID_OPERATION_STRUCTURE, "operations[1] has no source account");
}

/* FEE_BUMP_BASE_FEE=10000 and MAX_FEE=1000000: 100 operations and one more cost 1,010,000. */
TEST(a_transaction_whose_fee_bump_exceeds_the_maximum_is_refused)
{
    struct policy_limits limits = sample_limits;
    struct named_accounts named;
    struct detail detail = {0};
    AUTO_SAMPLE sample = SAMPLE;
    for (int i = 0; i < 99; i++)
        add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    limits.bump_base_fee_stroops = 10000;
    limits.max_bump_fee_stroops = 1000000;
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_OK);
    add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(policy_check(&sample.view, &limits, &named, &detail), ERR_FEE_EXCEEDS_MAXIMUM);
    assert_non_null(strstr(detail.text, "at least 1010000 stroops"));
    assert_non_null(strstr(detail.text, "maximum of 1000000"));
    /* The rate of the inner fee counts too (CAP-15). */
    limits = (struct policy_limits){
        .base_fee_stroops = 10000, .bump_base_fee_stroops = 100, .max_bump_fee_stroops = 1009999};
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_FEE_EXCEEDS_MAXIMUM);
    limits.max_bump_fee_stroops = 1010000;
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_OK);
    /* keyd does not check the cost of a fee bump. */
    limits.max_bump_fee_stroops = 0;
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_OK);
}

/* The resource fee is added to the cap. The inner fee, which includes it, must fit its field of 32 bits. */
TEST(the_fee_bump_cap_excludes_the_resource_fee)
{
    struct policy_limits limits = {.base_fee_stroops = 100,
        .max_resource_fee_stroops = INT64_MAX,
        .bump_base_fee_stroops = 100,
        .max_bump_fee_stroops = 200};
    struct named_accounts named;
    AUTO_SAMPLE sample = SAMPLE;
    sample.resource_fee_stroops = UINT32_MAX - 100;
    add_invoke(&sample, PLAIN, 1, 0, NULL);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_OK);
    limits.max_bump_fee_stroops = 199;
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_FEE_EXCEEDS_MAXIMUM);
    limits.max_bump_fee_stroops = INT64_MAX;
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_OK);
    sample.resource_fee_stroops++;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(policy_check(&sample.view, &limits, &named, NULL), ERR_FEE_EXCEEDS_MAXIMUM);
}

/* 1,120 bytes of claimants each. */
TEST(a_classic_transaction_that_no_node_relays_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    for (uint8_t i = 0; i < 100; i++)
        add_large_claimable_balance(&sample, 3);
    assert_refused(&sample, ERR_INVALID_TRANSACTION, "the network takes at most 102400");
}

/* A lease to be signed by sample_key(1) at now = 1000. */
struct lease_case {
    struct transaction_head head;
    int64_t max_fee_stroops;
    uint64_t now_s;
};
#define LEASE_CASE                                                                                           \
    {                                                                                                        \
        {sample_key(1), 100, 5, 1300}, 100, 1000                                                             \
    }

static enum err check_lease(struct sample *sample, struct lease_case lease)
{
    CLEANUP(buf_free) struct buf transaction = {0};
    struct public_key signer = sample_key(1);
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    transaction_build(&sample->view, &lease.head, &transaction);
    struct envelope decoded;
    assert_int_equal(transaction_decode(buf_bytes(&transaction), &decoded, NULL), ERR_OK);
    return policy_check_lease(
        &decoded, &signer, &sample_limits, lease.max_fee_stroops, lease.now_s, &(struct detail){0});
}

TEST(a_lease_has_the_plain_signer_as_source)
{
    AUTO_SAMPLE sample = SAMPLE;
    struct lease_case lease = LEASE_CASE;
    add_payment(&sample, PLAIN, 3);
    lease.head.source = sample_key(2);
    assert_int_equal(check_lease(&sample, lease), ERR_INVALID_TRANSACTION);

    struct public_key client = sample_key(CLIENT);
    set_times(&sample, 0, 1300);
    sample.source = MUXED;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(
        policy_check_lease(&sample.view, &client, &sample_limits, 100, 1000, NULL), ERR_INVALID_TRANSACTION);
    sample.source = PLAIN;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(policy_check_lease(&sample.view, &client, &sample_limits, 100, 1000, NULL), ERR_OK);
}

TEST(a_lease_costs_no_more_than_the_cap)
{
    AUTO_SAMPLE sample = SAMPLE;
    struct lease_case lease = LEASE_CASE;
    add_payment(&sample, PLAIN, 3);
    lease.head.fee_stroops = 101;
    assert_int_equal(check_lease(&sample, lease), ERR_FEE_EXCEEDS_MAXIMUM);
    lease.max_fee_stroops = INT64_MAX;
    lease.head.fee_stroops = UINT32_MAX;
    assert_int_equal(check_lease(&sample, lease), ERR_OK);
    lease.max_fee_stroops = -1;
    assert_int_equal(check_lease(&sample, lease), ERR_FEE_EXCEEDS_MAXIMUM);
}

TEST(a_lease_ends_within_300_seconds)
{
    AUTO_SAMPLE sample = SAMPLE;
    struct lease_case lease = LEASE_CASE;
    add_payment(&sample, PLAIN, 3);
    static const struct {
        uint64_t max_time_s, now_s;
        enum err expected;
    } cases[] = {
        {1301, 1000, ERR_INVALID_TRANSACTION},
        {1300, 1000, ERR_OK},
        {999, 1000, ERR_OK}, /* an expired transaction is harmless */
        {0, 1000, ERR_INVALID_TRANSACTION},
        {0, 0, ERR_INVALID_TRANSACTION},
        {UINT64_MAX, 1000, ERR_INVALID_TRANSACTION},
        {UINT64_MAX, UINT64_MAX - 300, ERR_OK},
        {100, UINT64_MAX, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        lease.head.max_time_s = cases[i].max_time_s;
        lease.now_s = cases[i].now_s;
        assert_int_equal(check_lease(&sample, lease), cases[i].expected);
    }
}

TEST(a_lease_is_exactly_one_transaction)
{
    AUTO_SAMPLE sample = SAMPLE;
    CLEANUP(buf_free) struct buf transaction = {0};
    struct lease_case lease = LEASE_CASE;
    add_payment(&sample, PLAIN, 3);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    transaction_build(&sample.view, &lease.head, &transaction);
    buf_add_u32(&transaction, 0);
    assert_int_equal(transaction_decode(buf_bytes(&transaction), &(struct envelope){0}, NULL),
        ERR_INVALID_TRANSACTION_XDR);
}
