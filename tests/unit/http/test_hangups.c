/* Rules of connection_watch (src/http/connections.h). */
#include "client.h"
#include "slowness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "connections.h"

static struct connections *connections;
static pthread_t checker;
static atomic_bool stopping;

/* As the listener does, and more often. */
static void *check_again_and_again(void *context)
{
    for (; !atomic_load(&stopping); clock_sleep_ms(1))
        connections_check(connections);
    return NULL;
}

static int start(void **state)
{
    alarm(600);
    connections = connections_new(0, 64, &(struct connection_limits){60000, 60000});
    atomic_store(&stopping, false);
    return pthread_create(&checker, NULL, check_again_and_again, NULL);
}

static int stop(void **state)
{
    atomic_store(&stopping, true);
    pthread_join(checker, NULL);
    connections_free(connections);
    return 0;
}

/* A connection with a watch on it. */
struct watched {
    int fd, client_fd;
    struct connection *connection;
    atomic_int calls;
    int callback_ms; /* how long the callback runs */
    atomic_bool in_callback;
    bool unwatches; /* the callback ends the watch itself */
};

static void on_hangup(void *context)
{
    struct watched *watched = context;
    atomic_store(&watched->in_callback, true);
    if (watched->callback_ms > 0)
        clock_sleep_ms(watched->callback_ms);
    if (watched->unwatches)
        connection_unwatch(watched->connection);
    atomic_store(&watched->in_callback, false);
    atomic_fetch_add(&watched->calls, 1);
}

static void connect_one(struct watched *watched)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    (void)connections_count(connections, 1);
    *watched = (struct watched){
        .fd = pair[0], .client_fd = pair[1], .connection = connections_add(connections, pair[0])};
    assert_true(connection_enter(watched->connection, CONNECTION_HANDLER));
}

static void watch(struct watched *watched)
{
    connection_watch(watched->connection, on_hangup, watched);
}

/* Closes the server's end, in the order in which the server does. */
static void disconnect(struct watched *watched)
{
    connection_unwatch(watched->connection);
    connections_remove(connections, watched->connection);
    close(watched->fd);
}

static void await_calls(struct watched *watched, int calls)
{
    for (int64_t end_ms = clock_ms() + slower(PATIENCE_MS); atomic_load(&watched->calls) < calls;
         clock_sleep_ms(1))
        if (clock_ms() > end_ms)
            fail_msg("%d calls instead of %d", atomic_load(&watched->calls), calls);
}

TEST_WITH(a_closed_connection_is_reported_once, start, stop)
{
    struct watched watched, other;
    connect_one(&watched);
    connect_one(&other);
    watch(&watched);
    watch(&other);
    clock_sleep_ms(20);
    assert_int_equal(atomic_load(&watched.calls), 0);
    close(watched.client_fd);
    await_calls(&watched, 1);
    clock_sleep_ms(50);
    assert_int_equal(atomic_load(&watched.calls), 1);
    assert_int_equal(atomic_load(&other.calls), 0);
    disconnect(&watched);
    close(other.client_fd);
    await_calls(&other, 1);
    disconnect(&other);
}

TEST_WITH(a_closed_sending_side_is_reported, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    watch(&watched);
    shutdown(watched.client_fd, SHUT_WR);
    await_calls(&watched, 1);
    close(watched.client_fd);
    disconnect(&watched);
}

TEST_WITH(a_connection_that_was_closed_before_is_reported_at_once, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    close(watched.client_fd);
    watch(&watched);
    await_calls(&watched, 1);
    disconnect(&watched);
}

TEST_WITH(bytes_of_a_next_request_are_not_a_hang_up, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    watch(&watched);
    assert_int_equal(write(watched.client_fd, "GET / HTTP/1.1\r\n", 16), 16);
    clock_sleep_ms(50);
    assert_int_equal(atomic_load(&watched.calls), 0);
    close(watched.client_fd); /* with bytes that nobody has read */
    await_calls(&watched, 1);
    disconnect(&watched);
}

TEST_WITH(after_unwatch_nothing_is_reported, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    watch(&watched);
    connection_unwatch(watched.connection);
    close(watched.client_fd);
    clock_sleep_ms(50);
    assert_int_equal(atomic_load(&watched.calls), 0);
    watch(&watched); /* a next request on the same connection */
    await_calls(&watched, 1);
    disconnect(&watched);
}

TEST_WITH(unwatch_waits_for_a_callback_that_runs, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    watched.callback_ms = 200;
    watch(&watched);
    close(watched.client_fd);
    while (!atomic_load(&watched.in_callback) && atomic_load(&watched.calls) == 0)
        clock_sleep_ms(1);
    connection_unwatch(watched.connection);
    assert_int_equal(atomic_load(&watched.calls), 1);
    disconnect(&watched);
}

TEST_WITH(a_callback_may_end_its_own_watch, start, stop)
{
    struct watched watched;
    connect_one(&watched);
    watched.unwatches = true;
    watch(&watched);
    close(watched.client_fd);
    await_calls(&watched, 1);
    disconnect(&watched);
}

struct racer {
    atomic_bool *stop;
    unsigned seed;
};

/* Frees the memory of a watch as soon as connection_unwatch has returned, while the callback may run. */
static void *race(void *context)
{
    struct racer *racer = context;
    while (!atomic_load(racer->stop)) {
        struct watched *watched = NEW(struct watched);
        connect_one(watched);
        watch(watched);
        close(watched->client_fd);
        for (volatile int pause = rand_r(&racer->seed) % 5000; pause > 0; pause--)
            ;
        disconnect(watched);
        free(watched);
    }
    return NULL;
}

static void count_one(void *context)
{
    ++*(unsigned *)context;
}

/* Meanwhile the listener accepts nobody. */
TEST_WITH(clients_that_leave_together_are_found_in_one_pass, NULL, NULL)
{
    static struct connection *left[30000];
    unsigned calls = 0;
    int pair[2];
    connections = connections_new(0, ARRAY_LEN(left), &(struct connection_limits){60000, 60000});
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[1]);
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        (void)connections_count(connections, 1);
        left[i] = connections_add(connections, pair[0]);
        assert_true(connection_enter(left[i], CONNECTION_HANDLER));
        connection_watch(left[i], count_one, &calls);
    }
    const int64_t end_ms = clock_ms() + slower(500);
    connections_check(connections);
    assert_true(clock_ms() < end_ms);
    assert_int_equal(calls, ARRAY_LEN(left));
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        connections_remove(connections, left[i]);
    close(pair[0]);
    connections_free(connections);
}

TEST_WITH(hang_ups_and_replies_may_come_at_the_same_time, start, stop)
{
    pthread_t threads[4];
    struct racer racers[4];
    atomic_bool over = false;
    for (unsigned i = 0; i < 4; i++) {
        racers[i] = (struct racer){&over, i};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    clock_sleep_ms(1500);
    atomic_store(&over, true);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
