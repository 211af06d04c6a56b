/* Rules of policy_check for Soroban operations, beside those of test_policy_property.c. */
#include <time.h>

#include "check.h"
#include "judge.h"
#include "soroban.h"
#include "stellar/envelope_build.h"
#include "stellar/strkey.h"
#include "xdr/xdr.h"

TEST(entries_are_extended_by_reading_and_restored_by_writing_them_alone)
{
    AUTO_SAMPLE extend = SAMPLE, restore = SAMPLE;
    add_extend(&extend, PLAIN, 3);
    extend.read_only_count = 2;
    NAMES(&extend, 3);
    extend.read_write_count = 1;
    assert_refused(&extend, ERR_INVALID_SOROBAN_TRANSACTION, "must not have read-write entries");
    restore.soroban = true;
    add_operation(&restore, PLAIN, 4, 26);
    buf_add_u32(&restore.operations, 0);
    restore.read_write_count = 2;
    NAMES(&restore, 4);
    restore.read_only_count = 1;
    assert_refused(&restore, ERR_INVALID_SOROBAN_TRANSACTION, "must not have read-only entries");
}

TEST(a_memo_and_a_muxed_source_are_refused_on_invoke_alone)
{
    AUTO_SAMPLE memo = SAMPLE, muxed = SAMPLE, extend = SAMPLE;
    add_invoke(&memo, PLAIN, 3, 0, NULL);
    memo.memo = true;
    assert_refused(&memo, ERR_INVALID_SOROBAN_TRANSACTION, "memo");
    add_invoke(&muxed, MUXED, 3, 0, NULL);
    assert_refused(&muxed, ERR_INVALID_SOROBAN_TRANSACTION, "muxed");
    add_extend(&extend, MUXED, 3);
    extend.memo = true;
    NAMES(&extend, 3);
}

/* 132,096 bytes of envelope, two signatures included. */
TEST(the_largest_soroban_transaction_of_the_network_passes)
{
    AUTO_SAMPLE sample = SAMPLE;
    const uint32_t wasm = SOROBAN_ENVELOPE_MAX - 320;
    sample.soroban = true;
    add_operation(&sample, PLAIN, 3, 24);
    buf_add_u32(&sample.operations, 2); /* upload Wasm */
    buf_add_u32(&sample.operations, wasm);
    size_t length = sample.operations.len - 4;
    for (uint32_t i = 0; i < wasm; i += 4)
        buf_add_u32(&sample.operations, i);
    buf_add_u32(&sample.operations, 0); /* auth */
    NAMES(&sample, 3);
    assert_int_equal(envelope_built_size(&sample.view, 2), SOROBAN_ENVELOPE_MAX);
    be32_put(sample.operations.data + length, wasm + 4);
    buf_add_u32(&sample.operations, 0);
    assert_refused(&sample, ERR_INVALID_TRANSACTION, "the network takes at most 132096");
}

TEST(a_delegate_is_named_below_hundreds_of_others)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF auth = {0};
    add_credentials(&auth, 3, CONTRACT, 9);
    buf_add_u32(&auth, 1);
    for (int depth = 0; depth < 400; depth++)
        add_delegate(&auth, CONTRACT, 9, 1);
    add_delegate(&auth, ACCOUNT, 4, 0);
    add_invocation(&auth);
    add_invoke(&sample, PLAIN, 1, 1, &auth);
    NAMES(&sample, 1, 4);
}

/* A source, and two entries for each of count more accounts, which differ in the first four bytes of their
 * keys. */
static enum err judge_many(uint32_t count, struct judgement *judgement)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF auth = {0};
    for (uint32_t i = 0; i < 2 * count; i++) {
        size_t start = auth.len;
        add_address_entry(&auth, 1, ACCOUNT, 4);
        be32_put(auth.data + start + 12, i / 2); /* after the kinds of credentials, address and key */
    }
    add_invoke(&sample, PLAIN, 4, 2 * count, &auth);
    return judge(&sample, judgement);
}

TEST(more_accounts_than_can_be_named_are_refused)
{
    struct judgement judgement;
    assert_int_equal(judge_many(POLICY_NAMED_MAX - 1, &judgement), ERR_OK);
    assert_int_equal(judgement.named.count, POLICY_NAMED_MAX);
    assert_int_equal(judge_many(POLICY_NAMED_MAX, &judgement), ERR_INVALID_SOROBAN_TRANSACTION);
    assert_non_null(strstr(judgement.detail.text, "more than 256 accounts"));
}

TEST(resource_fee_at_the_cap_passes_and_above_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_invoke(&sample, PLAIN, 3, 0, NULL);
    sample.resource_fee_stroops = sample_limits.max_resource_fee_stroops;
    NAMES(&sample, 3);
    sample.resource_fee_stroops++;
    assert_refused(&sample, ERR_FEE_EXCEEDS_MAXIMUM, "1000001 stroops exceeds the maximum of 1000000");
    sample.resource_fee_stroops = INT64_MAX;
    assert_refused(&sample, ERR_FEE_EXCEEDS_MAXIMUM, "resource fee");
}

TEST(a_negative_resource_fee_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_invoke(&sample, PLAIN, 3, 0, NULL);
    sample.resource_fee_stroops = -1;
    assert_refused(&sample, ERR_INVALID_SOROBAN_TRANSACTION, "negative");
    sample.resource_fee_stroops = INT64_MIN;
    assert_refused(&sample, ERR_INVALID_SOROBAN_TRANSACTION, "negative");
    sample.resource_fee_stroops = 0;
    NAMES(&sample, 3);
}

TEST(of_all_kinds_of_addresses_two_are_accounts)
{
    for (uint32_t kind = 0; kind <= MUXED_CONTRACT; kind++) {
        AUTO_BUF address = {0};
        struct public_key account, expected = sample_key(4);
        bool is_account = true;
        add_address(&address, (enum sample_address)kind, 4);
        assert_int_equal(soroban_address_account(buf_bytes(&address), &is_account, &account), ERR_OK);
        assert_int_equal(is_account, kind == ACCOUNT || kind == MUXED_ACCOUNT);
        assert_true(!is_account || public_key_equal(&account, &expected));
    }
}

static int64_t cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* Beside one walk over the envelope. Such a transaction occupied an HTTP thread for as long as nine. */
TEST(DX3_many_values_are_judged_in_few_walks)
{
    enum {
        VALUES = 30000,
        RUNS = 20
    };
    AUTO_SAMPLE sample = SAMPLE;
    struct named_accounts named;
    struct detail detail;
    sample.soroban = true;
    add_operation(&sample, PLAIN, 3, 24);
    buf_add_u32(&sample.operations, 0);
    add_address(&sample.operations, CONTRACT, 201);
    add_symbol_f(&sample.operations);
    buf_add_u32(&sample.operations, 1);  /* argument */
    buf_add_u32(&sample.operations, 16); /* a vector */
    buf_add_u32(&sample.operations, 1);
    buf_add_u32(&sample.operations, VALUES);
    for (int i = 0; i < VALUES; i++)
        buf_add_u32(&sample.operations, 1); /* void */
    buf_add_u32(&sample.operations, 0);     /* auth */
    assert_int_equal(sample_decode(&sample, &detail), ERR_OK);
    int64_t walk_us = INT64_MAX, judge_us = INT64_MAX;
    for (int i = 0; i < RUNS; i++) { /* the fastest of each, which nothing interrupted */
        const int64_t begun = cpu_us();
        assert_int_equal(xdr_check(XDR_TransactionEnvelope, buf_bytes(&sample.xdr)), ERR_OK);
        const int64_t between = cpu_us();
        assert_int_equal(policy_check(&sample.view, &sample_limits, &named, &detail), ERR_OK);
        const int64_t ended = cpu_us();
        walk_us = between - begun < walk_us ? between - begun : walk_us;
        judge_us = ended - between < judge_us ? ended - between : judge_us;
    }
    print_message("one walk: %lld us; the policy: %lld us\n", (long long)walk_us, (long long)judge_us);
    assert_in_range(judge_us, 0, 5 * walk_us);
}

/* Decodes the sample, wipes it, and returns the contract that it invokes. */
static const char *called(struct sample *sample)
{
    static char out[ADDRESS_SIZE];
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    policy_invoked_contract(&sample->view, out);
    sample_wipe(sample);
    return out;
}

TEST(the_contract_is_that_of_a_transaction_which_only_calls_it)
{
    struct sample samples[8] = {SAMPLE, SAMPLE, SAMPLE, SAMPLE, SAMPLE, SAMPLE, SAMPLE, SAMPLE};
    const struct public_key contract = sample_key(201);
    char wanted[ADDRESS_SIZE];
    strkey_encode(STRKEY_CONTRACT, contract.bytes, wanted);
    add_invoke(&samples[0], NO_SOURCE, 0, 0, NULL);
    add_invoke(&samples[1], PLAIN, 5, 0, NULL);
    add_invoke(&samples[2], MUXED, 5, 0, NULL);
    samples[2].soroban = false; /* to be prepared */
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(called(&samples[i]), wanted);
    add_create_contract(&samples[3], 3, ACCOUNT, 5);
    add_payment(&samples[4], PLAIN, 5);
    add_invoke(&samples[5], NO_SOURCE, 0, 0, NULL);
    add_payment(&samples[5], PLAIN, 5);
    add_invoke(&samples[6], NO_SOURCE, 0, 0, NULL);
    samples[6].operations.data[4 + 4 + 4 + 3] = LIQUIDITY_POOL; /* no contract has this address */
    samples[7].soroban = true;
    add_operation(&samples[7], PLAIN, 5, 24);
    buf_add_u32(&samples[7].operations, 1); /* creates the contract */
    buf_add_u32(&samples[7].operations, 1); /* of an asset */
    buf_add_u32(&samples[7].operations, 1);
    buf_add(&samples[7].operations, "USDC\0\0\0\0", 8);
    add_key(&samples[7].operations, 201);
    buf_add_u32(&samples[7].operations, 1);
    buf_add_u32(&samples[7].operations, 0); /* auth */
    for (size_t i = 3; i < ARRAY_LEN(samples); i++)
        assert_string_equal(called(&samples[i]), "");
}
