/* Rules of http/http.h and http/server.h: replies of handlers and of the server itself, and their headers. */
#include "client.h"

static void hello(struct http_request *request, void *context)
{
    http_reply_json(request, 200, mem_copy_text("{\"hello\":1}"));
}

/* Replies with what the handler was given, as JSON. */
static void mirror(struct http_request *request, void *context)
{
    const char *parameter = request->parameter, *wait = http_query(request, "wait"),
               *key = http_header(request, "idempotency-key");
    http_reply_json(request, 201,
        mem_format("{\"parameter\":\"%s\",\"wait\":\"%s\",\"key\":\"%s\",\"body\":%zu,\"id\":\"%s\"}",
            parameter == NULL ? "-" : parameter, wait == NULL ? "-" : wait, key == NULL ? "-" : key,
            request->body.len, request->id));
}

static void unavailable(struct http_request *request, void *context)
{
    const struct detail detail = {"pool row 17"};
    http_reply_problem(request, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, &detail, 2, "{\"idle\":0}");
}

static const struct http_route routes[] = {
    {"GET", "/hello", 0, hello, NULL, NULL},
    {"GET", "/v1/things/{id}", 0, mirror, NULL, NULL},
    {"POST", "/v1/things", 1000, mirror, NULL, NULL},
    {"GET", "/unavailable", 0, unavailable, NULL, NULL},
};

SERVER_OF(routes)

TEST(reply_carries_its_headers_and_no_others_of_ours)
{
    struct reply reply;
    ask_once(server, &reply, GET("/hello"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "{\"hello\":1}");
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-store");
    assert_int_equal(strlen(reply_header(&reply, "X-Request-Id")), 32);
    assert_null(reply_header(&reply, "Server"));
    assert_null(reply_header(&reply, "Connection"));
}

TEST(request_ids_are_generated_and_unique)
{
    struct http_server *other = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    char seen[3][33];
    for (size_t i = 0; i < 3; i++) {
        struct reply reply;
        ask_once(i == 2 ? other : server, &reply, GET("/v1/things/a"));
        strcpy(seen[i], reply_header(&reply, "X-Request-Id"));
        assert_non_null(strstr(reply.body, seen[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(seen[i], seen[k]);
    }
    http_server_free(other);
}

TEST(handler_sees_parameter_query_header_and_body)
{
    struct reply reply;
    ask_once(server, &reply, GET("/v1/things/a%62c?wait=6%30&x"));
    assert_int_equal(reply.status, 201);
    assert_non_null(strstr(reply.body, "\"parameter\":\"a%62c\",\"wait\":\"60\",\"key\":\"-\",\"body\":0"));
    ask_once(server, &reply,
        "POST /v1/things HTTP/1.1\r\n" HOST JSON_TYPE
        "Idempotency-Key: k1\r\nContent-Length: 4\r\n\r\n{\r\n}");
    assert_non_null(strstr(reply.body, "\"parameter\":\"-\",\"wait\":\"-\",\"key\":\"k1\",\"body\":4"));
}

TEST(head_is_the_get_without_its_body)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    say(&client, "HEAD /hello HTTP/1.1\r\n" HOST "\r\n");
    assert_true(hear_as(&client, &reply, true));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Length"), "11");
    ask(&client, &reply, GET("/hello")); /* no bytes of a body came in between */
    assert_int_equal(reply.status, 200);
}

TEST(post_must_be_json)
{
    static const char *const refused[] = {"", "Content-Type: text/plain\r\n",
        "Content-Type: application/jsonx\r\n", "Content-Type: application/json-patch+json\r\n",
        "Content-Type: x, application/json\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"};
    static const char *const taken[] = {JSON_TYPE, "content-type:APPLICATION/Json ; charset=utf-8\r\n",
        "Content-Type: application/json;charset=utf-8\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(refused) + ARRAY_LEN(taken); i++) {
        struct reply reply;
        bool good = i >= ARRAY_LEN(refused);
        AUTO_FREE char *text = mem_format("POST /v1/things HTTP/1.1\r\n" HOST "%sContent-Length: 2\r\n\r\n{}",
            good ? taken[i - ARRAY_LEN(refused)] : refused[i]);
        ask_once(server, &reply, text);
        if (good)
            assert_int_equal(reply.status, 201);
        else
            assert_problem(&reply, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

TEST(problem_of_a_handler_has_retry_after_and_members_but_no_internal_text)
{
    struct reply reply;
    ask_once(server, &reply, GET("/unavailable"));
    assert_problem(&reply, 503, "CHANNEL_ACCOUNT_UNAVAILABLE");
    assert_string_equal(reply_header(&reply, "Retry-After"), "2");
    assert_non_null(strstr(reply.body, "\"idle\":0"));
    assert_null(strstr(reply.body, "row 17"));
}

TEST(refusals_without_a_body_keep_the_connection)
{
    static const struct {
        const char *text;
        int status;
    } requests[] = {
        {GET("/nowhere"), 404},
        {"POST /nowhere HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 404},
        {"POST /v1/things HTTP/1.1\r\n" HOST "\r\n", 415},
        {"DELETE /hello HTTP/1.1\r\n" HOST "\r\n", 405},
        {GET("/hello?a=%"), 400},
        {GET("/unavailable"), 503},
        {GET("/hello"), 200},
    };
    struct client client CLEANUP(hang_up);
    dial(&client, server);
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
            struct reply reply;
            ask(&client, &reply, requests[i].text);
            assert_int_equal(reply.status, requests[i].status);
        }
}

TEST(http_1_0_is_answered_and_closed)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply, "GET /hello HTTP/1.0\r\n\r\n");
    assert_int_equal(reply.status, 200);
    assert_true(ended(&client));
}

GROUP_FIXTURE(start, stop)
