/* Malformed input of every kind at every path (DX3): the right problem, nothing leased, the service
 * unimpressed. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/service.h"
#include "unit/stellar/sample.h"

#define JSON "Content-Type: application/json\r\n"

static const char *const posts[] = {"/v1/transactions", "/v1/fee-bumps"};
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

static int reset(void **state)
{
    (void)state;
    service_reset(&service);
    return 0;
}

/* Nothing was taken by what the test did, and a well-formed request still gets its lease. */
static int unimpressed(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(service_leases(&service), 0);
    assert_int_equal(service_leased_accounts(&service), 0);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    service_post(&service, &answer, posts[0], service_body(buf_bytes(&sample.xdr)));
    sample_wipe(&sample);
    assert_int_equal(answer.status, 201);
    return 0;
}

static void wants(const char *path, struct bytes body, int status, const char *code)
{
    AUTO_ANSWER answer = {0};
    service_ask(&service, &answer, "POST", path, JSON, body);
    assert_answer_refused(&answer, status, code);
}

/* The same at both paths. */
static void both_want(struct bytes body, int status, const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(posts); i++)
        wants(posts[i], body, status, code);
}

static struct bytes text(const char *string)
{
    return (struct bytes){(const uint8_t *)string, strlen(string)};
}

static void what_is_no_JSON_object_is_INVALID_JSON(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", " ", "{", "[]", "1", "\"x\"", "null", "{\"a\":}", "{'a':1}",
        "{} {}", "{}x", "{\"transactionXdr\":\"AA\",\"transactionXdr\":\"AA\"}",
        "{\"transactionXdr\":\"\\u0000\"}", "{\"transactionXdr\":\"\xff\"}",
        "{\"transactionXdr\":\"\xc0\x80\"}", "{\"transactionXdr\":\"\\ud800\"}", "{\"a\":[[[[[[[[1]]]]]]]]}",
        "{\"a\":1e999}", "{\"a\":99999999999999999999}", "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        both_want(text(wrong[i]), 400, "INVALID_JSON");
    both_want((struct bytes){(const uint8_t *)"{}\0", 3}, 400, "INVALID_JSON");
}

static void DX3_depth_and_digits_without_end_are_INVALID_JSON(void **state)
{
    (void)state;
    AUTO_FREE char *body = mem_new(60001, 1);
    memset(body, '[', 60000);
    both_want(text(body), 400, "INVALID_JSON");
    memset(body, '9', 60000);
    memcpy(body, "{\"a\":", 5);
    body[59999] = '}';
    both_want(text(body), 400, "INVALID_JSON");
}

static void G5_members_that_are_missing_unknown_or_of_another_type_are_INVALID_REQUEST(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}", "{\"transactionXdr\":null}", "{\"transactionXdr\":1}",
        "{\"transactionXdr\":[\"AAAA\"]}", "{\"transactionXdr\":{\"a\":1}}", "{\"transactionXDR\":\"AAAA\"}",
        "{\"transactionXdr\":\"AAAA\",\"timeout\":60}", "{\"transactionXdr\":\"AAAA\",\"\":1}"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        both_want(text(wrong[i]), 400, "INVALID_REQUEST");
    /* each path knows its own only */
    wants(posts[0], text("{\"transactionXdr\":\"AAAA\",\"maxFee\":\"1\"}"), 400, "INVALID_REQUEST");
    wants(posts[1], text("{\"transactionXdr\":\"AAAA\",\"timeoutSeconds\":60}"), 400, "INVALID_REQUEST");
}

static void F7_F8_what_is_no_canonical_base64_is_INVALID_TRANSACTION_XDR(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "A", "AAA", "AA=", "AAAA=", "AA==AA==", "AAAA\\n", " AAAA", "AA-_", "AAB=", "AB==", "====", "AAAAA"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\"}", wrong[i]);
        both_want(text(body), 400, "INVALID_TRANSACTION_XDR");
    }
}

static void both_want_xdr(struct bytes xdr, const char *code)
{
    json_t *object = service_body(xdr);
    AUTO_FREE char *body = json_dumps(object, 0);
    json_decref(object);
    both_want(text(body), 400, code);
}

static void F7_F8_every_truncation_and_trailing_bytes_are_INVALID_TRANSACTION_XDR(void **state)
{
    (void)state;
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    for (size_t len = 0; len < sample.xdr.len; len++)
        both_want_xdr((struct bytes){sample.xdr.data, len}, "INVALID_TRANSACTION_XDR");
    buf_add_u32(&sample.xdr, 0);
    both_want_xdr(buf_bytes(&sample.xdr), "INVALID_TRANSACTION_XDR");
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
        both_want_xdr(buf_bytes(&changed), "INVALID_TRANSACTION_XDR");
        buf_free(&changed);
    }
    sample_wipe(&sample);
}

static void a_body_above_the_cap_is_413_however_it_comes(void **state)
{
    (void)state;
    AUTO_FREE char *body = mem_new(SERVICE_MAX_BODY + 2, 1);
    memset(body, ' ', SERVICE_MAX_BODY + 1);
    both_want(text(body), 413, "BODY_TOO_LARGE");
    body[SERVICE_MAX_BODY] = '\0'; /* at the cap it is read, and is no JSON */
    both_want(text(body), 400, "INVALID_JSON");
    for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
        AUTO_ANSWER answer = {0};
        AUTO_FREE char *chunked = mem_format("11170\r\n%070000d\r\n0\r\n\r\n", 0);
        AUTO_FREE char *head = mem_format(JSON "Transfer-Encoding: chunked\r\n\r\n%s", chunked);
        head[strlen(head) - 2] = '\0'; /* service_ask ends the head, here the body, with a CR LF */
        service_ask(&service, &answer, "POST", posts[i], head, (struct bytes){0});
        assert_answer_refused(&answer, 413, "BODY_TOO_LARGE");
    }
}

static void a_body_that_does_not_say_to_be_JSON_is_415(void **state)
{
    (void)state;
    static const char *const types[] = {
        "", "Content-Type: text/plain\r\n", "Content-Type: application/xml\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(types) * ARRAY_LEN(posts); i++) {
        AUTO_ANSWER answer = {0};
        service_ask(&service, &answer, "POST", posts[i % 2], types[i / 2], text("{}"));
        assert_answer_refused(&answer, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

static void an_unknown_path_is_404(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/v1", "/v1/", "/v1/transactions/", "/v1/pool/", "/v2/pool",
        "/V1/pool", "/v1//pool", "/v1/pool/x", "/v1/channel-accounts/x", "/readyz/", "/metrics",
        "/v1/transactions/a/b"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_ANSWER answer = {0};
        service_get(&service, &answer, paths[i]);
        assert_answer_refused(&answer, 404, "NOT_FOUND");
    }
}

static void an_unknown_method_is_405_with_those_that_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {{"GET", "/v1/transactions", "POST"}, {"DELETE", "/v1/transactions", "POST"},
        {"PUT", "/v1/fee-bumps", "POST"}, {"POST", "/v1/pool", "GET, HEAD"},
        {"PATCH", "/readyz", "GET, HEAD"}, {"POST", "/v1/transactions/00", "GET, HEAD"},
        {"POST", "/v1/channel-accounts", "GET, HEAD"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ANSWER answer = {0};
        service_ask(&service, &answer, cases[i].method, cases[i].path, "", (struct bytes){0});
        assert_answer_refused(&answer, 405, "METHOD_NOT_ALLOWED");
        assert_string_equal(answer_header(&answer, "Allow"), cases[i].allow);
    }
}

static void a_query_that_is_ambiguous_or_broken_is_400(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v1/channel-accounts?limit=1&limit=2",
        "/v1/channel-accounts?limit=%zz", "/v1/channel-accounts?state=%00", "/v1/transactions/%zz"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_ANSWER answer = {0};
        service_get(&service, &answer, paths[i]);
        assert_answer_refused(&answer, 400, "INVALID_REQUEST");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, unimpressed)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_JSON_object_is_INVALID_JSON),
        TEST(DX3_depth_and_digits_without_end_are_INVALID_JSON),
        TEST(G5_members_that_are_missing_unknown_or_of_another_type_are_INVALID_REQUEST),
        TEST(F7_F8_what_is_no_canonical_base64_is_INVALID_TRANSACTION_XDR),
        TEST(F7_F8_every_truncation_and_trailing_bytes_are_INVALID_TRANSACTION_XDR),
        TEST(DA6_unknown_arms_and_huge_lengths_are_INVALID_TRANSACTION_XDR),
        TEST(a_body_above_the_cap_is_413_however_it_comes),
        TEST(a_body_that_does_not_say_to_be_JSON_is_415),
        TEST(an_unknown_path_is_404),
        TEST(an_unknown_method_is_405_with_those_that_are_known),
        TEST(a_query_that_is_ambiguous_or_broken_is_400),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
