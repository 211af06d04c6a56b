/* Replies, problems and JSON values, through a server with routes of this test. */
#include "unit/http/client.h"

#include <sys/mman.h>

#include "base/log.h"
#include "base/json.h"
#include "reply.h"

#define POST_TRANSACTION                                                                                     \
    "POST /transaction HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nContent-Length: "

static void reply_not_utf8(struct http_request *request, void *context)
{
    struct json_write object = {0};
    json_write_begin(&object, 64);
    json_write_text(&object, "networkPassphrase", "\xff");
    api_reply(request, 200, &object);
}

static void reply_values(struct http_request *request, void *context)
{
    const struct hash hash = {{0xab, [31] = 1}};
    const struct public_key key = {{0}};
    struct json_write object = {0};
    json_write_begin(&object, 64);
    api_write_hash(&object, "hash", &hash);
    api_write_address(&object, "address", &key);
    api_reply(request, 201, &object);
}

/* What /error replies. */
static enum err error;

static void reply_error(struct http_request *request, void *context)
{
    api_refuse_with(
        request, error, &(struct detail){"words of a library"}, 0, mem_copy_text("{\"more\":\"7\"}"));
}

/* Replies with the lengths of the request's body and of the transaction, and of the body afterwards. */
static void read_transaction(struct http_request *request, void *context)
{
    AUTO_JSON json_t *body = NULL;
    struct buf xdr CLEANUP(buf_free) = {0};
    struct detail detail = {0};
    const size_t len = request->body.len;
    enum err e = api_read_body(request, &body, &detail);
    if (e == ERR_OK)
        e = api_read_envelope(body, &xdr, &detail);
    struct json_write object = {0};
    json_write_begin(&object, 64);
    json_write_number(&object, "body", (int64_t)len);
    json_write_number(&object, "transaction", (int64_t)xdr.len);
    json_write_number(&object, "left", (int64_t)request->body.len);
    api_reply(request, err_status(e), &object);
}

static const struct http_route routes[] = {
    {"POST", "/transaction", 1000, read_transaction, NULL, NULL},
    {"GET", "/not-utf8", 0, reply_not_utf8, NULL, NULL},
    {"GET", "/values", 0, reply_values, NULL, NULL},
    {"GET", "/error", 0, reply_error, NULL, NULL},
};

static struct http_server *server;

static int start(void **state)
{
    if (log_set_level("error") != ERR_OK)
        return 1;
    server = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    return 0;
}

static int stop(void **state)
{
    http_server_free(server);
    return 0;
}

TEST(text_that_is_not_UTF8_is_an_internal_error_and_the_process_goes_on)
{
    struct reply reply;
    ask_once(server, &reply, GET("/not-utf8"));
    assert_problem(&reply, 500, "INTERNAL");
    ask_once(server, &reply, GET("/values"));
    assert_int_equal(reply.status, 201);
}

TEST(hashes_are_hex_and_accounts_addresses)
{
    struct reply reply;
    ask_once(server, &reply, GET("/values"));
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    assert_string_equal(reply.body,
        "{\"hash\":"
        "\"ab00000000000000000000000000000000000000000000000000000000000001\",\"address\":"
        "\"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF\"}");
}

TEST(a_4xx_shows_its_detail_and_a_503_has_Retry_After)
{
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

/* A request that waits for a lease holds its transaction, not the body as well. */
TEST(a_body_is_freed_when_its_transaction_has_been_read)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {POST_TRANSACTION "33\r\n\r\n{\"transactionXdr\":\"AAAAAAAAAAA=\"}",
            "{\"body\":33,\"transaction\":8,\"left\":0}"},
        {POST_TRANSACTION "3\r\n\r\n{]}", "{\"body\":3,\"transaction\":0,\"left\":0}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply;
        ask_once(server, &reply, cases[i].request);
        assert_string_equal(reply.body, cases[i].reply);
    }
}

static size_t count_lines(const char *log, const char *text)
{
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* During a hold, or until the distribution account is funded, every request fails, for minutes or days. */
TEST(DX4_failures_without_end_do_not_fill_the_log)
{
    enum {
        REQUESTS = 500,
        LOG_SIZE = 1 << 20
    };
    struct client client;
    struct reply reply;
    AUTO_FREE char *log = NEW_ARRAY(LOG_SIZE, char);
    const int64_t begun_ms = clock_ms();
    const int real_stderr = dup(STDERR_FILENO), log_file = memfd_create("log", MFD_CLOEXEC);
    dup2(log_file, STDERR_FILENO);
    const enum err levels = log_set_level("warn");
    dial(&client, server);
    for (int i = 0; i < REQUESTS; i++) {
        error = i % 2 == 0 ? ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED : ERR_RPC_UNAVAILABLE;
        ask(&client, &reply, GET("/error"));
    }
    hang_up(&client);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    assert_int_equal(levels, ERR_OK);
    assert_int_equal(log_set_level("error"), ERR_OK);
    assert_true(pread(log_file, log, LOG_SIZE - 1, 0) > 0);
    close(log_file);
    const size_t periods = 1 + (size_t)(clock_ms() - begun_ms) / 10000;
    assert_in_range(count_lines(log, "msg=\"request failed\" request_id="), 2 * 20, 2 * 20 * (periods + 1));
    assert_in_range(
        count_lines(log, " error=DISTRIBUTION_ACCOUNT_UNDERFUNDED detail="), 20, 20 * (periods + 1));
    assert_in_range(count_lines(log, " error=RPC_UNAVAILABLE detail="), 20, 20 * (periods + 1));
    assert_non_null(strstr(log, "detail=\"words of a library\" not_logged=0\n"));
}

GROUP_FIXTURE(start, stop)
