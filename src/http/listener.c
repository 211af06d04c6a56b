/* Accepts connections and ends slow ones. No request is read here: the library's threads do that. */
#include "listener.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

enum {
    TICK_MS = 250,       /* between checks of deadlines */
    FULL_TICK_MS = 50,   /* between checks for a connection that may be ended, while the maximum is open */
    LINGER_TICK_MS = 10, /* between reads of sockets that linger */
};

struct listener {
    struct connections *connections;
    listener_accepted accepted;
    void *context;
    struct address_sockets sockets; /* the thread's; none when closed */
    bool accept_failed;             /* the thread's: the last accept failed, which has been logged */
    pthread_t thread;
    atomic_bool refusing, refused, stopping;
};

/* Returns false when descriptors or memory are exhausted: an immediate retry would only use the CPU. */
static bool accept_all(struct listener *listener, int socket)
{
    while (!connections_full(listener->connections)) {
        struct sockaddr_storage address = {0};
        socklen_t len = sizeof address;
        int fd = accept4(socket, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno == EAGAIN)
            return true;
        if (fd < 0) {
            if (!listener->accept_failed)
                log_warn("cannot accept connections; retrying", "reason=\"%s\"", strerror(errno));
            listener->accept_failed = true;
            return false;
        }
        listener->accept_failed = false;
        (void)connections_count(listener->connections, 1);
        if (!listener->accepted(listener->context, fd, (struct sockaddr *)&address, len))
            (void)connections_count(listener->connections, -1);
    }
    return true;
}

static void refuse(struct listener *listener)
{
    address_close(&listener->sockets);
    atomic_store(&listener->refused, true);
}

/* Waits for something to do. fds: the wake-up descriptor and the listening sockets. */
static void wait_for_events(
    const struct listener *listener, bool accepting, int timeout_ms, struct pollfd fds[1 + ADDRESSES_MAX])
{
    const struct address_sockets *sockets = &listener->sockets;
    fds[0] = (struct pollfd){.fd = connections_wake_fd(listener->connections), .events = POLLIN};
    for (size_t i = 0; i < ADDRESSES_MAX; i++)
        fds[1 + i] =
            (struct pollfd){.fd = accepting && i < sockets->count ? sockets->fds[i] : -1, .events = POLLIN};
    poll(fds, 1 + ADDRESSES_MAX, timeout_ms);
}

/* Makes room, and reads the sockets that linger. Returns how long to wait for events at most. */
static int tidy(struct listener *listener, int64_t next_tick)
{
    const int left_ms = clock_left_ms(next_tick);
    connections_thin_out(listener->connections);
    const int most_ms = connections_read(listener->connections)   ? LINGER_TICK_MS
                        : connections_full(listener->connections) ? FULL_TICK_MS
                                                                  : TICK_MS;
    return left_ms < most_ms ? left_ms : most_ms;
}

static void *run(void *context)
{
    struct listener *listener = context;
    int64_t next_tick = clock_ms() + TICK_MS;
    bool out_of_descriptors = false;
    while (!atomic_load(&listener->stopping)) {
        struct pollfd fds[1 + ADDRESSES_MAX];
        if (atomic_load(&listener->refusing))
            refuse(listener);
        const int timeout_ms = tidy(listener, next_tick);
        wait_for_events(
            listener, !out_of_descriptors && !connections_full(listener->connections), timeout_ms, fds);
        uint64_t ignored;
        if (fds[0].revents != 0 && read(fds[0].fd, &ignored, sizeof ignored) < 0)
            continue;
        for (size_t i = 0; i < listener->sockets.count && !atomic_load(&listener->refusing); i++)
            if (fds[1 + i].revents != 0 && !accept_all(listener, listener->sockets.fds[i]))
                out_of_descriptors = true;
        if (clock_ms() >= next_tick) {
            connections_check(listener->connections);
            out_of_descriptors = false;
            next_tick = clock_ms() + TICK_MS;
        }
    }
    refuse(listener);
    return NULL;
}

struct listener *listener_start(const struct address_sockets *sockets, struct connections *connections,
    listener_accepted accepted, void *context)
{
    struct listener *listener = NEW(struct listener);
    listener->sockets = *sockets;
    listener->connections = connections;
    listener->accepted = accepted;
    listener->context = context;
    thread_start(&listener->thread, "http", run, listener);
    return listener;
}

void listener_refuse(struct listener *listener)
{
    atomic_store(&listener->refusing, true);
    connections_wake(listener->connections);
    while (!atomic_load(&listener->refused))
        clock_sleep_ms(1);
}

void listener_stop(struct listener *listener)
{
    atomic_store(&listener->stopping, true);
    connections_wake(listener->connections);
    pthread_join(listener->thread, NULL);
    free(listener);
}
