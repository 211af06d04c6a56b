/* Notices clients that leave. It reads nothing from their sockets. */
#include "hangups.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

void hangups_init(struct hangups *hangups)
{
    *hangups = (struct hangups){0};
    pthread_mutex_init(&hangups->mutex, NULL);
    pthread_cond_init(&hangups->returned, NULL);
}

void hangups_destroy(struct hangups *hangups)
{
    pthread_cond_destroy(&hangups->returned);
    pthread_mutex_destroy(&hangups->mutex);
}

/* From the list that it is in; from none when it has been called back. */
static void withdraw(struct hangup *hangup)
{
    if (hangup->entry.le_prev != NULL)
        LIST_REMOVE(hangup, entry);
    hangup->entry.le_prev = NULL;
}

void hangups_watch(struct hangups *hangups, struct hangup *hangup)
{
    pthread_mutex_lock(&hangups->mutex);
    LIST_INSERT_HEAD(&hangups->watched, hangup, entry);
    pthread_mutex_unlock(&hangups->mutex);
}

void hangups_unwatch(struct hangups *hangups, struct hangup *hangup)
{
    pthread_mutex_lock(&hangups->mutex);
    withdraw(hangup);
    while (hangups->running == hangup && !pthread_equal(pthread_self(), hangups->caller))
        pthread_cond_wait(&hangups->returned, &hangups->mutex);
    pthread_mutex_unlock(&hangups->mutex);
}

static bool is_closed_by_peer(int fd)
{
    struct pollfd socket = {.fd = fd, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void hangups_check(struct hangups *hangups)
{
    pthread_mutex_lock(&hangups->mutex);
    hangups->caller = pthread_self();
    for (struct hangup *hangup = LIST_FIRST(&hangups->watched), *next; hangup != NULL; hangup = next) {
        next = LIST_NEXT(hangup, entry);
        if (is_closed_by_peer(hangup->fd)) {
            withdraw(hangup);
            LIST_INSERT_HEAD(&hangups->gone, hangup, entry);
        }
    }
    for (struct hangup *hangup; (hangup = LIST_FIRST(&hangups->gone)) != NULL;) {
        withdraw(hangup);
        hangups->running = hangup;
        pthread_mutex_unlock(&hangups->mutex);
        hangup->callback(hangup->context); /* may end the request, and with it *hangup */
        pthread_mutex_lock(&hangups->mutex);
        hangups->running = NULL;
        pthread_cond_broadcast(&hangups->returned);
    }
    pthread_mutex_unlock(&hangups->mutex);
}
