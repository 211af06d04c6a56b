#include "listener.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "linger.h"

enum {
    TICK_MS = 250 /* how late a deadline may be noticed */
};

struct listener {
    struct listener_settings settings;
    int socket; /* the thread's; -1 when closed */
    int wake;
    bool starved; /* the thread's: the last accept failed, which has been logged */
    pthread_t thread;
    atomic_bool refusing, refused, stopping;
    atomic_uint open; /* accepted and not yet closed */
    pthread_mutex_t lock;
    struct connection *first; /* under lock, as is lingering */
    struct lingerers lingering;
};

static void wake(struct listener *listener)
{
    uint64_t one = 1;
    if (write(listener->wake, &one, sizeof one) < 0)
        return; /* full: it is awake already */
}

/* False: descriptors or memory have run out; trying at once again would only spin. */
static bool accept_all(struct listener *listener)
{
    while (atomic_load(&listener->open) < listener->settings.max_connections) {
        struct sockaddr_storage address;
        socklen_t len = sizeof address;
        int fd = accept4(listener->socket, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno == EAGAIN)
            return true;
        if (fd < 0) {
            if (!listener->starved)
                log_warn("cannot accept connections", "reason=\"%s\" open=%u", strerror(errno),
                    atomic_load(&listener->open));
            listener->starved = true;
            return false;
        }
        listener->starved = false;
        atomic_fetch_add(&listener->open, 1);
        if (!listener->settings.accepted(listener->settings.context, fd, (struct sockaddr *)&address, len))
            atomic_fetch_sub(&listener->open, 1);
    }
    return true;
}

/*
 * The library reads until a read comes up short, and then waits for the next edge. Where the end of the
 * stream came together with the last bytes there is none, and the connection would stay until its deadline.
 * Shutting the receiving side again changes nothing but raises the edge; bytes that wait are still read.
 */
static void remind_of_end(const struct connection *connection)
{
    struct pollfd fd = {.fd = connection->fd, .events = POLLRDHUP};
    if (poll(&fd, 1, 0) > 0)
        shutdown(connection->fd, SHUT_RD);
}

static void look_after(struct listener *listener)
{
    int64_t now = clock_ms();
    pthread_mutex_lock(&listener->lock);
    for (struct connection *c = listener->first; c != NULL; c = c->next) {
        int64_t deadline = atomic_load(&c->deadline_ms);
        if (deadline == 0)
            continue;
        /* The connection's own thread sees the end of the stream and closes; the descriptor stays its own. */
        if (deadline <= now)
            shutdown(c->fd, SHUT_RDWR);
        else
            remind_of_end(c);
    }
    linger_expire(&listener->lingering, now);
    pthread_mutex_unlock(&listener->lock);
}

static void refuse(struct listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    listener->socket = -1;
    atomic_store(&listener->refused, true);
}

static void *run(void *context)
{
    struct listener *listener = context;
    int64_t next_tick = clock_ms() + TICK_MS;
    bool breathless = false;
    while (!atomic_load(&listener->stopping)) {
        if (atomic_load(&listener->refusing))
            refuse(listener);
        bool accepting = !breathless && atomic_load(&listener->open) < listener->settings.max_connections;
        struct pollfd fds[2 + LINGER_MAX] = {
            {.fd = listener->wake, .events = POLLIN},
            {.fd = accepting ? listener->socket : -1, .events = POLLIN},
        };
        pthread_mutex_lock(&listener->lock);
        nfds_t count = 2 + linger_poll(&listener->lingering, fds + 2);
        pthread_mutex_unlock(&listener->lock);
        poll(fds, count, clock_left_ms(next_tick));
        uint64_t ignored;
        if (fds[0].revents != 0 && read(listener->wake, &ignored, sizeof ignored) < 0)
            continue;
        if (fds[1].revents != 0 && !atomic_load(&listener->refusing))
            breathless = !accept_all(listener);
        pthread_mutex_lock(&listener->lock);
        linger_read(&listener->lingering, fds + 2, count - 2);
        pthread_mutex_unlock(&listener->lock);
        if (clock_ms() >= next_tick) {
            look_after(listener);
            breathless = false;
            next_tick = clock_ms() + TICK_MS;
        }
    }
    refuse(listener);
    return NULL;
}

struct listener *listener_new(int socket, const struct listener_settings *settings)
{
    struct listener *listener = NEW(struct listener);
    listener->settings = *settings;
    listener->socket = socket;
    listener->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&listener->lock, NULL);
    if (listener->wake < 0)
        log_fatal(EX_OSERR, "cannot make an event descriptor", "reason=\"%s\"", strerror(errno));
    return listener;
}

void listener_start(struct listener *listener)
{
    int failure = pthread_create(&listener->thread, NULL, run, listener);
    if (failure != 0)
        log_fatal(EX_OSERR, "cannot start the listener", "reason=\"%s\"", strerror(failure));
}

void listener_refuse(struct listener *listener)
{
    atomic_store(&listener->refusing, true);
    wake(listener);
    while (!atomic_load(&listener->refused))
        clock_sleep_ms(1);
}

void listener_stop(struct listener *listener)
{
    atomic_store(&listener->stopping, true);
    wake(listener);
    pthread_join(listener->thread, NULL);
}

void listener_free(struct listener *listener)
{
    linger_expire(&listener->lingering, INT64_MAX);
    pthread_mutex_destroy(&listener->lock);
    close(listener->wake);
    free(listener);
}

struct connection *listener_opened(struct listener *listener, int fd)
{
    struct connection *connection = NEW(struct connection);
    connection->fd = fd;
    connection_phase(listener, connection, true);
    pthread_mutex_lock(&listener->lock);
    connection->next = listener->first;
    if (connection->next != NULL)
        connection->next->previous = connection;
    listener->first = connection;
    pthread_mutex_unlock(&listener->lock);
    return connection;
}

void listener_closed(struct listener *listener, struct connection *connection)
{
    pthread_mutex_lock(&listener->lock);
    *(connection->previous == NULL ? &listener->first : &connection->previous->next) = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    if (connection->linger)
        linger_add(&listener->lingering, connection->fd);
    pthread_mutex_unlock(&listener->lock);
    bool was_full = atomic_fetch_sub(&listener->open, 1) >= listener->settings.max_connections;
    if (was_full || connection->linger)
        wake(listener);
    free(connection);
}

void connection_phase(struct listener *listener, struct connection *connection, bool limited)
{
    atomic_store(&connection->deadline_ms, limited ? clock_ms() + listener->settings.phase_ms : 0);
}
