/* Records of sockets that the library has closed before it started a connection for them, and said nothing.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/metric.h"
#include "connections.h"

enum {
    TIME_LIMIT_MS = 5,
    LONGER_MS = 2 * 250 /* than the time after which a connection without a head may be ended, too */
};

static const struct connection_limits limits = {TIME_LIMIT_MS, TIME_LIMIT_MS};
/* A pair of sockets. The first has the number fd, unless that is -1. */
static void open_pair(int fd, int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    if (fd >= 0 && pair[0] != fd) {
        assert_int_equal(dup2(pair[0], fd), fd);
        close(pair[0]);
        pair[0] = fd;
    }
}

static bool is_open(const int pair[2])
{
    struct pollfd other_end = {.fd = pair[1], .events = POLLIN};
    return poll(&other_end, 1, 0) == 0;
}

static void check_for_long(struct connections *connections)
{
    for (const int64_t end_ms = clock_ms() + LONGER_MS; clock_ms() < end_ms; clock_sleep_ms(20)) {
        connections_check(connections);
        connections_thin_out(connections);
    }
    connections_check(connections);
}

TEST(another_owner_of_the_descriptor_is_left_alone)
{
    int pair[2];
    struct connections *connections = connections_new(METRIC_API, 1, &limits);
    open_pair(-1, pair);
    assert_non_null(connections_add(connections, pair[0]));
    const int fd = pair[0];
    close(pair[0]); /* as the library does */
    close(pair[1]);
    open_pair(fd, pair); /* for example a connection to the database */
    check_for_long(connections);
    assert_true(is_open(pair));
    close(pair[0]);
    close(pair[1]);
    connections_free(connections);
}
