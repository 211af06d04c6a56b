/* Replies, problems and JSON values, through a server with routes of this test. */
#include "unit/http/client.h"

#include "base/log.h"
#include "reply.h"

static void reply_not_utf8(struct http_request *request, void *context)
{
    (void)context;
    api_reply(request, 200, json_pack("{s:s}", "networkPassphrase", "\xff"));
}

static void reply_values(struct http_request *request, void *context)
{
    (void)context;
    const struct hash hash = {{0xab, [31] = 1}};
    const struct public_key key = {{0}};
    api_reply(request, 201,
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "least", api_json_decimal(INT64_MIN), "most",
            api_json_decimal(INT64_MAX), "hash", api_json_hash(&hash), "address", api_json_address(&key),
            "bytes", api_json_base64((struct bytes){(const uint8_t *)"ab", 2})));
}

/* What /error replies. */
static enum err error;

static void reply_error(struct http_request *request, void *context)
{
    (void)context;
    api_refuse_with(request, error, &(struct detail){"words of a library"}, json_pack("{s:s}", "more", "7"));
}

static const struct http_route routes[] = {
    {"GET", "/not-utf8", 0, reply_not_utf8, NULL, NULL},
    {"GET", "/values", 0, reply_values, NULL, NULL},
    {"GET", "/error", 0, reply_error, NULL, NULL},
};

static struct http_server *server;

static int start(void **state)
{
    (void)state;
    if (log_set_level("error") != ERR_OK)
        return 1;
    server = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    return 0;
}

static int stop(void **state)
{
    (void)state;
    http_server_free(server);
    return 0;
}

static void text_that_is_not_UTF8_is_an_internal_error_and_the_process_goes_on(void **state)
{
    (void)state;
    struct reply reply;
    ask_once(server, &reply, GET("/not-utf8"));
    assert_problem(&reply, 500, "INTERNAL");
    ask_once(server, &reply, GET("/values"));
    assert_int_equal(reply.status, 201);
}

static void numbers_are_decimal_strings_hashes_hex_and_bytes_base64(void **state)
{
    (void)state;
    struct reply reply;
    ask_once(server, &reply, GET("/values"));
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    assert_string_equal(reply.body,
        "{\"least\":\"-9223372036854775808\",\"most\":\"9223372036854775807\",\"hash\":"
        "\"ab00000000000000000000000000000000000000000000000000000000000001\",\"address\":"
        "\"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF\",\"bytes\":\"YWI=\"}");
}

static void a_4xx_shows_its_detail_and_a_503_has_Retry_After(void **state)
{
    (void)state;
    static const struct {
        enum err e;
        const char *retry_after;
    } cases[] = {{ERR_INVALID_REQUEST, NULL}, {ERR_FEE_EXCEEDS_MAXIMUM, NULL},
        {ERR_TRANSACTION_NOT_FOUND, NULL}, {ERR_INTERNAL, NULL}, {ERR_CHANNEL_ACCOUNT_UNAVAILABLE, "5"},
        {ERR_GRANTS_SUSPENDED, "10"}, {ERR_OVERLOADED, "1"}, {ERR_KEYD_CLOCK, "30"}, {ERR_KEYD_BUDGET, "1"},
        {ERR_DATABASE_UNAVAILABLE, "2"}, {ERR_OUTCOME_UNKNOWN, "2"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply;
        error = cases[i].e;
        ask_once(server, &reply, GET("/error"));
        assert_problem(&reply, err_status(error), err_code(error));
        assert_true((strstr(reply.body, "words of a library") != NULL) == (err_status(error) < 500));
        assert_non_null(strstr(reply.body, "\"more\":\"7\""));
        const char *retry_after = reply_header(&reply, "Retry-After");
        assert_string_equal(
            retry_after == NULL ? "" : retry_after, cases[i].retry_after == NULL ? "" : cases[i].retry_after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_is_not_UTF8_is_an_internal_error_and_the_process_goes_on),
        cmocka_unit_test(numbers_are_decimal_strings_hashes_hex_and_bytes_base64),
        cmocka_unit_test(a_4xx_shows_its_detail_and_a_503_has_Retry_After),
    };
    return cmocka_run_group_tests_name("reply", tests, start, stop);
}
