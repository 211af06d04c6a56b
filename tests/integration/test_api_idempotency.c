/* POST /v1/transactions with an Idempotency-Key: a retry gets the reply of the first request (DL9). */
#include <string.h>

#include "base/text.h"
#include "support/fixture.h"
#include "unit/stellar/sample.h"

#define PATH "/v1/transactions"

/* Posts this body with this key. */
static void post_keyed(struct response *response, const char *key, const char *body)
{
    AUTO_FREE char *head = mem_format("Content-Type: application/json\r\nIdempotency-Key: %s\r\n", key);
    service_request(
        &service, response, "POST", PATH, head, (struct bytes){(const uint8_t *)body, strlen(body)});
}

static char *body_of(struct sample *sample, unsigned timeout_s)
{
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    AUTO_FREE char *xdr = base64_encode(buf_bytes(&sample->xdr));
    sample_wipe(sample);
    return mem_format("{\"transactionXdr\":\"%s\",\"timeoutSeconds\":%u}", xdr, timeout_s);
}

static char *body_of_payment(unsigned timeout_s)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    return body_of(&sample, timeout_s);
}

/* A retry gets the first answer, but for `first` and how the lease is now. */
static void assert_repeats(const struct response *first, struct response *retry, const char *status)
{
    assert_int_equal(first->status, 201);
    assert_int_equal(retry->status, 200);
    assert_string_equal(response_text(first, "status"), "pending");
    assert_true(json_is_true(json_object_get(first->json, "first")));
    assert_string_equal(response_text(retry, "status"), status);
    assert_true(json_is_false(json_object_get(retry->json, "first")));
    json_object_set_new(retry->json, "status", json_string("pending"));
    json_object_set_new(retry->json, "first", json_true());
    assert_true(json_equal(retry->json, first->json));
}

TEST(DL9_a_retry_with_its_key_gets_the_same_reply_also_when_settled_and_when_no_account_is_idle)
{
    AUTO_RESPONSE first = {0};
    AUTO_FREE char *body = body_of_payment(60);
    post_keyed(&first, "order 7", body);
    assert_int_equal(first.status, 201);
    for (int tries = 0; tries < 3; tries++) {
        AUTO_RESPONSE retry = {0};
        if (tries == 1)
            test_db_exec(&service.db, "UPDATE fairway.channel_accounts SET state = 'quarantined',"
                                      " quarantine_reason = 'none idle' WHERE lease_hash IS NULL");
        if (tries == 2) {
            const struct hash hash = response_hash(&first, "hash");
            service_include(&service, &hash, NULL, 0);
        }
        post_keyed(&retry, "order 7", body);
        assert_repeats(&first, &retry, tries == 2 ? "confirmed" : "pending");
    }
    assert_int_equal(service_leases(&service), 1);
    test_db_exec(
        &service.db, "UPDATE fairway.channel_accounts SET state = 'active', quarantine_reason = NULL");
}

TEST(DL9_a_retry_gets_its_lease_also_from_a_replica_that_would_not_grant_it)
{
    AUTO_RESPONSE first = {0};
    AUTO_RESPONSE retry = {0};
    AUTO_RESPONSE another = {0};
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    AUTO_FREE char *body = body_of(&sample, 60);
    post_keyed(&first, "order 7", body);
    assert_int_equal(first.status, 201);
    struct policy_limits lower = service_limits;
    lower.max_bump_fee_stroops = 2 * SERVICE_BUMP_BASE_FEE - 1;
    service_restart_api(&service, &lower);
    post_keyed(&retry, "order 7", body);
    post_keyed(&another, "order 8", body);
    service_restart_api(&service, &service_limits);
    assert_repeats(&first, &retry, "pending");
    assert_int_equal(another.status, 400);
}

TEST(an_Idempotency_Key_that_is_empty_too_long_or_not_printable_is_refused)
{
    AUTO_FREE char *body = body_of_payment(60);
    char longest[257];
    memset(longest, 'k', sizeof longest);
    longest[256] = '\0';
    const char *const wrong[] = {"", longest, "caf\xc3\xa9", "a\tb"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        post_keyed(&response, wrong[i], body);
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
    assert_int_equal(service_leases(&service), 0);
    AUTO_RESPONSE response = {0};
    longest[255] = '\0';
    post_keyed(&response, longest, body);
    assert_int_equal(response.status, 201);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
