/* More clients than max_connections: whose connections are closed to make room, and whose never are. */
#include "client.h"
#include "slowness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
    PLACES = 16,
    SPARE = PLACES / 8,
    HONEST_MS = 1000 /* the longest wait of an ordinary client, whatever others do */
};

static atomic_uint handled;

static void quick(struct http_request *request, void *context)
{
    atomic_fetch_add(&handled, 1);
    http_reply_json(request, 200, mem_copy_text("{}"));
}

static struct http_request *_Atomic held[2 * PLACES];
static atomic_uint held_count;

static void hold(struct http_request *request, void *context)
{
    atomic_store(&held[atomic_fetch_add(&held_count, 1)], request);
}

static void await_held(unsigned count)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); atomic_load(&held_count) < count; clock_sleep_ms(1))
        assert_true(clock_ms() < end);
}

static void release(unsigned i)
{
    http_reply_json(atomic_exchange(&held[i], NULL), 200, mem_copy_text("{}"));
}

static const struct http_route routes[] = {
    {"GET", "/quick", 0, quick, NULL, NULL},
    {"POST", "/quick", 10000, quick, NULL, NULL},
    {"GET", "/hold", 0, hold, NULL, NULL},
};

static struct http_server *server;

static int start_with(struct http_server_settings settings)
{
    settings.max_connections = PLACES;
    atomic_store(&held_count, 0);
    server = serve(routes, ARRAY_LEN(routes), settings);
    return 0;
}

static int start(void **state)
{
    return start_with((struct http_server_settings){0});
}

static int stop(void **state)
{
    for (unsigned i = 0; i < ARRAY_LEN(held); i++)
        if (atomic_load(&held[i]) != NULL)
            release(i);
    http_server_free(server);
    return 0;
}

/* How long an ordinary client takes from connecting to its reply. It tries again when its connection was
 * closed because it sent too late on a busy machine. */
static int64_t honest_ms(void)
{
    AUTO_FREE struct client *client = NEW(struct client);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    static const char request[] = GET("/quick");
    int64_t begun = clock_ms();
    for (bool answered = false; !answered; hang_up(client)) {
        dial(client, server);
        answered = send(client->fd, request, strlen(request), MSG_NOSIGNAL) > 0 && hear(client, reply);
    }
    assert_int_equal(reply->status, 200);
    return clock_ms() - begun;
}

/* One in ten may be late on a busy machine. */
static void assert_in_time(unsigned late, unsigned of)
{
    if (late * 10 > of)
        fail_msg("%u of %u honest clients waited longer than %d ms", late, of, HONEST_MS);
}

static struct client *clients_new(size_t count)
{
    return NEW_ARRAY(count, struct client);
}

TEST_WITH(oldest_idle_connection_is_closed_first, start, stop)
{
    enum {
        IDLE = PLACES - SPARE /* that are not closed */
    };
    AUTO_FREE struct client *idle = clients_new(IDLE), *newer = clients_new(SPARE);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    for (size_t i = 0; i < IDLE; i++) {
        dial(&idle[i], server);
        ask(&idle[i], reply, GET("/quick"));
        clock_sleep_ms(30); /* so that they become idle in this order */
    }
    ask(&idle[0], reply, GET("/quick")); /* so that it is no longer the oldest */
    for (size_t i = 0; i < SPARE; i++) {
        dial(&newer[i], server);
        ask(&newer[i], reply, GET("/quick"));
        assert_true(ended(&idle[i + 1]));
        hang_up(&idle[i + 1]);
    }
    for (size_t i = 0; i < IDLE; i++)
        if (i == 0 || i > SPARE) {
            ask(&idle[i], reply, GET("/quick"));
            hang_up(&idle[i]);
        }
    for (size_t i = 0; i < SPARE; i++) {
        ask(&newer[i], reply, GET("/quick"));
        hang_up(&newer[i]);
    }
}

TEST_WITH(idle_connections_do_not_keep_others_out, start, stop)
{
    AUTO_FREE struct client *idle = clients_new(10 * PLACES);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    unsigned late = 0;
    for (size_t i = 0; i < 10 * PLACES; i++) {
        int64_t begun = clock_ms();
        dial(&idle[i], server);
        ask(&idle[i], reply, GET("/quick"));
        late += clock_ms() - begun > slower(HONEST_MS);
    }
    assert_in_time(late, 10 * PLACES);
    for (size_t i = 0; i < 10 * PLACES; i++)
        hang_up(&idle[i]);
}

/* Clients that send a request byte by byte, and connect again when they are disconnected. */
struct trickle {
    const char *start;
    char byte;
    atomic_bool stop;
};

static void *trickle(void *context)
{
    struct trickle *trickle = context;
    AUTO_FREE struct client *clients = clients_new(2 * PLACES);
    for (size_t i = 0; i < 2 * PLACES; i++)
        clients[i].fd = -1;
    while (!atomic_load(&trickle->stop)) {
        for (size_t i = 0; i < 2 * PLACES; i++) {
            struct client *client = &clients[i];
            if (client->fd >= 0 && send(client->fd, &trickle->byte, 1, MSG_NOSIGNAL) == 1)
                continue;
            if (client->fd >= 0)
                hang_up(client);
            dial(client, server);
            send(client->fd, trickle->start, strlen(trickle->start), MSG_NOSIGNAL);
        }
        clock_sleep_ms(50);
    }
    for (size_t i = 0; i < 2 * PLACES; i++)
        hang_up(&clients[i]);
    return NULL;
}

TEST_WITH(heads_sent_byte_by_byte_do_not_keep_others_out, start, stop)
{
    struct trickle heads = {.start = "GET /quick HTTP/1.1\r\nHost: x\r\nX-Long: ", .byte = 'a'};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, trickle, &heads), 0);
    unsigned late = 0;
    clock_sleep_ms(200);
    for (int i = 0; i < 30; i++) {
        late += honest_ms() > slower(HONEST_MS);
        clock_sleep_ms(20);
    }
    assert_in_time(late, 30);
    atomic_store(&heads.stop, true);
    pthread_join(thread, NULL);
}

/* A body has one second before its connection may be closed to make room. */
TEST_WITH(bodies_sent_byte_by_byte_do_not_keep_others_out_for_long, start, stop)
{
    AUTO_FREE struct client *slow = clients_new(PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        dial(&slow[i], server);
        say(&slow[i], "POST /quick HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 9999\r\n\r\n{");
    }
    clock_sleep_ms(200);
    assert_in_range(honest_ms(), 0, slower(4000));
    for (size_t i = 0; i < PLACES; i++)
        hang_up(&slow[i]);
}

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

TEST_WITH(a_connection_whose_request_a_handler_has_is_never_closed, start, stop)
{
    AUTO_FREE struct client *inside = clients_new(PLACES), *outside = clients_new(PLACES);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    int64_t taken_over_ms = 0;
    for (size_t i = 0; i < PLACES; i++) {
        dial(&inside[i], server);
        say(&inside[i], GET("/hold"));
        await_held((unsigned)i + 1); /* so that held[] is in their order */
    }
    for (unsigned i = 0; i < PLACES; i++) {
        int64_t used = cpu_ms();
        dial(&outside[i], server);
        say(&outside[i], GET("/hold"));
        clock_sleep_ms(i < 3 ? 400 : 20);
        assert_int_equal(atomic_load(&held_count), PLACES + i);
        assert_true(cpu_ms() - used < slower(50)); /* the listener does not poll */
        int64_t before = clock_ms();
        release(i);
        await_held(PLACES + i + 1);
        taken_over_ms += clock_ms() - before;
        assert_true(hear(&inside[i], reply)); /* complete, although its connection is closed then */
        assert_int_equal(reply->status, 200);
        assert_true(ended(&inside[i]));
        hang_up(&inside[i]);
    }
    assert_true(taken_over_ms < slower(PLACES * 60)); /* woken by the end of one, not by the next tick */
    for (unsigned i = 0; i < PLACES; i++) {
        release(PLACES + i);
        assert_true(hear(&outside[i], reply));
        hang_up(&outside[i]);
    }
}

static atomic_uint heard;
static atomic_bool hammering;

static void *hammer(void *context)
{
    static const char request[] = GET("/quick");
    AUTO_FREE struct client *client = clients_new(1);
    while (atomic_load(&hammering)) {
        dial(client, server);
        while (atomic_load(&hammering) && send(client->fd, request, strlen(request), MSG_NOSIGNAL) > 0 &&
               recv(client->fd, client->heard, sizeof client->heard, 0) > 0)
            atomic_fetch_add(&heard, 1);
        hang_up(client);
    }
    return NULL;
}

/* The listener may choose a connection just when its request is complete. */
TEST_WITH(a_request_on_a_connection_that_is_closed_to_make_room_is_served_or_not_begun, start, stop)
{
    pthread_t threads[2 * PLACES];
    unsigned before = atomic_load(&handled);
    atomic_store(&heard, 0);
    atomic_store(&hammering, true);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    clock_sleep_ms(1500);
    atomic_store(&hammering, false);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    print_message(
        "%u requests of %zu clients for %d places\n", atomic_load(&heard), ARRAY_LEN(threads), PLACES);
    assert_true(atomic_load(&heard) > 100);
    assert_int_equal(atomic_load(&handled) - before, atomic_load(&heard));
}

static int start_with_short_heads(void **state)
{
    return start_with((struct http_server_settings){.head_timeout_s = 1, .idle_timeout_s = 10});
}

TEST_WITH(a_head_has_a_time_limit_and_idling_a_longer_one, start_with_short_heads, stop)
{
    AUTO_FREE struct client *silent = clients_new(1), *idle = clients_new(1), *slow = clients_new(1);
    AUTO_FREE struct reply *reply = NEW(struct reply);
    const int64_t begun = clock_ms();
    dial(silent, server);
    dial(slow, server);
    say(slow, "POST /quick HTTP/1.1\r\n" HOST JSON_TYPE "Content-Length: 2\r\n\r\n{");
    dial(idle, server);
    ask(idle, reply, GET("/quick"));
    assert_true(ended(silent));
    assert_in_range(clock_ms() - begun, 900, slower(2500));
    hang_up(silent);
    clock_sleep_ms(clock_left_ms(begun + 2500));
    ask(idle, reply, GET("/quick")); /* idling has the longer time, */
    ask(slow, reply, "}");           /* and so has a body */
    hang_up(slow);
    hang_up(idle);
}

static int end_if_it_hangs(void **state)
{
    alarm(600);
    return 0;
}

GROUP_FIXTURE(end_if_it_hangs, NULL)
