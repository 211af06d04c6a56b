/* Rules of src/http/head.h, and the request target that handlers see. */
#include "client.h"

#include <stdatomic.h>

static atomic_int handled;

static void target(struct http_request *request, void *context)
{
    atomic_fetch_add(&handled, 1);
    http_reply_json(request, 200, mem_format("[\"%s\",\"%s\"]", request->method, request->target));
}

static const struct http_route routes[] = {
    {"GET", "/livez", 0, target, NULL, NULL},
    {"GET", "/t/{hash}", 0, target, NULL, NULL},
    {"POST", "/livez", 100, target, NULL, NULL},
};

SERVER_OF(routes)

/* Sends the request twice: no reply but a 400, which closes the connection, and no handler runs. Newer
 * libraries close the connection without a reply in some of these cases. */
static void assert_refused_and_closed(const char *request, size_t len)
{
    struct client client;
    struct reply reply;
    int before = atomic_load(&handled);
    dial(&client, server);
    send(client.fd, request, len, MSG_NOSIGNAL);
    send(client.fd, request, len, MSG_NOSIGNAL);
    if (hear(&client, &reply)) {
        assert_in_range(reply.status, 400, 431);
        assert_true(ended(&client));
    }
    hang_up(&client);
    if (atomic_load(&handled) != before)
        fail_msg("handled: %.*s", (int)len, request);
}

TEST(DX4_a_NUL_in_the_head_is_refused_and_the_connection_closed)
{
#define CASE(text)                                                                                           \
    {                                                                                                        \
        text, sizeof(text) - 1                                                                               \
    }
    static const struct {
        const char *request;
        size_t len;
    } cases[] = {
        CASE("GET /livez\0 HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET /livez\0HTTP/1.1 HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET /livez\0/../v1/pool HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET /livez?a\0b HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET /livez?\0 HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET\0 /livez HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET \0/livez HTTP/1.1\r\n" HOST "\r\n"),
        CASE("\0GET /livez HTTP/1.1\r\n" HOST "\r\n"),
        CASE("GET /livez HTTP/1.1\0\r\n" HOST "\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A: a\0b\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A: a\0\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A: \0\r\nX-B: b\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\nHost: x\0y\r\nX-A: a\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A\0: a\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A:\0 a\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "\0X-A: a\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "\0\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A: a\0\0\0\0b\r\n\r\n"),
        CASE("GET /livez HTTP/1.1\r\n" HOST "X-A: a\r\n\0\0b\r\n\r\n"),
        CASE("POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 2\0"
             "9\r\n\r\n{}"),
        CASE(
            "POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Idempotency-Key: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused_and_closed(cases[i].request, cases[i].len);
}

TEST(DX4_folded_lines_bare_line_feeds_and_extra_spaces_are_refused)
{
    static const char *const requests[] = {
        "GET /livez HTTP/1.1\r\n" HOST "X-A: a\r\n b\r\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "X-A: a\r\n\tContent-Length: 5\r\n\r\n",
        "GET /livez HTTP/1.1\r\n X-A: a\r\n" HOST "\r\n",
        "GET /livez HTTP/1.1\n" HOST "\r\n",
        "GET /livez HTTP/1.1\r\nHost: x\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "\n",
        "GET  /livez HTTP/1.1\r\n" HOST "\r\n",
        "GET /livez  HTTP/1.1\r\n" HOST "\r\n",
        "GET /livez HTTP/1.1 \r\n" HOST "\r\n",
        "GET /livez HTTP/1.1 HTTP/1.1\r\n" HOST "\r\n",
        "GET /livez\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        assert_refused_and_closed(requests[i], strlen(requests[i]));
}

TEST(DX4_a_field_that_must_be_unambiguous_may_occur_once)
{
    static const char *const fields[] = {"Authorization: Bearer a\r\n", "Idempotency-Key: a\r\n",
        "Content-Type: application/json\r\n", "Host: x\r\n", "X-Request-Id: a\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        const char *host = strncmp(fields[i], "Host", 4) == 0 ? "" : HOST;
        AUTO_FREE char *once = mem_format("GET /livez HTTP/1.1\r\n%s%s\r\n", host, fields[i]);
        AUTO_FREE char *lower = mem_copy_text(fields[i]);
        lower[0] = (char)(lower[0] | 0x20);
        AUTO_FREE char *twice = mem_format("GET /livez HTTP/1.1\r\n%s%s%s\r\n", host, fields[i], lower);
        ask_once(server, &reply, once);
        assert_int_equal(reply.status, 200);
        dial(&client, server);
        say(&client, twice);
        if (hear(&client, &reply)) {
            assert_int_equal(reply.status, 400);
            assert_non_null(strstr(reply.body, " occurs more than once."));
            assert_true(ended(&client));
        }
    }
}

TEST(DX4_a_query_of_any_number_of_parameters_is_answered)
{
    for (size_t count = 1; count <= 4000; count += count < 400 ? 50 : 900) {
        struct reply reply;
        AUTO_FREE char *query = NEW_ARRAY(3 * count + 1, char);
        for (size_t i = 0; i < count; i++)
            memcpy(query + 3 * i, "a=&", 4);
        AUTO_FREE char *request = mem_format("GET /livez?%s HTTP/1.1\r\n" HOST "\r\n", query);
        ask_once(server, &reply, request);
        assert_int_equal(reply.status, count == 1 ? 200 : 400);
    }
}

TEST(the_target_arrives_as_it_was_sent)
{
    static const char *const targets[] = {
        "/livez", "/livez?", "/livez?a=b&c=%20+d&&e", "/t/%41b+c?x=%2F%3f", "/t/a;b@c:$?p=/?q"};
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct reply reply;
        AUTO_FREE char *request = mem_format("GET %s HTTP/1.1\r\n" HOST "\r\n", targets[i]);
        AUTO_FREE char *wanted = mem_format("[\"GET\",\"%s\"]", targets[i]);
        ask_once(server, &reply, request);
        assert_string_equal(reply.body, wanted);
    }
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    say(&client, "HEAD /livez?x=1 HTTP/1.1\r\n" HOST "\r\n");
    assert_true(hear_as(&client, &reply, true));
    assert_int_equal(reply.status, 200);
}

TEST(heads_that_other_clients_send_are_read)
{
    static const char *const requests[] = {
        "GET /livez HTTP/1.1\r\nHost:x\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: \t x\r\nX-Empty:\r\nX-Spaces:   \r\nX-End: a \r\n\r\n",
        "GET /livez HTTP/1.0\r\n\r\n",
        "\r\nGET /livez HTTP/1.1\r\n" HOST "\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "Accept: a\r\nAccept: b\r\nCookie: a=b; c=d\r\nX-B: \xc3\xa4\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct reply reply;
        ask_once(server, &reply, requests[i]);
        if (reply.status != 200)
            fail_msg("%d for %s", reply.status, requests[i]);
    }
}

GROUP_FIXTURE(start, stop)
