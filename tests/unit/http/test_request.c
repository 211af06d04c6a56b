/* The log line of each request, its level and its request id. */
#include "client.h"

#include <sys/mman.h>

#include "base/log.h"
#include "base/metric.h"
#include "slowness.h"

static void fine(struct http_request *request, void *context)
{
    http_reply_json(request, 200, mem_copy_text("{}"));
}

static void unavailable(struct http_request *request, void *context)
{
    http_reply_problem(request, ERR_DATABASE_UNAVAILABLE, NULL, 2, NULL);
}

static void cancel(void *context)
{
    http_reply_problem(context, ERR_CANCELLED, NULL, 0, NULL);
}

/* As an endpoint that waits does: it replies when the client has gone. */
static void until_gone(struct http_request *request, void *context)
{
    http_on_client_gone(request, cancel, request);
}

static const struct http_route routes[] = {
    {"GET", "/fine", 0, fine, NULL, NULL},
    {"GET", "/unavailable", 0, unavailable, NULL, NULL},
    {"GET", "/until-gone", 0, until_gone, NULL, NULL},
};

static struct http_server *server;
static int real_stderr, log_file;

static int start(void **state)
{
    if (log_set_level("debug") != ERR_OK)
        return -1;
    server = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    real_stderr = dup(STDERR_FILENO);
    log_file = memfd_create("log", MFD_CLOEXEC);
    dup2(log_file, STDERR_FILENO);
    return 0;
}

static int stop(void **state)
{
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(log_file);
    http_server_free(server);
    return 0;
}

/* The log line that has this path; it is written when the request has ended. */
static char *line_of(const char *path)
{
    AUTO_FREE char *wanted = mem_format(" path=\"%s\" ", path);
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); clock_ms() < end; clock_sleep_ms(2)) {
        AUTO_FREE char *log = NEW_ARRAY(1 << 20, char);
        if (pread(log_file, log, (1 << 20) - 1, 0) < 0)
            fail_msg("the log cannot be read");
        char *found = strstr(log, wanted);
        if (found == NULL || strchr(found, '\n') == NULL)
            continue;
        *strchr(found, '\n') = '\0';
        char *begin = found;
        while (begin > log && begin[-1] != '\n')
            begin--;
        return mem_copy_text(begin);
    }
    fail_msg("no log line with path %s", path);
    return NULL;
}

static void assert_has(const char *line, const char *text)
{
    if (strstr(line, text) == NULL)
        fail_msg("no \"%s\" in %s", text, line);
}

TEST(a_request_is_logged_at_debug_and_a_server_error_at_warn)
{
    struct reply reply;
    ask_once(server, &reply, GET("/fine"));
    ask_once(server, &reply, GET("/unavailable"));
    AUTO_FREE char *good = line_of("/fine"), *bad = line_of("/unavailable");
    assert_has(good, "level=debug");
    assert_has(good, "status=200 code=OK sent=1");
    assert_has(bad, "level=warn");
    assert_has(bad, "status=503 code=");
}

TEST(a_refusal_is_logged_at_info_with_its_code_and_request_id)
{
    struct reply reply;
    ask_once(server, &reply, "GET /nothing HTTP/1.1\r\n" HOST "X-Request-Id: wallet-7.a_B\r\n\r\n");
    assert_int_equal(reply.status, 404);
    assert_string_equal(reply_header(&reply, "X-Request-Id"), "wallet-7.a_B");
    assert_non_null(strstr(reply.body, "\"requestId\":\"wallet-7.a_B\""));
    AUTO_FREE char *line = line_of("/nothing");
    assert_has(line, "level=info");
    assert_has(line, " status=404 code=NOT_FOUND ");
    assert_has(line, " request_id=wallet-7.a_B");
}

TEST(a_path_cannot_add_a_field_to_the_log_line)
{
    struct reply reply;
    ask_once(server, &reply, GET("/escaped\"status=200"));
    AUTO_FREE char *line = line_of("/escaped\\\"status=200");
    assert_has(line, " status=404 ");
}

#define SIXTY_FOUR "0123456789012345678901234567890123456789012345678901234567890123"

TEST(a_request_id_of_the_caller_is_taken_over_if_it_is_plainly_one)
{
    static const struct {
        const char *id;
        bool is_taken;
    } cases[] = {{"a", true}, {SIXTY_FOUR, true}, {SIXTY_FOUR "4", false}, {"", false}, {"a b", false},
        {"a\"b", false}, {"a=b", false}, {"a\xc3\xa4", false}, {"a/b", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply;
        AUTO_FREE char *request =
            mem_format("GET /fine HTTP/1.1\r\n" HOST "X-Request-Id: %s\r\n\r\n", cases[i].id);
        ask_once(server, &reply, request);
        const char *id = reply_header(&reply, "X-Request-Id");
        if (cases[i].is_taken)
            assert_string_equal(id, cases[i].id);
        else
            assert_true(strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32);
    }
}

/* The next request on the same connection has an id of its own. */
TEST(a_request_id_is_taken_over_for_one_request)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply, "GET /fine HTTP/1.1\r\n" HOST "X-Request-Id: first\r\n\r\n");
    ask(&client, &reply, GET("/fine"));
    assert_int_equal(strlen(reply_header(&reply, "X-Request-Id")), 32);
}

TEST(a_client_that_leaves_is_logged_with_status_499_and_not_as_a_warning)
{
    struct client client;
    dial(&client, server);
    say(&client, GET("/until-gone"));
    clock_sleep_ms(20);
    hang_up(&client);
    AUTO_FREE char *line = line_of("/until-gone");
    assert_has(line, "level=debug");
    assert_has(line, "status=499 ");
    assert_has(line, " client_left=1 ");
}

static unsigned count_lines(const char *code)
{
    AUTO_FREE char *log = NEW_ARRAY(1 << 20, char), *wanted = mem_format(" code=%s ", code);
    unsigned lines = 0;
    if (pread(log_file, log, (1 << 20) - 1, 0) < 0)
        fail_msg("the log cannot be read");
    for (const char *at = log; (at = strstr(at, wanted)) != NULL; at++)
        lines++;
    return lines;
}

TEST(DX4_refusals_without_end_do_not_fill_the_log)
{
    enum {
        REQUESTS = 1000
    };
    struct client client CLEANUP(hang_up);
    struct reply reply;
    assert_int_equal(count_lines("INVALID_REQUEST"), 0);
    const int64_t begun = clock_ms();
    dial(&client, server);
    for (int i = 0; i < REQUESTS; i++) {
        ask(&client, &reply, GET("/fine?a=%"));
        assert_int_equal(reply.status, 400);
    }
    const int64_t periods = 1 + (clock_ms() - begun) / 10000;
    assert_in_range(count_lines("INVALID_REQUEST"), 1, 20 * (periods + 1));
    assert_true(metric_read(METRIC_CLIENT_REQUESTS, METRIC_NO_CLIENT, ERR_INVALID_REQUEST) >= REQUESTS - 1);
}

GROUP_FIXTURE(start, stop)
