/* Requests that no honest client sends (DX4): each gets its answer in bounded memory and time, and the server
 * still serves others. */
#include "client.h"
#include "slowness.h"

#include <stdatomic.h>

static atomic_int handled;

static void fine(struct http_request *request, void *context)
{
    atomic_fetch_add(&handled, 1);
    http_reply_json(request, 200, mem_copy_text("{}"));
}

static const struct http_route routes[] = {
    {"GET", "/livez", 0, fine, NULL, NULL},
    {"GET", "/t/{hash}", 0, fine, NULL, NULL},
    {"POST", "/livez", 100, fine, NULL, NULL},
};

SERVER_OF(routes)

#ifdef FAIRWAY_SANITIZED /* a sanitizer keeps freed memory for a while */
#define MAY_GROW_KIB 300000
#else
#define MAY_GROW_KIB 5000
#endif

/* Resident memory of this process, in KiB. */
static size_t resident_kib(void)
{
    char line[200];
    size_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    fclose(status);
    return kib;
}

/* Of what the library decides before it calls us, each version may refuse with a status of its own, or close
 * the connection. */
#define BY_THE_LIBRARY 0

/* Whether the server has closed the connection and nothing more has come. libmicrohttpd 0.9.75 sends some of
 * its own refusals with two heads. */
static bool ended_by(struct client *client, int status)
{
    if (status != BY_THE_LIBRARY)
        return ended(client);
    while (listen_more(client))
        ;
    return memmem(client->heard, client->len, " 200 ", 5) == NULL;
}

TEST(DX4_each_odd_request_gets_its_answer)
{
    static const struct {
        const char *request;
        int status;
        const char *code; /* NULL: of a status that is no problem of ours */
        bool closes;
    } cases[] = {
        /* request lines */
        {"get /livez HTTP/1.1\r\n" HOST "\r\n", 405, "METHOD_NOT_ALLOWED", false},
        {"Get /livez HTTP/1.1\r\n" HOST "\r\n", 405, "METHOD_NOT_ALLOWED", false},
        {"TRACE /livez HTTP/1.1\r\n" HOST "\r\n", 405, "METHOD_NOT_ALLOWED", false},
        {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400, "INVALID_REQUEST", false},
        {"CONNECT x:443 HTTP/1.1\r\n" HOST "\r\n", 400, "INVALID_REQUEST", false},
        {"CONNECT /livez HTTP/1.1\r\n" HOST "\r\n", 405, "METHOD_NOT_ALLOWED", false},
        {GET("http://x/livez"), 400, "INVALID_REQUEST", false},
        {GET("//x/livez"), 404, "NOT_FOUND", false},
        {GET("/livez/../livez"), 404, "NOT_FOUND", false},
        {GET("/./livez"), 404, "NOT_FOUND", false},
        {GET("/%6civez"), 404, "NOT_FOUND", false},
        {GET("/livez%00"), 404, "NOT_FOUND", false},
        {GET("/livez%20"), 404, "NOT_FOUND", false},
        {GET("/livez;a=b"), 404, "NOT_FOUND", false},
        {GET("/livez#a"), 404, "NOT_FOUND", false},
        {GET("/t/\xc3\xa4"), 400, "INVALID_REQUEST", false},
        {GET("/livez?\xff"), 400, "INVALID_REQUEST", false},
        {GET("/livez?a=%00"), 400, "INVALID_REQUEST", false},
        {GET("/livez?a=1&%61=2"), 400, "INVALID_REQUEST", false},
        {"GET /livez\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/0.9\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/2.0\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.10\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez http/1.1\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1x\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez XTTP/1.1\r\n" HOST "\r\n", BY_THE_LIBRARY, NULL, true},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03\r\n\r\n", BY_THE_LIBRARY, NULL, true}, /* TLS */
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        /* fields */
        {"GET /livez HTTP/1.1\r\n\r\n", 400, NULL, true}, /* libmicrohttpd 1.0 answers it itself */
        {"GET /livez HTTP/1.1\r\n" HOST ": x\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "no colon\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "A b: x\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "A\xc3\xa4: x\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "A: \x7f\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "A: \x1b[31m\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "A: x\ry\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"GET /livez HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", 200,
            NULL, false},
        {"GET /livez HTTP/1.1\r\n" HOST "Range: bytes=0-0,1-1\r\n\r\n", 200, NULL, false},
        {"GET /livez HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n", 413, "BODY_TOO_LARGE", true},
        {"GET /livez HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551615\r\n\r\n", 413, NULL,
            true}, /* likewise */
        {"POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 18446744073709551616\r\n\r\n",
            BY_THE_LIBRARY, NULL, true},
        {"POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 00000000000000000000000000\r\n\r\n",
            BY_THE_LIBRARY, NULL, true},
        {"POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 5, 5\r\n\r\n", BY_THE_LIBRARY, NULL,
            true},
        {"POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 5;\r\n\r\n", BY_THE_LIBRARY, NULL, true},
        {"POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", 200, NULL,
            false},
    };
    struct client client;
    struct reply reply;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int before = atomic_load(&handled);
        dial(&client, server);
        say(&client, cases[i].request);
        const bool replied = hear(&client, &reply);
        const bool served = atomic_load(&handled) != before;
        if (cases[i].status != BY_THE_LIBRARY ? !replied || reply.status != cases[i].status
                                              : replied && reply.status < 400)
            fail_msg("%d for %s", replied ? reply.status : 0, cases[i].request);
        if (served != (cases[i].status == 200))
            fail_msg("%s reached a handler", cases[i].request);
        if (cases[i].code != NULL)
            assert_problem(&reply, cases[i].status, cases[i].code);
        if (cases[i].closes && !ended_by(&client, cases[i].status))
            fail_msg("more came after %d for %s", reply.status, cases[i].request);
        if (!cases[i].closes)
            ask(&client, &reply, GET("/livez"));
        hang_up(&client);
    }
    ask_once(server, &reply, GET("/livez"));
    assert_int_equal(reply.status, 200);
}

/* Sends up to `times` times the text, until the server closes the connection. Returns how many were sent. */
static size_t say_again_and_again(struct client *client, const char *text, size_t times)
{
    const size_t len = strlen(text);
    size_t i = 0;
    for (size_t at = 0; i < times; at = 0, i++)
        while (at < len) {
            const ssize_t sent = send(client->fd, text + at, len - at, MSG_NOSIGNAL);
            if (sent <= 0)
                return i;
            at += (size_t)sent;
        }
    return i;
}

TEST(DX4_heads_without_end_are_cut_in_bounded_memory)
{
    static const struct {
        const char *begin, *again;
    } ways[] = {
        {"GET /livez HTTP/1.1\r\n" HOST, "A: b\r\n"},
        {"GET /livez HTTP/1.1\r\n" HOST "A: ", "aaaaaaaaaa"},
        {"GET /livez HTTP/1.1\r\n" HOST "A: x\r\n", " folded\r\n"},
        {"GET /livez HTTP/1.1\r\n" HOST, "aaaaaaaaaa"},
        {"GET /", "aaaaaaaaaa"},
        {"GET /livez?", "a=b&"},
        {"", "AAAAAAAAAA"},
        {"", "\r\n"},
        {"GET /livez", "      "},
    };
    enum {
        TIMES = 100000,
        CLIENTS = 20,
        MORE_KIB = 20000
    };
    const size_t before = resident_kib();
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct client clients[CLIENTS];
        struct reply reply;
        for (size_t j = 0; j < CLIENTS; j++) {
            dial(&clients[j], server);
            say(&clients[j], ways[i].begin);
            say_again_and_again(&clients[j], ways[i].again, j == 0 ? TIMES : 2000);
        }
        if (resident_kib() > before + MORE_KIB)
            fail_msg("%zu KiB more for %s", resident_kib() - before, ways[i].again);
        ask_once(server, &reply, GET("/livez"));
        assert_int_equal(reply.status, 200);
        for (size_t j = 0; j < CLIENTS; j++)
            hang_up(&clients[j]);
    }
}

/* One connection with many requests does not delay another one, and its replies are in order. */
TEST(DX4_ten_thousand_pipelined_requests_are_answered_and_hold_up_nobody)
{
    enum {
        REQUESTS = 10000,
        OTHERS = 50
    };
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    AUTO_FREE char *all = NEW_ARRAY(REQUESTS * (sizeof request - 1) + 1, char);
    for (size_t i = 0; i < REQUESTS; i++)
        memcpy(all + i * (sizeof request - 1), request, sizeof request);
    AUTO_FREE struct client *crowd = NEW(struct client);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    dial(crowd, server);
    const size_t before = resident_kib();
    size_t sent = 0, answered = 0;
    int64_t slowest_ms = 0;
    unsigned others = 0;
    while (answered < REQUESTS) {
        const ssize_t n =
            send(crowd->fd, all + sent, REQUESTS * (sizeof request - 1) - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        while (memmem(crowd->heard, crowd->len, "\r\n\r\n{}", 6) != NULL) {
            assert_true(hear(crowd, reply));
            assert_int_equal(reply->status, 200);
            answered++;
        }
        if (answered < REQUESTS)
            assert_true(listen_more(crowd));
        if (others * REQUESTS < answered * OTHERS) {
            const int64_t begun = clock_ms();
            ask_once(server, reply, request);
            assert_int_equal(reply->status, 200);
            slowest_ms = clock_ms() - begun > slowest_ms ? clock_ms() - begun : slowest_ms;
            others++;
        }
    }
    hang_up(crowd);
    assert_true(others >= 5); /* many replies may arrive at once */
    assert_true(slowest_ms < slower(500));
    assert_true(resident_kib() < before + MAY_GROW_KIB);
}

/* The client may have closed its sending side: it gets what it has asked for, or the connection is closed. */
TEST(DX4_half_closed_connections_end)
{
    static const char *const begun[] = {"", "GET /livez HT", GET("/livez"),
        "POST /livez HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 50\r\n\r\n{"};
    for (size_t i = 0; i < ARRAY_LEN(begun); i++) {
        struct client client CLEANUP(hang_up);
        dial(&client, server);
        say(&client, begun[i]);
        shutdown(client.fd, SHUT_WR);
        const int64_t since = clock_ms();
        while (listen_more(&client))
            ;
        assert_true(clock_ms() - since < slower(2000));
    }
}

GROUP_FIXTURE(start, stop)
