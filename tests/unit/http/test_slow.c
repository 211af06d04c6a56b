/* Clients that are slow on purpose: their connections time out, and others are not affected. */
#include "client.h"
#include "slowness.h"

#include <pthread.h>

enum {
    IDLE_MS = 1000,
    LATE_MS = 700 /* the listener's tick, on a busy machine */
};

static void quick(struct http_request *request, void *context)
{
    http_reply_json(request, 200, mem_copy_text("{}"));
}

static void *answer_after(void *request)
{
    clock_sleep_ms(IDLE_MS + LATE_MS);
    quick(request, NULL);
    return NULL;
}

static void slow(struct http_request *request, void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_after, request), 0);
    pthread_detach(thread);
}

/* More than fits into the buffers of the sockets. */
static void huge(struct http_request *request, void *context)
{
    enum {
        SIZE = 16 << 20
    };
    char *json = NEW_ARRAY(SIZE + 1, char);
    memset(json, ' ', SIZE);
    http_reply_json(request, 200, json);
}

static const struct http_route routes[] = {
    {"GET", "/quick", 0, quick, NULL, NULL},
    {"POST", "/quick", 10000, quick, NULL, NULL},
    {"GET", "/slow", 0, slow, NULL, NULL},
    {"GET", "/huge", 0, huge, NULL, NULL},
};

static struct http_server *server;

static int start(void **state)
{
    server = serve(
        routes, ARRAY_LEN(routes), (struct http_server_settings){.idle_timeout_s = 1, .max_connections = 50});
    return 0;
}

static int stop(void **state)
{
    http_server_free(server);
    return 0;
}

TEST(sending_slowly_does_not_prolong_a_request)
{
    static const struct {
        const char *start;
        char byte;
    } ways[] = {
        {"G", 'E'},
        {"GET /quick HTTP/1.1\r\nHost: x\r\nX-Long: ", 'a'},
        {"POST /quick HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 9999\r\n\r\n{", ' '},
    };
    struct client clients[ARRAY_LEN(ways)];
    struct pollfd fds[ARRAY_LEN(ways)];
    size_t open = ARRAY_LEN(ways);
    int64_t before = clock_ms();
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        dial(&clients[i], server);
        say(&clients[i], ways[i].start);
        fds[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
    }
    /* One byte each 20 ms until the server has closed every one. */
    while (open > 0 && clock_ms() - before < slower(PATIENCE_MS)) {
        poll(fds, ARRAY_LEN(ways), 0);
        for (size_t i = 0; i < ARRAY_LEN(ways); i++)
            if (fds[i].fd >= 0 &&
                (fds[i].revents != 0 || send(clients[i].fd, &ways[i].byte, 1, MSG_NOSIGNAL) < 0)) {
                assert_in_range(clock_ms() - before, IDLE_MS - 100, slower(IDLE_MS + LATE_MS));
                fds[i].fd = -1;
                open--;
            }
        clock_sleep_ms(20);
    }
    assert_int_equal(open, 0);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        hang_up(&clients[i]);
}

TEST(a_silent_client_is_disconnected_in_every_phase)
{
    static const char *const starts[] = {"", "GE", "GET /quick HTTP/1.1\r\nHo", GET("/quick"),
        "POST /quick HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 10\r\n\r\n{",
        "POST /quick HTTP/1.1\r\n" HOST JSON_TYPE "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n"};
    struct client clients[ARRAY_LEN(starts)];
    int64_t before = clock_ms();
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        dial(&clients[i], server);
        say(&clients[i], starts[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        while (listen_more(&clients[i]))
            ;
        assert_in_range(clock_ms() - before, IDLE_MS - 100, slower(IDLE_MS + LATE_MS));
        hang_up(&clients[i]);
    }
}

TEST(the_handlers_own_time_is_not_limited)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    ask(&client, &reply, GET("/slow"));
    assert_int_equal(reply.status, 200);
    ask(&client, &reply, GET("/quick"));
    assert_int_equal(reply.status, 200);
}

TEST(a_reply_that_the_client_does_not_read_times_out)
{
    struct client client CLEANUP(hang_up);
    dial(&client, server);
    say(&client, GET("/huge"));
    clock_sleep_ms((int)slower(IDLE_MS + LATE_MS));
    size_t got = 0;
    while (client.len = 0, listen_more(&client))
        got += client.len;
    assert_in_range(got, 1, (16 << 20) - 1);
}

GROUP_FIXTURE(start, stop)
