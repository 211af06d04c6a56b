/* POST /v1/fee-bumps: only for the transaction of an open lease of this client, with the channel account's
 * and the client's signatures, and within the maximum fee (DA7). */
#include <string.h>

#include "base/text.h"
#include "support/fixture.h"
#include "stellar/envelope_build.h"

#define PATH "/v1/fee-bumps"
#define LEAST (2 * SERVICE_BUMP_BASE_FEE) /* for one operation */

/* The transaction of a lease, to which signatures are added. */
struct leased {
    struct hash hash;
    struct buf xdr;
};

static void leased_wipe(struct leased *leased)
{
    buf_free(&leased->xdr);
}
#define AUTO_LEASED CLEANUP(leased_wipe) struct leased

/* Leases the sample, which is wiped. */
static struct leased lease_sample(struct sample *sample)
{
    AUTO_RESPONSE response = {0};
    struct leased leased = {0};
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    service_post(&service, &response, "/v1/transactions", service_body(buf_bytes(&sample->xdr)));
    sample_wipe(sample);
    assert_int_equal(response.status, 201);
    leased.hash = response_hash(&response, "hash");
    response_xdr(&response, "transactionXdr", &leased.xdr);
    return leased;
}

static struct leased lease_payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, SIGNER);
    return lease_sample(&sample);
}

static void sign_as(struct leased *leased, uint8_t n)
{
    fixture_sign(&leased->xdr, &leased->hash, n);
}

/* Keeps the first `keep` signatures. */
static void cut_signatures(struct leased *leased, uint32_t keep)
{
    struct envelope envelope;
    assert_int_equal(envelope_decode(buf_bytes(&leased->xdr), &envelope, NULL), ERR_OK);
    size_t head = (size_t)(envelope.signature_list.data - leased->xdr.data);
    be32_put(leased->xdr.data + head, keep);
    leased->xdr.len = head + 4 + keep * (4 + 4 + 64);
}

static void bump(struct response *response, const struct leased *leased, const char *max_fee)
{
    json_t *body = service_body(buf_bytes(&leased->xdr));
    if (max_fee != NULL)
        json_object_set_new(body, "maxFee", json_string(max_fee));
    service_post(&service, response, PATH, body);
}

static int64_t recorded(void)
{
    return service_number(&service, "SELECT count(*) FROM fairway.fee_bumps");
}

/* The request is refused, and nothing is signed. */
static void refused_with(
    const struct leased *leased, const char *max_fee, int status, const char *code, const char *detail)
{
    AUTO_RESPONSE response = {0};
    int64_t before = recorded();
    bump(&response, leased, max_fee);
    assert_refused(&response, status, code);
    assert_non_null(strstr(response_text(&response, "detail"), detail));
    assert_null(json_object_get(response.json, "transactionXdr"));
    assert_int_equal(recorded(), before);
}

static void refused(const struct leased *leased, const char *max_fee, const char *code)
{
    refused_with(leased, max_fee, 400, code, "");
}

TEST(the_fee_bump_has_the_inner_transaction_unchanged_and_one_signature)
{
    static const char *const members[] = {
        "hash", "innerHash", "transactionXdr", "fee", "feeAccount", "networkPassphrase", NULL};
    AUTO_RESPONSE response = {0};
    AUTO_LEASED leased = lease_payment();
    CLEANUP(buf_free) struct buf xdr = {0}, expected = {0};
    struct envelope inner;
    char address[ADDRESS_SIZE];
    sign_as(&leased, SIGNER);
    bump(&response, &leased, NULL);
    assert_int_equal(response.status, 200);
    assert_json_members(response.json, members);
    address_encode(&service.distribution, address);
    assert_string_equal(response_text(&response, "feeAccount"), address);
    assert_string_equal(response_text(&response, "networkPassphrase"), SERVICE_PASSPHRASE);
    const struct hash inner_hash = response_hash(&response, "innerHash"),
                      hash = response_hash(&response, "hash");
    assert_true(hash_equal(&inner_hash, &leased.hash));
    /* the expected bytes, except for the signature at the end */
    assert_int_equal(envelope_decode(buf_bytes(&leased.xdr), &inner, NULL), ERR_OK);
    fee_bump_build(&inner, &service.distribution, LEAST, &expected);
    const struct hash expected_hash = fee_bump_hash(&service.network, buf_bytes(&expected));
    response_xdr(&response, "transactionXdr", &xdr);
    assert_int_equal(xdr.len, 4 + expected.len + 4 + 4 + 4 + 64);
    assert_memory_equal(xdr.data + 4, expected.data, expected.len);
    assert_int_equal(be32_get(xdr.data), 5);
    assert_int_equal(be32_get(xdr.data + 4 + expected.len), 1);
    struct signature signature;
    memcpy(signature.bytes, xdr.data + xdr.len - 64, 64);
    assert_true(signature_valid(&signature, &expected_hash, &service.distribution));
    assert_true(hash_equal(&hash, &expected_hash));
    assert_string_equal(response_text(&response, "fee"), "20000");
}

TEST(DL10_a_lease_may_have_any_number_of_fee_bumps)
{
    static const char *const bids[] = {"20000", "20001", "1000000", "20000"};
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    for (size_t i = 0; i < ARRAY_LEN(bids); i++) {
        AUTO_RESPONSE response = {0};
        bump(&response, &leased, bids[i]);
        assert_int_equal(response.status, 200);
        assert_string_equal(response_text(&response, "fee"), bids[i]);
    }
    assert_int_equal(recorded(), 3);
    assert_int_equal(service_leases(&service), 1);
}

TEST(a_settled_lease_gets_no_fee_bump)
{
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    AUTO_RESPONSE before = {0};
    bump(&before, &leased, NULL);
    assert_int_equal(before.status, 200);
    service_include(&service, &leased.hash, NULL, 0);
    refused_with(&leased, NULL, 409, "LEASE_SETTLED", "ended as confirmed in ledger ");
}

TEST(an_expired_lease_gets_no_fee_bump_and_its_retry_needs_a_new_key)
{
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    test_db_exec(&service.db, TEST_CHANGE_LEASES("max_time = 1"));
    service_close_ledger(&service);
    refused_with(&leased, NULL, 409, "LEASE_EXPIRED", "with a new Idempotency-Key");
}

TEST(DA8_another_clients_lease_is_not_found)
{
    AUTO_RESPONSE theirs = {0}, none = {0};
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    test_db_exec(&service.db, TEST_CHANGE_LEASES("client = 'somebody'"));
    bump(&theirs, &leased, NULL);
    test_db_exec(&service.db, TEST_DELETE_LEASES);
    bump(&none, &leased, NULL);
    assert_refused(&theirs, 404, "LEASE_NOT_FOUND");
    json_object_del(theirs.json, "requestId");
    json_object_del(none.json, "requestId");
    assert_true(json_equal(theirs.json, none.json));
    assert_int_equal(recorded(), 0);
}

/* The same account and sequence number, but one other byte and so another hash. */
TEST(DA7_a_changed_transaction_gets_no_fee_bump)
{
    struct sample sample = SAMPLE;
    add_extend(&sample, PLAIN, SIGNER);
    sample.resource_fee_stroops = 1000;
    AUTO_LEASED leased = lease_sample(&sample);
    sign_as(&leased, SIGNER);
    struct envelope envelope;
    assert_int_equal(envelope_decode(buf_bytes(&leased.xdr), &envelope, NULL), ERR_OK);
    size_t end_of_body = (size_t)(envelope.signature_list.data - leased.xdr.data);
    leased.xdr.data[end_of_body - 1] ^= 1; /* the resource fee */
    char address[ADDRESS_SIZE];
    address_encode(&envelope.source, address);
    refused_with(&leased, NULL, 409, "TRANSACTION_CHANGED", address);
}

TEST(DA7_maxFee_is_exact_up_to_the_cap_and_refused_above_it)
{
    static const char *const above[] = {"1000001", "9223372036854775807"};
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    for (size_t i = 0; i < ARRAY_LEN(above); i++) {
        AUTO_RESPONSE response = {0};
        bump(&response, &leased, above[i]);
        assert_refused(&response, 400, "FEE_EXCEEDS_MAXIMUM");
        assert_string_equal(response_text(&response, "maximumFee"), "1000000");
    }
    AUTO_RESPONSE response = {0};
    bump(&response, &leased, "1000000");
    assert_int_equal(response.status, 200);
    assert_string_equal(response_text(&response, "fee"), "1000000");
}

TEST(DA7_maxFee_below_the_minimum_is_refused)
{
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    static const char *const below[] = {"19999", "1"};
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        AUTO_RESPONSE response = {0};
        bump(&response, &leased, below[i]);
        assert_refused(&response, 400, "FEE_BELOW_MINIMUM");
        assert_string_equal(response_text(&response, "minimumFee"), "20000");
        assert_non_null(strstr(response_text(&response, "detail"), "at least 20000"));
    }
    assert_int_equal(recorded(), 0);
}

/* A fee bump may rescue a pending transaction, so it is refused only if it cannot be paid. */
TEST(a_fee_bump_is_refused_when_the_distribution_account_cannot_pay_for_it)
{
    AUTO_LEASED leased = lease_payment();
    AUTO_RESPONSE response = {0};
    sign_as(&leased, SIGNER);
    service_set_spendable(&service, LEAST - 1);
    bump(&response, &leased, NULL);
    assert_refused(&response, 503, "DISTRIBUTION_ACCOUNT_UNDERFUNDED");
    assert_int_equal(recorded(), 0);
    service_set_spendable(&service, LEAST); /* far below the minimum for a lease */
    bump(&response, &leased, NULL);
    assert_int_equal(response.status, 200);
}

TEST(without_the_clients_signature_it_is_refused_where_the_client_must_sign)
{
    AUTO_LEASED leased = lease_payment();
    refused(&leased, NULL, "NO_SIGNATURES_PROVIDED");
}

TEST(without_the_channel_accounts_signature_it_is_refused)
{
    AUTO_LEASED leased = lease_payment();
    cut_signatures(&leased, 0);
    sign_as(&leased, SIGNER);
    sign_as(&leased, SIGNER + 1);
    refused(&leased, NULL, "CHANNEL_SIGNATURE_MISSING");
}

TEST(maxFee_is_a_positive_decimal_in_a_string)
{
    static const char *const wrong[] = {"\"0\"", "\"-1\"", "\"+1\"", "\"1e6\"", "\"1.0\"", "\"\"", "\" 1\"",
        "\"01\"", "\"9223372036854775808\"", "\"18446744073709551616\"", "20000", "true", "{}"};
    AUTO_LEASED leased = lease_payment();
    sign_as(&leased, SIGNER);
    AUTO_FREE char *xdr = base64_encode(buf_bytes(&leased.xdr));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\",\"maxFee\":%s}", xdr, wrong[i]);
        service_request(&service, &response, "POST", PATH, "Content-Type: application/json\r\n",
            (struct bytes){(uint8_t *)body, strlen(body)});
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
    assert_int_equal(recorded(), 0);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
