/* Malformed input of every kind at every path (DX3): the right problem, nothing is leased, and the service
 * still grants leases. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/fixture.h"
#include "unit/stellar/sample.h"

#define JSON "Content-Type: application/json\r\n"

static const char *const posts[] = {"/v1/transactions", "/v1/fee-bumps"};

/* The test has leased nothing, and a well-formed request still gets its lease. */
static int assert_still_granting(void **state)
{
    (void)state;
    AUTO_RESPONSE response = {0};
    assert_int_equal(service_leases(&service), 0);
    assert_int_equal(service_leased_accounts(&service), 0);
    fixture_post_payment(&response);
    assert_int_equal(response.status, 201);
    return 0;
}

static void assert_refused_with(const char *path, struct bytes body, int status, const char *code)
{
    AUTO_RESPONSE response = {0};
    service_request(&service, &response, "POST", path, JSON, body);
    assert_refused(&response, status, code);
}

/* Posts the body to both paths. */
static void assert_both_refuse(struct bytes body, int status, const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(posts); i++)
        assert_refused_with(posts[i], body, status, code);
}

static struct bytes text(const char *string)
{
    return (struct bytes){(const uint8_t *)string, strlen(string)};
}

static void a_body_that_is_not_a_JSON_object_is_INVALID_JSON(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", " ", "{", "[]", "1", "\"x\"", "null", "{\"a\":}", "{'a':1}",
        "{} {}", "{}x", "{\"transactionXdr\":\"AA\",\"transactionXdr\":\"AA\"}",
        "{\"transactionXdr\":\"\\u0000\"}", "{\"transactionXdr\":\"\xff\"}",
        "{\"transactionXdr\":\"\xc0\x80\"}", "{\"transactionXdr\":\"\\ud800\"}", "{\"a\":[[[[[[[[1]]]]]]]]}",
        "{\"a\":1e999}", "{\"a\":99999999999999999999}", "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_both_refuse(text(wrong[i]), 400, "INVALID_JSON");
    assert_both_refuse((struct bytes){(const uint8_t *)"{}\0", 3}, 400, "INVALID_JSON");
}

static void DX3_endless_nesting_and_endless_digits_are_INVALID_JSON(void **state)
{
    (void)state;
    AUTO_FREE char *body = mem_new(60001, 1);
    memset(body, '[', 60000);
    assert_both_refuse(text(body), 400, "INVALID_JSON");
    memset(body, '9', 60000);
    memcpy(body, "{\"a\":", 5);
    body[59999] = '}';
    assert_both_refuse(text(body), 400, "INVALID_JSON");
}

static void members_that_are_missing_unknown_or_of_another_type_are_INVALID_REQUEST(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}", "{\"transactionXdr\":null}", "{\"transactionXdr\":1}",
        "{\"transactionXdr\":[\"AAAA\"]}", "{\"transactionXdr\":{\"a\":1}}", "{\"transactionXDR\":\"AAAA\"}",
        "{\"transactionXdr\":\"AAAA\",\"timeout\":60}", "{\"transactionXdr\":\"AAAA\",\"\":1}"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_both_refuse(text(wrong[i]), 400, "INVALID_REQUEST");
    /* each path has its own members only */
    assert_refused_with(
        posts[0], text("{\"transactionXdr\":\"AAAA\",\"maxFee\":\"1\"}"), 400, "INVALID_REQUEST");
    assert_refused_with(
        posts[1], text("{\"transactionXdr\":\"AAAA\",\"timeoutSeconds\":60}"), 400, "INVALID_REQUEST");
}

static void an_unknown_member_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    static const char *const known[] = {
        "\"timeout\"; the known members are transactionXdr and timeoutSeconds.",
        "\"timeout\"; the known members are transactionXdr and maxFee."};
    for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
        AUTO_RESPONSE response = {0};
        service_request(&service, &response, "POST", posts[i], JSON, text("{\"timeout\":60}"));
        assert_refused(&response, 400, "INVALID_REQUEST");
        assert_non_null(strstr(response_text(&response, "detail"), known[i]));
    }
}

static void base64_that_is_not_canonical_is_INVALID_TRANSACTION_XDR(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "A", "AAA", "AA=", "AAAA=", "AA==AA==", "AAAA\\n", " AAAA", "AA-_", "AAB=", "AB==", "====", "AAAAA"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\"}", wrong[i]);
        assert_both_refuse(text(body), 400, "INVALID_TRANSACTION_XDR");
    }
}

static void assert_both_refuse_xdr(struct bytes xdr, const char *code)
{
    json_t *object = service_body(xdr);
    AUTO_FREE char *body = json_dumps(object, 0);
    json_decref(object);
    assert_both_refuse(text(body), 400, code);
}

static void every_truncation_and_trailing_bytes_are_INVALID_TRANSACTION_XDR(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    for (size_t len = 0; len < sample.xdr.len; len++)
        assert_both_refuse_xdr((struct bytes){sample.xdr.data, len}, "INVALID_TRANSACTION_XDR");
    buf_add_u32(&sample.xdr, 0);
    assert_both_refuse_xdr(buf_bytes(&sample.xdr), "INVALID_TRANSACTION_XDR");
    sample_wipe(&sample);
}

static void DA6_unknown_arms_and_huge_lengths_are_INVALID_TRANSACTION_XDR(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    /* envelope type, key type of the source, preconditions, memo, operation count, has source */
    static const size_t words[] = {0, 4, 52, 56, 60, 64};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct buf changed = {0};
        buf_add_bytes(&changed, buf_bytes(&sample.xdr));
        be32_put(changed.data + words[i], UINT32_MAX);
        assert_both_refuse_xdr(buf_bytes(&changed), "INVALID_TRANSACTION_XDR");
        buf_free(&changed);
    }
    sample_wipe(&sample);
}

static void a_body_above_the_cap_is_413(void **state)
{
    (void)state;
    AUTO_FREE char *body = mem_new(SERVICE_MAX_BODY + 2, 1);
    memset(body, ' ', SERVICE_MAX_BODY + 1);
    assert_both_refuse(text(body), 413, "BODY_TOO_LARGE");
    body[SERVICE_MAX_BODY] = '\0'; /* at the cap: the body is read, but is not JSON */
    assert_both_refuse(text(body), 400, "INVALID_JSON");
}

static void a_body_without_a_length_is_411(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
        AUTO_RESPONSE response = {0};
        service_request(&service, &response, "POST", posts[i],
            JSON "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", (struct bytes){0});
        assert_refused(&response, 411, "LENGTH_REQUIRED");
    }
}

static void a_body_without_the_content_type_of_JSON_is_415(void **state)
{
    (void)state;
    static const char *const types[] = {
        "", "Content-Type: text/plain\r\n", "Content-Type: application/xml\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(types) * ARRAY_LEN(posts); i++) {
        AUTO_RESPONSE response = {0};
        service_request(&service, &response, "POST", posts[i % 2], types[i / 2], text("{}"));
        assert_refused(&response, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

static void an_unknown_path_is_404(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/v1", "/v1/", "/v1/transactions/", "/v1/pool/", "/v2/pool",
        "/V1/pool", "/v1//pool", "/v1/pool/x", "/v1/channel-accounts/x", "/readyz/", "/metrics",
        "/v1/transactions/a/b"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_RESPONSE response = {0};
        service_get(&service, &response, paths[i]);
        assert_refused(&response, 404, "NOT_FOUND");
    }
}

static void an_unknown_method_is_405_with_the_allowed_ones(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {{"GET", "/v1/transactions", "POST"}, {"DELETE", "/v1/transactions", "POST"},
        {"PUT", "/v1/fee-bumps", "POST"}, {"POST", "/v1/pool", "GET, HEAD"},
        {"PATCH", "/readyz", "GET, HEAD"}, {"POST", "/v1/transactions/00", "GET, HEAD"},
        {"POST", "/v1/channel-accounts", "GET, HEAD"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        service_request(&service, &response, cases[i].method, cases[i].path, "", (struct bytes){0});
        assert_refused(&response, 405, "METHOD_NOT_ALLOWED");
        assert_string_equal(response_header(&response, "Allow"), cases[i].allow);
    }
}

static void an_ambiguous_or_broken_query_is_400(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v1/channel-accounts?limit=1&limit=2",
        "/v1/channel-accounts?limit=%zz", "/v1/channel-accounts?state=%00", "/v1/transactions/%zz"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_RESPONSE response = {0};
        service_get(&service, &response, paths[i]);
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_reset, assert_still_granting)
    const struct CMUnitTest tests[] = {
        TEST(a_body_that_is_not_a_JSON_object_is_INVALID_JSON),
        TEST(DX3_endless_nesting_and_endless_digits_are_INVALID_JSON),
        TEST(members_that_are_missing_unknown_or_of_another_type_are_INVALID_REQUEST),
        TEST(an_unknown_member_is_refused_with_the_known_ones),
        TEST(base64_that_is_not_canonical_is_INVALID_TRANSACTION_XDR),
        TEST(every_truncation_and_trailing_bytes_are_INVALID_TRANSACTION_XDR),
        TEST(DA6_unknown_arms_and_huge_lengths_are_INVALID_TRANSACTION_XDR),
        TEST(a_body_above_the_cap_is_413),
        TEST(a_body_without_a_length_is_411),
        TEST(a_body_without_the_content_type_of_JSON_is_415),
        TEST(an_unknown_path_is_404),
        TEST(an_unknown_method_is_405_with_the_allowed_ones),
        TEST(an_ambiguous_or_broken_query_is_400),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_stop);
}
