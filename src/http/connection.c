/* The phase of one connection. Only the listener's thread ends it, and never while a handler runs. */
#include "connection.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"

#define PHASE_BITS 3

static uint64_t state_of(enum connection_phase phase, int64_t since_ms)
{
    return (uint64_t)since_ms << PHASE_BITS | phase;
}

enum connection_phase connection_phase_of(uint64_t state)
{
    return (enum connection_phase)(state & ((1u << PHASE_BITS) - 1));
}

int64_t connection_since_ms(uint64_t state)
{
    return (int64_t)(state >> PHASE_BITS);
}

struct connection *connection_new(int fd)
{
    struct connection *connection = NEW(struct connection);
    connection->fd = fd;
    atomic_store(&connection->state, state_of(CONNECTION_HEAD, clock_ms()));
    return connection;
}

bool connection_enter(struct connection *connection, enum connection_phase phase)
{
    uint64_t from = atomic_load(&connection->state), to = state_of(phase, clock_ms());
    while (connection_phase_of(from) != CONNECTION_ENDED) {
        if (phase == CONNECTION_HEAD && connection_phase_of(from) == CONNECTION_HEAD)
            return true;
        if (atomic_compare_exchange_weak(&connection->state, &from, to))
            return true;
    }
    return false;
}

bool connection_late(uint64_t state, const struct connection_limits *limits, int64_t now_ms)
{
    switch (connection_phase_of(state)) {
    case CONNECTION_HEAD:
        return now_ms - connection_since_ms(state) >= limits->head_ms;
    case CONNECTION_IDLE:
    case CONNECTION_BODY:
    case CONNECTION_REPLY:
        return now_ms - connection_since_ms(state) >= limits->phase_ms;
    case CONNECTION_HANDLER:
    case CONNECTION_ENDED:
        break;
    }
    return false;
}

bool connection_dispensable(uint64_t state, int64_t now_ms)
{
    int64_t age_ms = now_ms - connection_since_ms(state);
    switch (connection_phase_of(state)) {
    case CONNECTION_IDLE:
        return true;
    case CONNECTION_HEAD:
        return age_ms >= HTTP_HEAD_GRACE_MS;
    case CONNECTION_BODY:
        return age_ms >= HTTP_BODY_GRACE_MS;
    case CONNECTION_REPLY:
        return age_ms >= HTTP_REPLY_GRACE_MS;
    case CONNECTION_HANDLER:
    case CONNECTION_ENDED:
        break;
    }
    return false;
}

/* The library reports a head only when its first line is complete. The kernel counts the bytes before that.
 */
static bool bytes_received(int fd, uint64_t *bytes)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
        len < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
        return false;
    *bytes = info.tcpi_bytes_received;
    return true;
}

void connection_detect_head(struct connection *connection, int64_t now_ms)
{
    uint64_t state = atomic_load(&connection->state), bytes;
    if (connection_phase_of(state) != CONNECTION_IDLE || !bytes_received(connection->fd, &bytes))
        return;
    if (connection->idle_state != state) {
        connection->idle_state = state;
        connection->idle_bytes = bytes;
    } else if (bytes != connection->idle_bytes) {
        atomic_compare_exchange_strong(&connection->state, &state, state_of(CONNECTION_HEAD, now_ms));
    }
}

bool connection_end(struct connection *connection, uint64_t state)
{
    if (!atomic_compare_exchange_strong(
            &connection->state, &state, state_of(CONNECTION_ENDED, connection_since_ms(state))))
        return false;
    shutdown(connection->fd, SHUT_RDWR);
    return true;
}
