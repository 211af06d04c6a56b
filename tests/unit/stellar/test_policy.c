/* Rules of stellar/policy.h for operations, and for what a channel account may sign. tests/hazards.md
 * explains the ids. */
#include "check.h"
#include "stellar/envelope_build.h"
#include "judge.h"
#include "policy_parts.h"
#include "operation.h"
#include "vectors.h"

#define AUTO_SAMPLE CLEANUP(sample_wipe) struct sample

TEST_THAT(plain_source_of_an_operation_is_named)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 3);
    NAMES(&sample, 3);
}

TEST_THAT(muxed_source_of_an_operation_is_named_by_its_account)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, MUXED, 3);
    NAMES(&sample, 3);
}

TEST_THAT(named_accounts_are_sorted_and_each_once)
{
    AUTO_SAMPLE sample = SAMPLE;
    static const uint8_t sources[] = {5, 2, 9, 2, 5, 1, 9};
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        add_payment(&sample, i % 2 == 0 ? PLAIN : MUXED, sources[i]);
    NAMES(&sample, 1, 2, 5, 9);
}

TEST_THAT(the_source_of_the_transaction_is_not_named_since_it_is_replaced)
{
    AUTO_SAMPLE sample = SAMPLE;
    sample.source = MUXED;
    add_payment(&sample, PLAIN, 3);
    NAMES(&sample, 3);
}

TEST_THAT(keys_that_become_signers_of_an_account_are_named)
{
    static const struct {
        uint32_t kind, weight;
        bool named;
    } cases[] = {{0, 1, true}, {0, 255, true}, {0, 0, false}, {1, 1, false}, {2, 1, false}, {3, 1, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_SAMPLE sample = SAMPLE;
        add_set_signer(&sample, 3, cases[i].kind, 9, cases[i].weight);
        if (cases[i].named)
            NAMES(&sample, 3, 9);
        else
            NAMES(&sample, 3);
    }
}

TEST_THAT(DA5_the_distribution_account_authorizes_nothing)
{
    AUTO_SAMPLE plain = SAMPLE, muxed = SAMPLE, signer = SAMPLE, extra = SAMPLE, soroban = SAMPLE,
                payee = SAMPLE;
    CLEANUP(buf_free) struct buf auth = {0}, extra_signer = {0};
    add_payment(&plain, PLAIN, DISTRIBUTION);
    assert_refused(
        &plain, ERR_FORBIDDEN_SIGNER, "operations[0] needs, or gives, the authority of the distribution");
    add_payment(&muxed, PLAIN, 3);
    add_payment(&muxed, MUXED, DISTRIBUTION);
    assert_refused(&muxed, ERR_FORBIDDEN_SIGNER, "operations[1]");
    add_set_signer(&signer, 3, 0, DISTRIBUTION, 1);
    assert_refused(&signer, ERR_FORBIDDEN_SIGNER, "operations[0]");
    buf_add_u32(&extra_signer, 0);
    add_key(&extra_signer, DISTRIBUTION);
    set_v2(&extra, (struct sample_v2){.signer_count = 1, .signers = &extra_signer});
    add_payment(&extra, PLAIN, 3);
    assert_refused(&extra, ERR_FORBIDDEN_SIGNER, "is the distribution account");
    add_address_entry(&auth, 2, MUXED_ACCOUNT, DISTRIBUTION);
    add_invoke(&soroban, PLAIN, 3, 1, &auth);
    assert_refused(&soroban, ERR_FORBIDDEN_SIGNER, "operations[0]");
    add_payment_to(&payee, 3, DISTRIBUTION);
    NAMES(&payee, 3);
}

TEST_THAT(classic_operation_without_source_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, NO_SOURCE, 0);
    assert_refused(&sample, ERR_INVALID_OPERATION_STRUCTURE, "operations[0]");

    AUTO_SAMPLE last = SAMPLE;
    for (int i = 0; i < 99; i++)
        add_payment(&last, PLAIN, 3);
    add_payment(&last, NO_SOURCE, 0);
    assert_refused(&last, ERR_INVALID_OPERATION_STRUCTURE, "operations[99]");
}

TEST_THAT(holds_in_every_form_of_envelope)
{
    static const enum envelope_form forms[] = {ENVELOPE_V0, ENVELOPE_V1, ENVELOPE_FEE_BUMP};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        AUTO_SAMPLE bad = SAMPLE, good = SAMPLE;
        bad.form = good.form = forms[i];
        add_payment(&bad, NO_SOURCE, 0);
        assert_refused(&bad, ERR_INVALID_OPERATION_STRUCTURE, "operations[0]");
        add_payment(&good, MUXED, 3);
        NAMES(&good, 3);
    }
}

/* The SDK's vectors have every kind with a plain, a muxed and no source. */
TEST_THAT(holds_for_every_classic_kind)
{
    struct vectors vectors;
    vectors_open(&vectors);
    size_t refused = 0, accepted = 0;
    while (vectors_next(&vectors, "lease")) {
        unsigned kind;
        char form[16], source[16];
        if (sscanf(vector_text(&vectors), "%15s operation %u source %15s", form, &kind, source) != 3 ||
            kind > 23)
            continue;
        vectors.column = 4;
        CLEANUP(buf_free) struct buf xdr = vector_bytes(&vectors);
        struct envelope view;
        struct named_accounts named;
        assert_int_equal(envelope_decode(buf_bytes(&xdr), &view, NULL), ERR_OK);
        enum err e = policy_check(&view, &sample_limits, &named, NULL);
        if (strcmp(source, "none") == 0) {
            assert_int_equal(e, ERR_INVALID_OPERATION_STRUCTURE);
            refused++;
        } else {
            assert_int_equal(e, ERR_OK);
            assert_true(named_has(&named, &view.source));
            assert_true(named.count == 1 || (kind == SET_OPTIONS && named.count == 2));
            accepted++;
        }
    }
    vectors_close(&vectors);
    assert_int_equal(refused, 24 * 3);
    assert_int_equal(accepted, 24 * 3 * 2);
}

TEST_THAT(three_kinds_are_soroban)
{
    for (uint32_t kind = 0; kind < 24; kind++)
        assert_int_equal(operation_family(kind), OPERATION_CLASSIC);
    for (uint32_t kind = 24; kind < 27; kind++)
        assert_int_equal(operation_family(kind), OPERATION_SOROBAN);
    assert_int_equal(operation_family(27), OPERATION_UNKNOWN);
    assert_int_equal(operation_family(UINT32_MAX), OPERATION_UNKNOWN);
}

TEST_THAT(a_transaction_without_operation_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    assert_refused(&sample, ERR_INVALID_OPERATION_STRUCTURE, "no operation");
}

/* FEE_BUMP_BASE_FEE=10000 and MAX_FEE=1000000: 100 operations and one more cost 1,010,000. */
TEST_THAT(a_transaction_whose_fee_bump_exceeds_the_maximum_is_refused)
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
TEST_THAT(the_fee_bump_cap_excludes_the_resource_fee)
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

TEST_THAT(a_hundred_operations_of_a_hundred_sources_pass)
{
    AUTO_SAMPLE sample = SAMPLE;
    uint8_t names[100];
    for (uint8_t i = 0; i < 100; i++) {
        add_payment(&sample, PLAIN, (uint8_t)(99 - i));
        names[i] = i;
    }
    assert_names(&sample, 100, names);
}

TEST_THAT(memo_and_bounds_of_a_classic_transaction_pass)
{
    AUTO_SAMPLE sample = SAMPLE;
    sample.memo = true;
    set_v2(&sample, (struct sample_v2){true, true, .min_time_s = 5, .max_time_s = 6, .min_ledger = 7});
    add_payment(&sample, PLAIN, 3);
    NAMES(&sample, 3);
}

/* 1,120 bytes of claimants each. */
TEST_THAT(a_classic_transaction_that_no_node_relays_is_refused)
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

TEST_THAT(a_lease_within_all_limits_may_be_signed)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 3);
    assert_int_equal(check_lease(&sample, (struct lease_case)LEASE_CASE), ERR_OK);
}

TEST_THAT(a_lease_has_the_plain_signer_as_source)
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

TEST_THAT(a_lease_never_uses_the_authority_of_its_signer)
{
    AUTO_SAMPLE plain = SAMPLE, muxed = SAMPLE, soroban = SAMPLE;
    CLEANUP(buf_free) struct buf auth = {0};
    add_payment(&plain, PLAIN, 1);
    assert_int_equal(check_lease(&plain, (struct lease_case)LEASE_CASE), ERR_FORBIDDEN_SIGNER);
    add_payment(&muxed, PLAIN, 3);
    add_payment(&muxed, MUXED, 1);
    assert_int_equal(check_lease(&muxed, (struct lease_case)LEASE_CASE), ERR_FORBIDDEN_SIGNER);
    add_address_entry(&auth, 2, ACCOUNT, 1);
    add_invoke(&soroban, PLAIN, 3, 1, &auth);
    assert_int_equal(check_lease(&soroban, (struct lease_case)LEASE_CASE), ERR_FORBIDDEN_SIGNER);
}

/* The operation's source is the channel account then. */
TEST_THAT(DA5_a_lease_without_a_source_never_uses_the_authority_of_its_signer)
{
    AUTO_SAMPLE user = SAMPLE, own = SAMPLE, deployer = SAMPLE, source = SAMPLE, none = SAMPLE;
    CLEANUP(buf_free) struct buf auth = {0}, own_auth = {0}, source_auth = {0};
    add_address_entry(&auth, 2, ACCOUNT, 3);
    add_invoke(&user, NO_SOURCE, 0, 1, &auth);
    assert_int_equal(check_lease(&user, (struct lease_case)LEASE_CASE), ERR_OK);
    add_address_entry(&own_auth, 2, ACCOUNT, 1);
    add_invoke(&own, NO_SOURCE, 0, 1, &own_auth);
    assert_int_equal(check_lease(&own, (struct lease_case)LEASE_CASE), ERR_FORBIDDEN_SIGNER);
    deployer.soroban = true;
    add_operation(&deployer, NO_SOURCE, 0, 24);
    buf_add_u32(&deployer.operations, 1); /* create contract */
    add_deployer(&deployer.operations, ACCOUNT, 1);
    buf_add_u32(&deployer.operations, 1);
    buf_add_bytes(&deployer.operations, buf_bytes(&auth));
    assert_int_equal(check_lease(&deployer, (struct lease_case)LEASE_CASE), ERR_FORBIDDEN_SIGNER);
    add_source_account_entry(&source_auth);
    add_invoke(&source, NO_SOURCE, 0, 1, &source_auth);
    assert_int_equal(check_lease(&source, (struct lease_case)LEASE_CASE), ERR_SOURCE_CREDENTIALS_NOT_ALLOWED);
    add_invoke(&none, NO_SOURCE, 0, 0, NULL);
    assert_int_equal(check_lease(&none, (struct lease_case)LEASE_CASE), ERR_SIGNATURE_MISSING);
}

TEST_THAT(a_lease_passes_the_policy_again)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, NO_SOURCE, 0);
    assert_int_equal(check_lease(&sample, (struct lease_case)LEASE_CASE), ERR_INVALID_OPERATION_STRUCTURE);
}

TEST_THAT(a_lease_costs_no_more_than_the_cap)
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

TEST_THAT(a_lease_ends_within_300_seconds)
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

TEST_THAT(a_lease_is_exactly_one_transaction)
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
