/* Notices clients that leave. It reads nothing from their sockets. */
#include "hangups.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

/*
 * A socket stays in the epoll set until it is closed, so that many requests on one connection need one system
 * call. EPOLLONESHOT: after an event the kernel reports nothing more until the socket is armed again.
 */
struct socket {
    struct hangup *hangup; /* NULL: no request waits, or its callback has been called */
    bool added, armed;
};

struct hangups {
    int epoll, wake; /* wake: ends the thread's epoll_wait */
    pthread_t thread;
    atomic_bool stopping;
    pthread_mutex_t mutex;   /* guards what follows */
    pthread_cond_t returned; /* a callback has returned */
    struct socket *sockets;  /* by descriptor */
    size_t room;
    const struct hangup *running; /* its callback is running; only compared, it may have been freed */
};

static void control(struct hangups *hangups, int operation, int fd)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.fd = fd};
    if (epoll_ctl(hangups->epoll, operation, fd, &event) != 0)
        log_fatal(EX_OSERR, "epoll_ctl failed", "reason=\"%s\"", strerror(errno));
}

static void arm(struct hangups *hangups, int fd)
{
    struct socket *socket = &hangups->sockets[fd];
    if (!socket->armed)
        control(hangups, socket->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd);
    socket->added = socket->armed = true;
}

static bool is_closed_by_peer(int fd)
{
    struct pollfd socket = {.fd = fd, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/*
 * The event may be of an earlier socket with the same descriptor, which was closed after epoll_wait had
 * returned. So poll() checks the socket itself; it stays open while it has a watch.
 */
static void handle(struct hangups *hangups, int fd)
{
    pthread_mutex_lock(&hangups->mutex);
    struct socket *socket = &hangups->sockets[fd];
    struct hangup *hangup = socket->hangup;
    socket->armed = false;
    if (hangup != NULL && !is_closed_by_peer(fd)) {
        arm(hangups, fd);
        hangup = NULL;
    }
    if (hangup != NULL)
        socket->hangup = NULL;
    hangups->running = hangup;
    pthread_mutex_unlock(&hangups->mutex);
    if (hangup == NULL)
        return;
    hangup->callback(hangup->context); /* may end the request, and with it *hangup */
    pthread_mutex_lock(&hangups->mutex);
    hangups->running = NULL;
    pthread_cond_broadcast(&hangups->returned);
    pthread_mutex_unlock(&hangups->mutex);
}

static void *run(void *context)
{
    struct hangups *hangups = context;
    while (!atomic_load(&hangups->stopping)) {
        struct epoll_event events[64];
        int count = epoll_wait(hangups->epoll, events, (int)ARRAY_LEN(events), -1);
        for (int i = 0; i < count; i++)
            if (events[i].data.fd != hangups->wake)
                handle(hangups, events[i].data.fd);
    }
    return NULL;
}

struct hangups *hangups_start(void)
{
    struct hangups *hangups = NEW(struct hangups);
    pthread_mutex_init(&hangups->mutex, NULL);
    pthread_cond_init(&hangups->returned, NULL);
    hangups->epoll = epoll_create1(EPOLL_CLOEXEC);
    hangups->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = hangups->wake};
    if (hangups->epoll < 0 || hangups->wake < 0 ||
        epoll_ctl(hangups->epoll, EPOLL_CTL_ADD, hangups->wake, &event) != 0)
        log_fatal(EX_OSERR, "cannot create an epoll set", "reason=\"%s\"", strerror(errno));
    thread_start(&hangups->thread, "hangups", run, hangups);
    return hangups;
}

void hangups_free(struct hangups *hangups)
{
    atomic_store(&hangups->stopping, true);
    if (eventfd_write(hangups->wake, 1) != 0)
        log_fatal(EX_OSERR, "eventfd_write failed", "reason=\"%s\"", strerror(errno));
    pthread_join(hangups->thread, NULL);
    close(hangups->wake);
    close(hangups->epoll);
    pthread_cond_destroy(&hangups->returned);
    pthread_mutex_destroy(&hangups->mutex);
    free(hangups->sockets);
    free(hangups);
}

/* Makes room for a record of the socket. The mutex is held. */
static void reserve(struct hangups *hangups, int fd)
{
    const size_t needed = (size_t)fd + 1, old = hangups->room;
    INVARIANT_LOCKED(&hangups->mutex);
    if (needed <= old)
        return;
    hangups->room = needed < 2 * old ? 2 * old : needed;
    hangups->sockets = mem_grow(hangups->sockets, hangups->room, sizeof hangups->sockets[0]);
    memset(hangups->sockets + old, 0, (hangups->room - old) * sizeof hangups->sockets[0]);
}

void hangups_watch(struct hangups *hangups, struct hangup *hangup)
{
    pthread_mutex_lock(&hangups->mutex);
    reserve(hangups, hangup->fd);
    INVARIANT(hangups->sockets[hangup->fd].hangup == NULL); /* one request at a time */
    hangups->sockets[hangup->fd].hangup = hangup;
    arm(hangups, hangup->fd);
    pthread_mutex_unlock(&hangups->mutex);
}

void hangups_unwatch(struct hangups *hangups, const struct hangup *hangup)
{
    const bool is_callback = pthread_equal(pthread_self(), hangups->thread);
    pthread_mutex_lock(&hangups->mutex);
    INVARIANT((size_t)hangup->fd < hangups->room);
    struct socket *socket = &hangups->sockets[hangup->fd];
    if (socket->hangup == hangup)
        socket->hangup = NULL;
    while (hangups->running == hangup && !is_callback)
        pthread_cond_wait(&hangups->returned, &hangups->mutex);
    pthread_mutex_unlock(&hangups->mutex);
}

void hangups_forget(struct hangups *hangups, int fd)
{
    pthread_mutex_lock(&hangups->mutex);
    if ((size_t)fd < hangups->room) {
        if (hangups->sockets[fd].added)
            control(hangups, EPOLL_CTL_DEL, fd);
        hangups->sockets[fd] = (struct socket){0};
    }
    pthread_mutex_unlock(&hangups->mutex);
}
