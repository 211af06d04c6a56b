/* The list of open connections. Only the listener's thread ends one, and never while a handler runs. No
 * socket is read or written here but those that linger. */
#include "connections.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "base/mem.h"
#include "base/metric.h"

enum {
    SPARE_FRACTION = 8,   /* an eighth of the maximum is kept free of connections without a request */
    NOTICE_MS = 10 * 1000 /* between two log lines of one kind */
};

struct connections {
    unsigned label, max;
    struct connection_limits limits;
    struct rate_limit crowded;
    int wake;
    atomic_bool full;   /* the maximum was open lately: a connection that becomes idle wakes the listener */
    atomic_uint open;   /* accepted and not yet closed */
    atomic_uint ending; /* of these, ended and not yet closed */
    pthread_mutex_t lock;
    TAILQ_HEAD(connection_list, connection) list; /* the oldest first; under lock, as is what follows */
    struct linger_list lingering;
    pthread_cond_t returned;               /* a callback has returned */
    const struct connection *calling_back; /* only compared, it may have been freed */
    pthread_t caller;                      /* the thread of that callback */
    unsigned made_room; /* connections ended to make room since that was logged; the listener's */
};

/* ---- the phase of one connection */

#define PHASE_BITS 3

static uint64_t state_of(enum connection_phase phase, int64_t since_ms)
{
    return (uint64_t)since_ms << PHASE_BITS | phase;
}

static enum connection_phase phase_of(uint64_t state)
{
    return (enum connection_phase)(state & ((1u << PHASE_BITS) - 1));
}

static int64_t since_ms_of(uint64_t state)
{
    return (int64_t)(state >> PHASE_BITS);
}

void connections_wake(struct connections *connections)
{
    uint64_t one = 1;
    if (write(connections->wake, &one, sizeof one) < 0)
        return; /* the counter is full: the thread is being woken already */
}

int connections_wake_fd(const struct connections *connections)
{
    return connections->wake;
}

bool connection_enter(struct connection *connection, enum connection_phase phase)
{
    uint64_t from = atomic_load(&connection->state), to = state_of(phase, clock_ms());
    do {
        if (phase_of(from) == CONNECTION_ENDED)
            return false;
        if (phase == CONNECTION_HEAD && phase_of(from) == CONNECTION_HEAD)
            return true;
    } while (!atomic_compare_exchange_weak(&connection->state, &from, to));
    if (phase == CONNECTION_IDLE && atomic_load(&connection->list->full))
        connections_wake(connection->list);
    return true;
}

static bool is_late(uint64_t state, const struct connection_limits *limits, int64_t now_ms)
{
    const enum connection_phase phase = phase_of(state);
    const int limit_ms = phase == CONNECTION_HEAD ? limits->head_ms : limits->phase_ms;
    return phase != CONNECTION_HANDLER && phase != CONNECTION_ENDED &&
           now_ms - since_ms_of(state) >= limit_ms;
}

static bool is_dispensable(uint64_t state, int64_t now_ms)
{
    static const int64_t grace_ms[] = {
        [CONNECTION_HEAD] = HTTP_HEAD_GRACE_MS,
        [CONNECTION_IDLE] = 0,
        [CONNECTION_BODY] = HTTP_BODY_GRACE_MS,
        [CONNECTION_HANDLER] = INT64_MAX,
        [CONNECTION_REPLY] = HTTP_REPLY_GRACE_MS,
        [CONNECTION_ENDED] = INT64_MAX,
    };
    return now_ms - since_ms_of(state) >= grace_ms[phase_of(state)];
}

/* ---- the list */

struct connections *connections_new(unsigned label, unsigned max, const struct connection_limits *limits)
{
    struct connections *connections = NEW(struct connections);
    connections->label = label;
    connections->max = max;
    metric_set(METRIC_CONNECTIONS_MAX, label, max);
    connections->limits = *limits;
    connections->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (connections->wake < 0)
        log_fatal(EX_OSERR, "cannot make an event descriptor", "reason=\"%s\"", strerror(errno));
    pthread_mutex_init(&connections->lock, NULL);
    pthread_cond_init(&connections->returned, NULL);
    TAILQ_INIT(&connections->list);
    return connections;
}

unsigned connections_count(struct connections *connections, int by)
{
    metric_add(METRIC_CONNECTIONS, connections->label, 0, by);
    return atomic_fetch_add(&connections->open, (unsigned)by);
}

void connections_free(struct connections *connections)
{
    (void)connections_count(connections, -(int)atomic_load(&connections->open));
    (void)linger_read(&connections->lingering, INT64_MAX);
    close(connections->wake);
    pthread_cond_destroy(&connections->returned);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}

bool connections_full(const struct connections *connections)
{
    return atomic_load(&connections->open) >= connections->max;
}

struct connection *connections_add(struct connections *connections, int fd)
{
    struct connection *connection = NEW(struct connection);
    connection->fd = fd;
    connection->list = connections;
    atomic_store(&connection->state, state_of(CONNECTION_HEAD, clock_ms()));
    pthread_mutex_lock(&connections->lock);
    TAILQ_INSERT_TAIL(&connections->list, connection, entry);
    pthread_mutex_unlock(&connections->lock);
    return connection;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    bool lingers = connection->linger;
    pthread_mutex_lock(&connections->lock);
    TAILQ_REMOVE(&connections->list, connection, entry);
    if (lingers)
        linger_add(&connections->lingering, connection->fd);
    pthread_mutex_unlock(&connections->lock);
    if (phase_of(atomic_load(&connection->state)) == CONNECTION_ENDED)
        INVARIANT(atomic_fetch_sub(&connections->ending, 1) > 0);
    const unsigned open = connections_count(connections, -1);
    INVARIANT(open > 0);
    free(connection);
    if (open >= connections->max || lingers)
        connections_wake(connections);
}

/* Shuts it down, and its thread then closes it. Returns false when its state has changed since it was read.
 * Under lock. */
static bool end(struct connections *connections, struct connection *connection, uint64_t state)
{
    if (!atomic_compare_exchange_strong(
            &connection->state, &state, state_of(CONNECTION_ENDED, since_ms_of(state))))
        return false;
    shutdown(connection->fd, SHUT_RDWR);
    atomic_fetch_add(&connections->ending, 1);
    return true;
}

/* Of the connections that may be ended, the one that has been in its phase for longest. *state is its state.
 * Under lock. */
static struct connection *most_dispensable(struct connections *connections, uint64_t *state)
{
    struct connection *longest = NULL;
    int64_t now = clock_ms();
    INVARIANT_LOCKED(&connections->lock);
    struct connection *c;
    TAILQ_FOREACH(c, &connections->list, entry)
    {
        uint64_t seen = atomic_load(&c->state);
        if (is_dispensable(seen, now) && (longest == NULL || since_ms_of(seen) < since_ms_of(*state))) {
            longest = c;
            *state = seen;
        }
    }
    return longest;
}

void connections_thin_out(struct connections *connections)
{
    const unsigned spare = connections->max < SPARE_FRACTION ? 1 : connections->max / SPARE_FRACTION;
    struct connection *longest;
    uint64_t state;
    /* Before they are looked at: one that becomes idle after that wakes us. */
    atomic_store(&connections->full, connections_full(connections));
    pthread_mutex_lock(&connections->lock);
    while (atomic_load(&connections->open) > connections->max - spare + atomic_load(&connections->ending) &&
           (longest = most_dispensable(connections, &state)) != NULL)
        connections->made_room += end(connections, longest, state); /* unless its request has come */
    pthread_mutex_unlock(&connections->lock);
    if (connections->made_room == 0 || !rate_limit_allows(&connections->crowded, 1, NOTICE_MS, NULL))
        return;
    log_warn("the connection limit is nearly reached; closing the connections that are idle for longest",
        "open=%u max_connections=%u closed=%u", atomic_load(&connections->open), connections->max,
        connections->made_room);
    connections->made_room = 0;
}

/* ---- the clients that leave */

void connection_watch(struct connection *connection, void (*callback)(void *context), void *context)
{
    pthread_mutex_lock(&connection->list->lock);
    connection->on_left = callback;
    connection->context = context;
    pthread_mutex_unlock(&connection->list->lock);
}

void connection_unwatch(struct connection *connection)
{
    struct connections *connections = connection->list;
    pthread_mutex_lock(&connections->lock);
    connection->on_left = NULL;
    while (connections->calling_back == connection && !pthread_equal(pthread_self(), connections->caller))
        pthread_cond_wait(&connections->returned, &connections->lock);
    pthread_mutex_unlock(&connections->lock);
}

/* Under lock, but for the callback: it may end its request, and with it the connection. */
static void call_back(struct connections *connections, struct connection *connection)
{
    void (*const callback)(void *context) = connection->on_left;
    void *const context = connection->context;
    connection->on_left = NULL;
    connections->calling_back = connection;
    connections->caller = pthread_self();
    pthread_mutex_unlock(&connections->lock);
    callback(context);
    pthread_mutex_lock(&connections->lock);
    connections->calling_back = NULL;
    pthread_cond_broadcast(&connections->returned);
}

static bool is_closed_by_peer(const struct connection *connection)
{
    struct pollfd fd = {.fd = connection->fd, .events = POLLRDHUP};
    return poll(&fd, 1, 0) > 0;
}

/*
 * The library's epoll is edge-triggered: it reads until a read returns less than it asked for, and waits for
 * the next edge. When the end of the stream came together with the last bytes, there is no further edge, and
 * the connection would stay open until its deadline. Shutting down the receiving side once more causes an
 * edge and changes nothing else; pending bytes are still read.
 */
static void repeat_end_event(const struct connection *connection)
{
    if (is_closed_by_peer(connection))
        shutdown(connection->fd, SHUT_RD);
}

void connections_check(struct connections *connections)
{
    int64_t now = clock_ms();
    struct connection place = {0}; /* of this loop in the list, during a callback */
    pthread_mutex_lock(&connections->lock);
    for (struct connection *c = TAILQ_FIRST(&connections->list), *next; c != NULL; c = next) {
        uint64_t state = atomic_load(&c->state);
        enum connection_phase phase = phase_of(state);
        /* The connection's thread sees the end of the stream and closes the descriptor. */
        if (phase == CONNECTION_ENDED)
            shutdown(c->fd, SHUT_RDWR);
        else if (is_late(state, &connections->limits, now))
            end(connections, c, state);
        else if (phase != CONNECTION_HANDLER)
            repeat_end_event(c);
        next = TAILQ_NEXT(c, entry);
        if (phase != CONNECTION_HANDLER || c->on_left == NULL || !is_closed_by_peer(c))
            continue;
        TAILQ_INSERT_AFTER(&connections->list, c, &place, entry);
        call_back(connections, c);
        next = TAILQ_NEXT(&place, entry);
        TAILQ_REMOVE(&connections->list, &place, entry);
    }
    pthread_mutex_unlock(&connections->lock);
}

bool connections_read(struct connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    const bool left = linger_read(&connections->lingering, clock_ms());
    pthread_mutex_unlock(&connections->lock);
    return left;
}
