/* POST /v1/fee-bumps: paid is only what is a live lease of this client, carries our signature and stays
 * within the caps (DA7). Ids are those of the ancestors' tests. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "stellar/envelope_build.h"
#include "support/service.h"
#include "unit/stellar/sample.h"

#define PATH "/v1/fee-bumps"
#define LEAST (2 * SERVICE_BUMP_BASE_FEE) /* for one operation */

static struct service service;

static int start(void **state)
{
    test_pg_start(state);
    service_start(&service, 2);
    return 0;
}

static int stop(void **state)
{
    service_stop(&service);
    return test_pg_stop(state);
}

/* A lease as its client holds it: the envelope, to which signatures are added. */
struct held {
    struct hash hash;
    struct buf xdr;
};

static void held_wipe(struct held *held)
{
    buf_free(&held->xdr);
}
#define AUTO_HELD CLEANUP(held_wipe) struct held

/* Leases the sample, which is wiped. */
static struct held hold(struct sample *sample)
{
    AUTO_ANSWER answer = {0};
    struct held held = {0};
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    service_post(&service, &answer, "/v1/transactions", service_body(buf_bytes(&sample->xdr)));
    sample_wipe(sample);
    assert_int_equal(answer.status, 201);
    held.hash = answer_hash(&answer, "hash");
    answer_xdr(&answer, "transactionXdr", &held.xdr);
    return held;
}

static struct held hold_payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    return hold(&sample);
}

/* What ensure-accounts and the network never see: 64 bytes under key n's hint. */
static void sign_as(struct held *held, uint8_t n)
{
    struct envelope envelope;
    struct buf out = {0};
    uint8_t signature[64];
    memset(signature, n, sizeof signature);
    assert_int_equal(envelope_decode(buf_bytes(&held->xdr), &envelope, NULL), ERR_OK);
    const struct public_key key = sample_key(n);
    size_t head = (size_t)(envelope.signature_list.data - held->xdr.data);
    buf_add(&out, held->xdr.data, head);
    buf_add_u32(&out, envelope.signature_count + 1);
    buf_add(&out, envelope.signature_list.data + 4, envelope.signature_list.len - 4);
    buf_add(&out, key.bytes + 28, 4);
    buf_add_u32(&out, sizeof signature);
    buf_add(&out, signature, sizeof signature);
    buf_free(&held->xdr);
    held->xdr = out;
}

/* Keeps the first `keep` signatures. */
static void cut_signatures(struct held *held, uint32_t keep)
{
    struct envelope envelope;
    assert_int_equal(envelope_decode(buf_bytes(&held->xdr), &envelope, NULL), ERR_OK);
    size_t head = (size_t)(envelope.signature_list.data - held->xdr.data);
    be32_put(held->xdr.data + head, keep);
    held->xdr.len = head + 4 + keep * (4 + 4 + 64);
}

static void bump(struct answer *answer, const struct held *held, const char *max_fee)
{
    json_t *body = service_body(buf_bytes(&held->xdr));
    if (max_fee != NULL)
        json_object_set_new(body, "maxFee", json_string(max_fee));
    service_post(&service, answer, PATH, body);
}

static int64_t recorded(void)
{
    return service_number(&service, "SELECT count(*) FROM fairway.fee_bumps");
}

/* The refusal, and that nothing was signed for it. */
static void refused(const struct held *held, const char *max_fee, const char *code)
{
    AUTO_ANSWER answer = {0};
    int64_t before = recorded();
    bump(&answer, held, max_fee);
    assert_answer_refused(&answer, 400, code);
    assert_null(json_object_get(answer.json, "transactionXdr"));
    assert_int_equal(recorded(), before);
}

static int reset(void **state)
{
    (void)state;
    service_reset(&service);
    return 0;
}

static void F4_the_fee_bump_carries_the_inner_transaction_untouched_and_one_signature(void **state)
{
    (void)state;
    static const char *const members[] = {
        "hash", "innerHash", "transactionXdr", "fee", "feeAccount", "networkPassphrase", NULL};
    AUTO_ANSWER answer = {0};
    AUTO_HELD held = hold_payment();
    struct buf xdr = {0}, expected = {0};
    struct envelope inner;
    char address[ADDRESS_SIZE];
    sign_as(&held, 9);
    bump(&answer, &held, NULL);
    assert_int_equal(answer.status, 200);
    assert_json_members(answer.json, members);
    address_encode(&service.distribution, address);
    assert_string_equal(answer_text(&answer, "feeAccount"), address);
    assert_string_equal(answer_text(&answer, "networkPassphrase"), SERVICE_PASSPHRASE);
    const struct hash inner_hash = answer_hash(&answer, "innerHash"), hash = answer_hash(&answer, "hash");
    assert_true(hash_equal(&inner_hash, &held.hash));
    /* what it must be to the last byte, but for the signature at its end */
    assert_int_equal(envelope_decode(buf_bytes(&held.xdr), &inner, NULL), ERR_OK);
    fee_bump_build(&inner, &service.distribution, LEAST, &expected);
    const struct hash expected_hash = fee_bump_hash(&service.network, buf_bytes(&expected));
    answer_xdr(&answer, "transactionXdr", &xdr);
    assert_int_equal(xdr.len, 4 + expected.len + 4 + 4 + 4 + 64);
    assert_memory_equal(xdr.data + 4, expected.data, expected.len);
    assert_int_equal(be32_get(xdr.data), 5);
    assert_int_equal(be32_get(xdr.data + 4 + expected.len), 1);
    struct signature signature;
    memcpy(signature.bytes, xdr.data + xdr.len - 64, 64);
    assert_true(signature_valid(&signature, &expected_hash, &service.distribution));
    assert_true(hash_equal(&hash, &expected_hash));
    assert_string_equal(answer_text(&answer, "fee"), "20000");
    buf_free(&xdr);
    buf_free(&expected);
}

static void F4_the_answered_fee_bump_is_recorded_with_its_fee(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    AUTO_HELD held = hold_payment();
    char inner[HASH_HEX_SIZE];
    sign_as(&held, 9);
    bump(&answer, &held, NULL);
    hash_encode(&held.hash, inner);
    assert_int_equal(service_number(&service,
                         "SELECT fee FROM fairway.fee_bumps WHERE hash = decode('%s', 'hex')"
                         " AND lease_hash = decode('%s', 'hex')",
                         answer_text(&answer, "hash"), inner),
        LEAST);
}

/* Promise of the header: recorded before it is answered. */
static void a_fee_bump_that_cannot_be_recorded_is_not_answered(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    test_db_exec(&service.db,
        "CREATE FUNCTION fairway.refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN RAISE EXCEPTION 'words of a trigger'; END $$;"
        "CREATE TRIGGER refuse BEFORE INSERT ON fairway.fee_bumps FOR EACH ROW EXECUTE FUNCTION "
        "fairway.refuse()");
    bump(&answer, &held, NULL);
    test_db_exec(&service.db, "DROP FUNCTION fairway.refuse CASCADE");
    AUTO_FREE char *text = json_dumps(answer.json, 0);
    assert_answer_refused(&answer, 500, "CONFLICT");
    assert_null(strstr(text, "trigger"));
    assert_null(json_object_get(answer.json, "transactionXdr"));
}

static void DL10_any_number_of_fee_bumps_for_one_lease(void **state)
{
    (void)state;
    static const char *const bids[] = {"20000", "20001", "1000000", "20000"};
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    for (size_t i = 0; i < ARRAY_LEN(bids); i++) {
        AUTO_ANSWER answer = {0};
        bump(&answer, &held, bids[i]);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer_text(&answer, "fee"), bids[i]);
    }
    assert_int_equal(recorded(), 3);
    assert_int_equal(service_leases(&service), 1);
}

static void F1_F6_what_is_no_lease_is_not_paid(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    AUTO_HELD foreign = {0};
    buf_add_bytes(&foreign.xdr, buf_bytes(&sample.xdr));
    sample_wipe(&sample);
    sign_as(&foreign, 7);
    sign_as(&foreign, 9);
    refused(&foreign, NULL, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED");
}

static void F1_F6_a_lease_is_not_paid_any_more_once_it_has_ended(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    AUTO_ANSWER before = {0};
    bump(&before, &held, NULL);
    assert_int_equal(before.status, 200);
    service_include(&service, &held.hash, NULL, 0);
    refused(&held, NULL, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED");
}

static void DA8_another_clients_lease_is_as_unknown_as_none(void **state)
{
    (void)state;
    AUTO_ANSWER theirs = {0}, none = {0};
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    test_db_exec(&service.db, "UPDATE fairway.leases SET client = 'somebody'");
    bump(&theirs, &held, NULL);
    test_db_exec(&service.db, TEST_DELETE_LEASES);
    bump(&none, &held, NULL);
    assert_answer_refused(&theirs, 400, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED");
    json_object_del(theirs.json, "requestId");
    json_object_del(none.json, "requestId");
    assert_true(json_equal(theirs.json, none.json));
    assert_int_equal(recorded(), 0);
}

/* The hash covers the content: the same account and sequence with one other byte is no lease. */
static void F5_DA7_a_changed_transaction_is_no_lease(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    add_extend(&sample, PLAIN, 9);
    sample.resource_fee_stroops = 1000;
    AUTO_HELD held = hold(&sample);
    sign_as(&held, 9);
    struct envelope envelope;
    assert_int_equal(envelope_decode(buf_bytes(&held.xdr), &envelope, NULL), ERR_OK);
    size_t end_of_body = (size_t)(envelope.signature_list.data - held.xdr.data);
    held.xdr.data[end_of_body - 1] ^= 1; /* the resource fee */
    refused(&held, NULL, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED");
}

static void F2_DA7_maxFee_is_exact_up_to_the_cap_and_refused_above_it(void **state)
{
    (void)state;
    static const char *const above[] = {"1000001", "9223372036854775807"};
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    for (size_t i = 0; i < ARRAY_LEN(above); i++) {
        AUTO_ANSWER answer = {0};
        bump(&answer, &held, above[i]);
        assert_answer_refused(&answer, 400, "FEE_EXCEEDS_MAXIMUM");
        assert_string_equal(answer_text(&answer, "maximumFee"), "1000000");
    }
    AUTO_ANSWER answer = {0};
    bump(&answer, &held, "1000000");
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer_text(&answer, "fee"), "1000000");
}

static void F2_DA7_maxFee_below_the_least_is_refused(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    refused(&held, "19999", "FEE_EXCEEDS_MAXIMUM");
    refused(&held, "1", "FEE_EXCEEDS_MAXIMUM");
}

static void F2_the_cap_is_on_the_bid_and_the_resource_fee_comes_on_top(void **state)
{
    (void)state;
    AUTO_ANSWER most = {0}, least = {0}, above = {0};
    struct sample sample = SAMPLE;
    add_extend(&sample, PLAIN, 9);
    sample.resource_fee_stroops = 4000000;
    AUTO_HELD held = hold(&sample);
    sign_as(&held, 9);
    bump(&least, &held, NULL);
    assert_string_equal(answer_text(&least, "fee"), "4020000");
    bump(&most, &held, "5000000");
    assert_string_equal(answer_text(&most, "fee"), "5000000");
    bump(&above, &held, "5000001");
    assert_answer_refused(&above, 400, "FEE_EXCEEDS_MAXIMUM");
    assert_string_equal(answer_text(&above, "maximumFee"), "5000000");
}

/* Leased while the maximum was higher. */
static void F2_more_operations_than_the_cap_pays_for_are_refused(void **state)
{
    (void)state;
    struct policy_limits higher = service_limits;
    struct sample sample = SAMPLE;
    for (int i = 0; i < 100; i++)
        add_payment(&sample, PLAIN, 9);
    higher.max_bump_fee_stroops = 1010000;
    service_restart_api(&service, &higher);
    AUTO_HELD held = hold(&sample);
    service_restart_api(&service, &service_limits);
    sign_as(&held, 9);
    refused(&held, NULL, "FEE_EXCEEDS_MAXIMUM"); /* 101 x 10,000 */
}

/* It may rescue a transaction that waits, so only what cannot be paid is refused. */
static void a_fee_bump_is_refused_when_the_distribution_account_cannot_pay_for_it(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    AUTO_ANSWER answer = {0};
    sign_as(&held, 9);
    service_set_spendable(&service, LEAST - 1);
    bump(&answer, &held, NULL);
    assert_answer_refused(&answer, 503, "DISTRIBUTION_ACCOUNT_UNDERFUNDED");
    assert_int_equal(recorded(), 0);
    service_set_spendable(&service, LEAST); /* far below the floor of leases */
    bump(&answer, &held, NULL);
    assert_int_equal(answer.status, 200);
}

static void F3_without_any_signature_it_is_refused(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    cut_signatures(&held, 0);
    refused(&held, NULL, "NO_SIGNATURES_PROVIDED");
}

static void F3_with_our_signature_alone_it_is_refused_where_the_client_must_sign(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    refused(&held, NULL, "NO_SIGNATURES_PROVIDED");
}

static void F3_an_extra_signer_must_have_signed_too(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    struct buf signer = {0};
    add_invoke(&sample, NO_SOURCE, 0, 0, NULL);
    buf_add_u32(&signer, 0);
    add_key(&signer, 9);
    set_v2(&sample, (struct sample_v2){.signer_count = 1, .signers = &signer});
    AUTO_HELD held = hold(&sample);
    refused(&held, NULL, "NO_SIGNATURES_PROVIDED");
    sign_as(&held, 9);
    AUTO_ANSWER answer = {0};
    bump(&answer, &held, NULL);
    assert_int_equal(answer.status, 200);
    buf_free(&signer);
}

static void F3_our_signature_alone_suffices_where_nobody_else_must_sign(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    struct sample sample = SAMPLE;
    add_invoke(&sample, NO_SOURCE, 0, 0, NULL);
    AUTO_HELD held = hold(&sample);
    bump(&answer, &held, NULL);
    assert_int_equal(answer.status, 200);
}

static void F3_signatures_without_ours_are_refused(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    cut_signatures(&held, 0);
    sign_as(&held, 9);
    sign_as(&held, 10);
    refused(&held, NULL, "NO_SIGNATURES_PROVIDED");
}

static void F3_a_forged_signature_of_ours_is_refused(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 512; bit += 73) {
        AUTO_HELD held = hold_payment();
        struct envelope envelope;
        sign_as(&held, 9);
        assert_int_equal(envelope_decode(buf_bytes(&held.xdr), &envelope, NULL), ERR_OK);
        size_t at = (size_t)(envelope.signatures[0].signature.data - held.xdr.data);
        held.xdr.data[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
        refused(&held, NULL, "NO_SIGNATURES_PROVIDED");
        service_reset(&service);
    }
}

static void F7_a_fee_bump_is_not_bumped_again(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    AUTO_HELD held = hold_payment(), outer = {0};
    sign_as(&held, 9);
    bump(&answer, &held, NULL);
    answer_xdr(&answer, "transactionXdr", &outer.xdr);
    refused(&outer, NULL, "FEE_BUMP_TX_NOT_ALLOWED");
}

static void F7_bad_XDR_is_refused(void **state)
{
    (void)state;
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    for (int wrong = 0; wrong < 2; wrong++) {
        if (wrong == 0)
            held.xdr.len -= 4;
        else
            buf_add_u64(&held.xdr, 0);
        refused(&held, NULL, "INVALID_TRANSACTION_XDR");
    }
}

static void F7_maxFee_is_a_positive_decimal_in_a_string(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\"0\"", "\"-1\"", "\"+1\"", "\"1e6\"", "\"1.0\"", "\"\"", "\" 1\"",
        "\"01\"", "\"9223372036854775808\"", "\"18446744073709551616\"", "20000", "true", "{}"};
    AUTO_HELD held = hold_payment();
    sign_as(&held, 9);
    AUTO_FREE char *xdr = base64_encode(buf_bytes(&held.xdr));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_ANSWER answer = {0};
        AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\",\"maxFee\":%s}", xdr, wrong[i]);
        service_ask(&service, &answer, "POST", PATH, "Content-Type: application/json\r\n",
            (struct bytes){(uint8_t *)body, strlen(body)});
        assert_answer_refused(&answer, 400, "INVALID_REQUEST");
    }
    assert_int_equal(recorded(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
    const struct CMUnitTest tests[] = {
        TEST(F4_the_fee_bump_carries_the_inner_transaction_untouched_and_one_signature),
        TEST(F4_the_answered_fee_bump_is_recorded_with_its_fee),
        TEST(a_fee_bump_that_cannot_be_recorded_is_not_answered),
        TEST(DL10_any_number_of_fee_bumps_for_one_lease),
        TEST(F1_F6_what_is_no_lease_is_not_paid),
        TEST(F1_F6_a_lease_is_not_paid_any_more_once_it_has_ended),
        TEST(DA8_another_clients_lease_is_as_unknown_as_none),
        TEST(F5_DA7_a_changed_transaction_is_no_lease),
        TEST(F2_DA7_maxFee_is_exact_up_to_the_cap_and_refused_above_it),
        TEST(F2_DA7_maxFee_below_the_least_is_refused),
        TEST(F2_the_cap_is_on_the_bid_and_the_resource_fee_comes_on_top),
        TEST(F2_more_operations_than_the_cap_pays_for_are_refused),
        TEST(a_fee_bump_is_refused_when_the_distribution_account_cannot_pay_for_it),
        TEST(F3_without_any_signature_it_is_refused),
        TEST(F3_with_our_signature_alone_it_is_refused_where_the_client_must_sign),
        TEST(F3_an_extra_signer_must_have_signed_too),
        TEST(F3_our_signature_alone_suffices_where_nobody_else_must_sign),
        TEST(F3_signatures_without_ours_are_refused),
        TEST(F3_a_forged_signature_of_ours_is_refused),
        TEST(F7_a_fee_bump_is_not_bumped_again),
        TEST(F7_bad_XDR_is_refused),
        TEST(F7_maxFee_is_a_positive_decimal_in_a_string),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
