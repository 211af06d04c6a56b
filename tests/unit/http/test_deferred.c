/* Replies from other threads, at any moment; clients that leave while their request waits; drain. */
#include "client.h"
#include "base/deadlines.h"
#include "slowness.h"

#include <pthread.h>
#include <stdatomic.h>

/* Requests for the threads that reply, oldest first. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct http_request *waiting[4096];
    size_t first, count;
    bool stop;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void keep(struct http_request *request)
{
    pthread_mutex_lock(&queue.lock);
    queue.waiting[(queue.first + queue.count++) % ARRAY_LEN(queue.waiting)] = request;
    pthread_cond_broadcast(&queue.wake);
    pthread_mutex_unlock(&queue.lock);
}

/* NULL: stopped. */
static struct http_request *take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0 && !queue.stop)
        pthread_cond_wait(&queue.wake, &queue.lock);
    struct http_request *request = NULL;
    if (queue.count > 0) {
        request = queue.waiting[queue.first];
        queue.first = (queue.first + 1) % ARRAY_LEN(queue.waiting);
        queue.count--;
    }
    pthread_mutex_unlock(&queue.lock);
    return request;
}

static void answer(struct http_request *request)
{
    http_reply_json(request, 200, mem_format("{\"n\":\"%s\"}", request->parameter));
}

static void at_once(struct http_request *request, void *context)
{
    answer(request);
}

static void later(struct http_request *request, void *context)
{
    keep(request);
}

/* A handler that still runs when another thread has replied. */
static void overtaken(struct http_request *request, void *context)
{
    keep(request);
    clock_sleep_ms(1);
}

/* For a thread that does not sleep: with pauses of different length, replies come just before, during and
 * after the suspension. */
static struct http_request *_Atomic slot;
static atomic_bool spinning;

static void to_slot(struct http_request *request, void *context)
{
    static unsigned round; /* one client: one handler at a time */
    atomic_store(&slot, request);
    for (volatile unsigned pause = round++ % 4096; pause > 0; pause--)
        ;
}

/* A request that waits, and whether its client has left. */
struct job {
    struct http_request *request;
    atomic_bool gone;
};

static struct job *_Atomic jobs[2]; /* by the path's {n} */

static void client_gone(void *context)
{
    atomic_store(&((struct job *)context)->gone, true);
}

static void watched(struct http_request *request, void *context)
{
    struct job *job = NEW(struct job);
    job->request = request;
    http_on_client_gone(request, client_gone, job);
    atomic_store(&jobs[request->parameter[0] - '0'], job);
}

static struct job *take_job(int n)
{
    struct job *job;
    while ((job = atomic_exchange(&jobs[n], NULL)) == NULL)
        ;
    return job;
}

/* The thread of a request that has ended waits until it is let go. */
static atomic_uint held, let_go;

static void hold_thread(void *memory)
{
    const unsigned number = ++held;
    while (let_go < number)
        clock_sleep_ms(1);
}

static void holds_thread(struct http_request *request, void *context)
{
    request->kept = context;
    request->release = hold_thread;
    answer(request);
}

static const struct http_route routes[] = {
    {"GET", "/held/{n}", 0, holds_thread, &held, NULL},
    {"POST", "/posted/{n}", 1, at_once, NULL, NULL}, /* too large before its body is read */
    {"GET", "/watched/{n}", 0, watched, NULL, NULL},
    {"GET", "/slot/{n}", 0, to_slot, NULL, NULL},
    {"GET", "/now/{n}", 0, at_once, NULL, NULL},
    {"GET", "/later/{n}", 0, later, NULL, NULL},
    {"GET", "/overtaken/{n}", 0, overtaken, NULL, NULL},
};

static struct http_server *server;

static int start(void **state)
{
    alarm(600); /* http_server_free waits for ever for a request without a reply */
    server = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    return 0;
}

static int stop(void **state)
{
    http_server_free(server);
    return 0;
}

static void *answer_all(void *context)
{
    for (struct http_request *request; (request = take()) != NULL;)
        answer(request);
    return NULL;
}

static void threads_start(pthread_t *threads, size_t count, void *(*run)(void *), void *context)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, context), 0);
}

static void threads_join(pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void stop_answering(pthread_t *threads, size_t count)
{
    pthread_mutex_lock(&queue.lock);
    queue.stop = true;
    pthread_cond_broadcast(&queue.wake);
    pthread_mutex_unlock(&queue.lock);
    threads_join(threads, count);
    queue.stop = false;
}

static void *ask_many(void *context)
{
    static const char *const kinds[] = {"now", "later", "overtaken"};
    atomic_int *right = context;
    struct client *client = NEW(struct client);
    struct reply *reply = NEW(struct reply);
    dial(client, server);
    for (int i = 0; i < 300; i++) {
        char request[100], wanted[40];
        snprintf(request, sizeof request, "GET /%s/%d HTTP/1.1\r\n" HOST "\r\n", kinds[i % 3], i);
        snprintf(wanted, sizeof wanted, "{\"n\":\"%d\"}", i);
        say(client, request);
        if (hear(client, reply) && reply->status == 200 && strcmp(reply->body, wanted) == 0)
            atomic_fetch_add(right, 1);
    }
    hang_up(client);
    free(reply);
    free(client);
    return NULL;
}

TEST(every_request_gets_its_own_reply_from_any_thread)
{
    enum {
        CLIENTS = 32
    };
    atomic_int right = 0;
    pthread_t answering[3], asking[CLIENTS];
    threads_start(answering, ARRAY_LEN(answering), answer_all, NULL);
    threads_start(asking, CLIENTS, ask_many, &right);
    threads_join(asking, CLIENTS);
    stop_answering(answering, ARRAY_LEN(answering));
    assert_int_equal(atomic_load(&right), CLIENTS * 300);
}

static void *answer_slot(void *context)
{
    while (atomic_load(&spinning)) {
        struct http_request *request = atomic_exchange(&slot, NULL);
        if (request != NULL)
            answer(request);
    }
    return NULL;
}

TEST(a_reply_may_come_during_suspension)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    pthread_t answering;
    atomic_store(&spinning, true);
    threads_start(&answering, 1, answer_slot, NULL);
    dial(&client, server);
    for (int i = 0; i < 15000; i++) {
        say(&client, GET("/slot/1"));
        assert_true(hear(&client, &reply));
    }
    atomic_store(&spinning, false);
    threads_join(&answering, 1);
}

TEST(replies_may_come_in_any_order)
{
    struct client clients[4];
    struct http_request *requests[4];
    for (size_t i = 0; i < 4; i++) {
        char text[60];
        snprintf(text, sizeof text, "GET /later/%zu HTTP/1.1\r\n" HOST "\r\n", i);
        dial(&clients[i], server);
        say(&clients[i], text);
        requests[i] = take();
    }
    for (size_t i = 4; i-- > 0;) {
        struct reply reply;
        char wanted[32];
        snprintf(wanted, sizeof wanted, "{\"n\":\"%zu\"}", i);
        answer(requests[i]);
        assert_true(hear(&clients[i], &reply));
        assert_string_equal(reply.body, wanted);
        hang_up(&clients[i]);
    }
}

/* A request must not be resumed by a timer: 200 round trips take much less time than 200 ticks. */
TEST(a_reply_is_sent_at_once)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    int64_t start_us = clock_us();
    for (int i = 0; i < 200; i++) {
        say(&client, GET("/later/1"));
        answer(take());
        assert_true(hear(&client, &reply));
    }
    assert_true(clock_us() - start_us < slower(200 * 5) * 1000);
}

TEST(pipelined_requests_wait_for_the_one_before)
{
    struct client client CLEANUP(hang_up);
    struct reply reply;
    dial(&client, server);
    say(&client, GET("/later/1") GET("/now/2") GET("/later/3"));
    struct http_request *first = take();
    clock_sleep_ms(20);
    answer(first);
    assert_true(hear(&client, &reply));
    assert_string_equal(reply.body, "{\"n\":\"1\"}");
    assert_true(hear(&client, &reply));
    assert_string_equal(reply.body, "{\"n\":\"2\"}");
    answer(take());
    assert_true(hear(&client, &reply));
    assert_string_equal(reply.body, "{\"n\":\"3\"}");
}

static bool becomes_gone(const struct job *job)
{
    for (int64_t end_ms = clock_ms() + slower(PATIENCE_MS); clock_left_ms(end_ms) > 0; clock_sleep_ms(1))
        if (atomic_load(&job->gone))
            return true;
    return false;
}

static void half_close(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
}

TEST(a_hang_up_is_seen_while_the_request_waits)
{
    static void (*const ways[])(struct client *) = {hang_up, reset, half_close};
    static const char *const requests[] = {GET("/watched/0"), GET("/watched/0") GET("/now/2")};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        for (size_t k = 0; k < ARRAY_LEN(requests); k++) {
            struct client client, other;
            dial(&client, server);
            dial(&other, server);
            say(&client, requests[k]);
            struct job *leaves = take_job(0);
            say(&other, GET("/watched/1"));
            struct job *stays = take_job(1);
            clock_sleep_ms(10);
            assert_false(atomic_load(&leaves->gone)); /* though bytes may wait on its socket */
            ways[i](&client);
            assert_true(becomes_gone(leaves));
            assert_false(atomic_load(&stays->gone));
            http_reply_problem(leaves->request, ERR_CANCELLED, NULL, 0, NULL);
            answer(stays->request);
            free(leaves);
            free(stays);
            struct reply reply;
            assert_true(hear(&other, &reply));
            hang_up(&other);
            if (ways[i] == half_close)
                hang_up(&client);
        }
}

/* The job is freed right after the reply, as endpoints do. */
TEST(a_hang_up_and_a_reply_may_come_at_the_same_time)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < 3000; i++) {
        struct client client;
        dial(&client, server);
        say(&client, GET("/watched/0"));
        struct job *job = take_job(0);
        if (i % 2 == 0)
            reset(&client);
        else
            hang_up(&client);
        for (volatile unsigned pause = i * 7 % 8192; pause > 0; pause--)
            ;
        answer(job->request);
        seen += atomic_load(&job->gone);
        free(job);
    }
    print_message("%u of 3000 hang-ups were seen before the reply\n", seen);
}

TEST(a_reply_to_a_client_that_left_is_harmless)
{
    for (int i = 0; i < 100; i++) {
        struct client client;
        dial(&client, server);
        say(&client, GET("/later/1"));
        struct http_request *request = take();
        if (i % 2 == 0)
            reset(&client);
        else
            hang_up(&client);
        answer(request);
    }
}

#define DRAIN_MS 30000

static void *drain(void *context)
{
    http_server_drain(context, DRAIN_MS);
    return NULL;
}

static bool refuses(const struct http_server *own)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)http_server_port(own)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool refused = connect(fd, (struct sockaddr *)&to, sizeof to) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

TEST(drain_waits_for_requests_in_progress_and_refuses_connections)
{
    struct http_server *own = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    CLEANUP(hang_up) struct client waiting, keeping;
    struct reply reply;
    pthread_t draining;
    dial(&waiting, own);
    dial(&keeping, own);
    ask(&keeping, &reply, GET("/now/0"));
    say(&waiting, GET("/later/1"));
    struct http_request *request = take();
    int64_t before = clock_ms();
    threads_start(&draining, 1, drain, own);
    while (!refuses(own))
        assert_true(clock_ms() - before < DRAIN_MS);
    /* One more request is served on an open connection. */
    ask(&keeping, &reply, GET("/now/2"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Connection"), "close");
    assert_true(ended(&keeping));
    answer(request);
    assert_true(hear(&waiting, &reply));
    assert_string_equal(reply.body, "{\"n\":\"1\"}");
    assert_string_equal(reply_header(&reply, "Connection"), "close");
    threads_join(&draining, 1);
    assert_true(clock_ms() - before < DRAIN_MS); /* no longer than needed */
    assert_true(refuses(own));
    http_server_free(own);
}

TEST(drain_ends_after_its_grace_and_calls_no_more_handlers)
{
    struct http_server *own = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    struct client waiting[40], open;
    struct http_request *requests[ARRAY_LEN(waiting)];
    struct reply reply;
    dial(&open, own);
    ask(&open, &reply, GET("/now/0"));
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        dial(&waiting[i], own);
        say(&waiting[i], GET("/later/1"));
        requests[i] = take();
    }
    int64_t before = clock_ms();
    http_server_drain(own, 100);
    assert_in_range(clock_ms() - before, 95, slower(2000));
    ask(&open, &reply, GET("/later/2"));
    assert_problem(&reply, 503, "SHUTTING_DOWN");
    assert_string_equal(reply_header(&reply, "Retry-After"), "1");
    assert_true(ended(&open));
    hang_up(&open);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        http_reply_problem(requests[i], ERR_SHUTTING_DOWN, NULL, 1, NULL);
    http_server_free(own);
    /* The replies arrive although the server was freed right after them. */
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        assert_true(hear(&waiting[i], &reply));
        assert_problem(&reply, 503, "SHUTTING_DOWN");
        hang_up(&waiting[i]);
    }
}

static void *free_server(void *context)
{
    http_server_free(context);
    return NULL;
}

TEST(free_waits_for_the_last_reply)
{
    struct http_server *own = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){0});
    struct client client CLEANUP(hang_up);
    struct reply reply;
    pthread_t freeing;
    dial(&client, own);
    say(&client, GET("/later/1"));
    struct http_request *request = take();
    threads_start(&freeing, 1, free_server, own);
    clock_sleep_ms(800);
    answer(request);
    assert_true(hear(&client, &reply));
    assert_int_equal(reply.status, 200);
    threads_join(&freeing, 1);
}

/* The library takes no reply once it is told to stop, and goes on with the request. Of both that are posted,
 * one comes after the request that holds their thread until then. */
TEST(a_request_that_arrives_while_the_threads_stop_is_harmless)
{
    static const char post[] = "POST /posted/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                               "Content-Length: 2\r\n\r\n{}";
    struct http_server *own = serve(routes, ARRAY_LEN(routes), (struct http_server_settings){.threads = 1});
    struct client clients[4];
    struct reply reply;
    pthread_t freeing;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        dial(&clients[i], own);
        ask(&clients[i], &reply, GET("/now/0"));
    }
    ask(&clients[3], &reply, GET("/held/1"));
    while (held < 1)
        clock_sleep_ms(1);
    say(&clients[0], post);
    say(&clients[1], GET("/held/2"));
    say(&clients[2], post);
    for (let_go = 1; held < 2;)
        clock_sleep_ms(1);
    threads_start(&freeing, 1, free_server, own);
    clock_sleep_ms(HTTP_FLUSH_MS + (int)slower(200));
    let_go = 2;
    threads_join(&freeing, 1);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        hang_up(&clients[i]);
}

static atomic_bool hammering;

static void *hammer(void *context)
{
    while (atomic_load(&hammering)) {
        struct client *client = NEW(struct client);
        struct sockaddr_in to = {.sin_family = AF_INET,
            .sin_port = htons((uint16_t)(uintptr_t)context),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        client->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(client->fd, (struct sockaddr *)&to, sizeof to) == 0)
            for (int i = 0; i < 20; i++) {
                static const char request[] = GET("/later/1");
                if (send(client->fd, request, strlen(request), MSG_NOSIGNAL) < 0 ||
                    recv(client->fd, client->heard, sizeof client->heard, 0) <= 0)
                    break;
            }
        close(client->fd);
        free(client);
    }
    return NULL;
}

TEST(starting_and_stopping_under_load_loses_nothing)
{
    for (int round = 0; round < 10; round++) {
        struct http_server *own =
            serve(routes, ARRAY_LEN(routes), (struct http_server_settings){.max_connections = 5});
        pthread_t answering[2], clients[8];
        atomic_store(&hammering, true);
        threads_start(answering, ARRAY_LEN(answering), answer_all, NULL);
        threads_start(clients, ARRAY_LEN(clients), hammer, (void *)(uintptr_t)http_server_port(own));
        clock_sleep_ms(60);
        http_server_drain(own, round % 2 == 0 ? 0 : 50);
        http_server_free(own);
        atomic_store(&hammering, false);
        threads_join(clients, ARRAY_LEN(clients));
        stop_answering(answering, ARRAY_LEN(answering));
        assert_int_equal(queue.count, 0);
    }
}

GROUP_FIXTURE(start, stop)
