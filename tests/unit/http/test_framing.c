/* Where a request begins and ends: limits, pipelines, ambiguous heads, clients that disconnect. */
#include "client.h"

#include <dirent.h>
#include <stdatomic.h>

#include "slowness.h"

enum {
    CAP = 50000
};

static atomic_int handled;

/* Replies with the length of the body and the sum of its bytes. */
static void sum(struct http_request *request, void *context)
{
    struct bytes body = buf_bytes(&request->body);
    unsigned long total = 0;
    for (size_t i = 0; i < body.len; i++)
        total += body.data[i];
    atomic_fetch_add(&handled, 1);
    http_reply_json(request, 200, mem_format("{\"len\":%zu,\"sum\":%lu}", body.len, total));
}

static atomic_int kept;

static void release(void *memory)
{
    assert_string_equal(memory, "kept");
    free(memory);
    atomic_fetch_sub(&kept, 1);
}

static enum err admit(struct http_request *request, void *context, struct http_refusal *refusal)
{
    assert_int_equal(request->body.len, 0);
    if (http_header(request, "X-Full") != NULL) {
        *refusal = (struct http_refusal){.retry_after_s = 7, .extra = "{\"limit\":\"some\"}"};
        return detail_set(&refusal->detail, ERR_LIMIT_EXCEEDED, "%llu bytes are too many",
            (unsigned long long)request->content_length);
    }
    if (http_header(request, "X-Open") == NULL)
        return ERR_UNAUTHORIZED;
    atomic_fetch_add(&kept, 1);
    request->kept = mem_copy_text("kept");
    request->release = release;
    return ERR_OK;
}

static const struct http_route routes[] = {
    {"POST", "/closed", CAP, sum, NULL, admit},
    {"GET", "/closed", 0, sum, NULL, admit},
    {"POST", "/sum", CAP, sum, NULL, NULL},
    {"GET", "/sum", 0, sum, NULL, NULL},
};

SERVER_OF(routes)

#define POST_HEAD "POST /sum HTTP/1.1\r\n" HOST JSON_TYPE
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define INNER "GET /sum HTTP/1.1\r\nHost: y\r\n\r\n"

static void say_length(struct client *client, size_t len)
{
    AUTO_FREE char *head = mem_format(POST_HEAD "Content-Length: %zu\r\n\r\n", len);
    say(client, head);
}

static void assert_sum(const struct reply *reply, size_t len, unsigned byte)
{
    AUTO_FREE char *wanted = mem_format("{\"len\":%zu,\"sum\":%zu}", len, len * byte);
    assert_int_equal(reply->status, 200);
    assert_string_equal(reply->body, wanted);
}

TEST(body_up_to_the_cap_arrives_whole)
{
    static const size_t lengths[] = {0, 1, 1000, 16384, CAP - 1, CAP};
    AUTO_FREE char *body = NEW_ARRAY(CAP, char);
    memset(body, 'x', CAP);
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        say_length(&client, lengths[i]);
        say_bytes(&client, body, lengths[i]);
        assert_true(hear(&client, &reply));
        assert_sum(&reply, lengths[i], 'x');
    }
}

TEST(announced_excess_is_refused_before_it_is_read)
{
    static const char *const lengths[] = {"50001", "1000000", "99999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        AUTO_FREE char *head = mem_format(POST_HEAD "Content-Length: %s\r\n\r\n", lengths[i]);
        dial(&client, server);
        ask(&client, &reply, head);
        assert_problem(&reply, 413, "BODY_TOO_LARGE");
        assert_string_equal(reply_header(&reply, "Connection"), "close");
        assert_true(ended(&client));
    }
}

TEST(refusal_reaches_a_client_that_sends_its_whole_body_first)
{
    enum {
        SIZE = 3 << 20
    };
    AUTO_FREE char *body = NEW_ARRAY(SIZE, char);
    for (int i = 0; i < 5; i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        dial(&client, server);
        say_length(&client, SIZE);
        say_bytes(&client, body, SIZE); /* fails if the server resets the connection */
        assert_true(hear(&client, &reply));
        assert_problem(&reply, 413, "BODY_TOO_LARGE");
        assert_true(ended(&client));
    }
}

TEST(a_get_with_a_body_is_refused)
{
    struct reply reply;
    ask_once(server, &reply, "GET /sum HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx");
    assert_problem(&reply, 413, "BODY_TOO_LARGE");
    ask_once(server, &reply, "GET /sum HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    assert_sum(&reply, 0, 0);
}

TEST(an_expectation_is_met_or_the_request_is_refused_at_once)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply, POST_HEAD "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_int_equal(reply.status, 100);
    ask(&client, &reply, "{}");
    assert_int_equal(reply.status, 200);
    ask(&client, &reply, "POST /no HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_problem(&reply, 404, "NOT_FOUND");
    assert_true(ended(&client));
}

/* No byte of the body is read, whatever it is: chunk lines that end in a bare LF or in CR CR, extensions and
 * trailers have split requests between two readers before (RFC 9112 sections 6.3, 7.1 and 11.2). */
TEST(DX4_a_body_with_a_transfer_coding_is_411_and_the_connection_closed)
{
    static const char *const requests[] = {
        POST_HEAD CHUNKED "\r\n2\r\n{}\r\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED "\r\n2\n{}\n0\n\n" INNER,
        POST_HEAD CHUNKED "\r\n2\r\n{}\n\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED "\r\n2\r\r{}\r\r0\r\r\r\r" INNER,
        POST_HEAD CHUNKED "\r\n2;ext=\"1\"\r\n{}\r\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED "\r\n0\r\nContent-Length: 32\r\n\r\n" INNER,
        POST_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" INNER,
        POST_HEAD "Transfer-Encoding: identity\r\n\r\n" INNER,
        "GET /sum HTTP/1.1\r\n" HOST CHUNKED "\r\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED "\r\n",
    };
    int before = atomic_load(&handled);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        dial(&client, server);
        ask(&client, &reply, requests[i]);
        if (reply.status != 400 ||
            (strstr(requests[i], "gzip") == NULL && strstr(requests[i], "identity") == NULL))
            assert_problem(&reply, 411, "LENGTH_REQUIRED"); /* libmicrohttpd 1.0 refuses those by itself */
        assert_true(ended(&client));
    }
    assert_int_equal(atomic_load(&handled), before);
}

/* A refusal by the head does not wait for the body, and none of the body is kept. */
TEST(DX4_a_refusal_does_not_wait_for_the_body)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"POST /no HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 100\r\n\r\n", 404},
        {"PUT /sum HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 100\r\n\r\n", 405},
        {"POST /sum HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n", 415},
        {"POST /sum?a=1&a=2 HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 100\r\n\r\n", 400},
        {"POST /closed HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 100\r\n\r\n", 401},
        {"POST /closed HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 100\r\n\r\n{", 401},
    };
    int before = atomic_load(&handled);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        dial(&client, server);
        ask(&client, &reply, cases[i].request);
        assert_int_equal(reply.status, cases[i].status);
        assert_string_equal(reply_header(&reply, "Connection"), "close");
        assert_true(ended(&client));
    }
    assert_int_equal(atomic_load(&handled), before);
}

TEST(a_head_that_is_admitted_gets_its_body_and_another_keeps_its_connection)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply, "GET /closed HTTP/1.1\r\n" HOST "\r\n");
    assert_problem(&reply, 401, "UNAUTHORIZED");
    assert_string_equal(reply_header(&reply, "WWW-Authenticate"), "Bearer");
    ask(&client, &reply,
        "POST /closed HTTP/1.1\r\n" HOST JSON_TYPE "X-Open: yes\r\nContent-Length: 2\r\n\r\n{}");
    assert_sum(&reply, 2, 124);
}

TEST(a_refusal_by_the_route_has_its_detail_members_and_time)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply,
        "POST /closed HTTP/1.1\r\n" HOST JSON_TYPE "X-Full: yes\r\nContent-Length: 41\r\n\r\n");
    assert_problem(&reply, 429, "LIMIT_EXCEEDED");
    assert_non_null(strstr(reply.body, "\"detail\":\"41 bytes are too many\""));
    assert_non_null(strstr(reply.body, "\"limit\":\"some\""));
    assert_string_equal(reply_header(&reply, "Retry-After"), "7");
}

static void await_kept(int count)
{
    for (int64_t end_ms = clock_ms() + slower(10000); atomic_load(&kept) != count && clock_ms() < end_ms;)
        clock_sleep_ms(1);
    assert_int_equal(atomic_load(&kept), count);
}

TEST(what_is_kept_with_a_request_is_released_when_it_ends_or_its_client_leaves)
{
    struct client client;
    struct reply reply;
    await_kept(0);
    dial(&client, server);
    ask(&client, &reply, "GET /closed HTTP/1.1\r\n" HOST "X-Open: yes\r\n\r\n");
    assert_sum(&reply, 0, 0);
    await_kept(0);
    say(&client, "POST /closed HTTP/1.1\r\n" HOST JSON_TYPE "X-Open: yes\r\nContent-Length: 2\r\n\r\n");
    await_kept(1);
    hang_up(&client);
    await_kept(0);
}

TEST(bytes_may_come_one_by_one)
{
    static const char request[] = POST_HEAD "Content-Length: 3\r\n\r\nabc";
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    for (size_t i = 0; i + 1 < sizeof request; i++) {
        say_bytes(&client, request + i, 1);
        if (i % 16 == 0)
            clock_sleep_ms(1);
    }
    assert_true(hear(&client, &reply));
    assert_string_equal(reply.body, "{\"len\":3,\"sum\":294}");
}

/* Each could be read as one request or as two: refused, connection closed, nothing handled. */
TEST(ambiguous_heads_are_refused_and_closed)
{
    static const char *const requests[] = {
        POST_HEAD "Content-Length: 2\r\nContent-Length: 32\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 2, 2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: +2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 0x2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: -2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 2 2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length:\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 99999999999999999999999\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length: 2\r\n" CHUNKED "\r\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED "Content-Length: 32\r\n\r\n0\r\n\r\n" INNER,
        POST_HEAD CHUNKED CHUNKED "\r\n0\r\n\r\n" INNER,
        POST_HEAD "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" INNER,
        POST_HEAD "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}" INNER,
        POST_HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" INNER,
        POST_HEAD "Transfer-Encoding:\x0b"
                  "chunked\r\n\r\n0\r\n\r\n" INNER,
        POST_HEAD "X-Name: a\rContent-Length: 32\r\nContent-Length: 2\r\n\r\n{}" INNER,
        POST_HEAD "X-Name: a\x01\r\nContent-Length: 2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length : 2\r\n\r\n{}" INNER,
        POST_HEAD "Content-Length\t: 2\r\n\r\n{}" INNER,
        POST_HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" INNER,
        "POST /sum HTTP/1.1\r\n" HOST "Host: y\r\n" JSON_TYPE "Content-Length: 2\r\n\r\n{}" INNER,
        "POST /sum HTTP/1.1\r\n" JSON_TYPE "Content-Length: 2\r\n\r\n{}" INNER,
    };
    int before = atomic_load(&handled);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct client client CLEANUP(hang_up);
        struct reply reply;
        dial(&client, server);
        ask(&client, &reply, requests[i]);
        if (reply.status != 400 && reply.status != 411 && reply.status != 413)
            fail_msg("%d for %s", reply.status, requests[i]);
        while (listen_more(&client))
            ;
        client.heard[client.len] = '\0';
        if (strstr(client.heard, " 200 ") != NULL)
            fail_msg("a second answer to %s", requests[i]);
    }
    assert_int_equal(atomic_load(&handled), before);
}

TEST(oversized_head_is_refused_and_others_are_served)
{
    static const char *const heads[] = {"GET /", "GET /sum HTTP/1.1\r\nHost: x\r\nX-Big: "};
    AUTO_FREE char *big = NEW_ARRAY(40001, char);
    memset(big, 'a', 40000);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct client client;
        struct reply reply;
        dial(&client, server);
        say(&client, heads[i]);
        send(client.fd, big, 40000, MSG_NOSIGNAL);
        if (hear(&client, &reply)) /* a reset may have discarded it */
            assert_in_range(reply.status, 400, 499);
        hang_up(&client);
        ask_once(server, &reply, GET("/sum"));
        assert_int_equal(reply.status, 200);
    }
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

TEST(clients_that_disconnect_at_any_byte_leak_nothing)
{
    static const char request[] = POST_HEAD "Content-Length: 5\r\n\r\nabcde" GET("/sum");
    struct client client;
    struct reply reply;
    ask_once(server, &reply, GET("/sum"));
    clock_sleep_ms(300);
    size_t before = open_descriptors();
    for (size_t len = 0; len < sizeof request; len++) {
        dial(&client, server);
        say_bytes(&client, request, len);
        reset(&client);
        dial(&client, server);
        say_bytes(&client, request, len);
        hang_up(&client);
    }
    ask_once(server, &reply, GET("/sum"));
    assert_int_equal(reply.status, 200);
    for (int64_t end_ms = clock_ms() + slower(PATIENCE_MS);
         open_descriptors() > before && clock_left_ms(end_ms) > 0;)
        clock_sleep_ms(10);
    assert_true(open_descriptors() <= before);
}

GROUP_FIXTURE(start, stop)
