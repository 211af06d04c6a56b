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

static void insert(struct hangup **list, struct hangup *hangup)
{
    hangup->next = *list;
    hangup->link = list;
    if (hangup->next != NULL)
        hangup->next->link = &hangup->next;
    *list = hangup;
}

static void withdraw(struct hangup *hangup)
{
    if (hangup->link == NULL)
        return;
    *hangup->link = hangup->next;
    if (hangup->next != NULL)
        hangup->next->link = hangup->link;
    hangup->link = NULL;
}

void hangups_watch(struct hangups *hangups, struct hangup *hangup)
{
    pthread_mutex_lock(&hangups->mutex);
    insert(&hangups->watched, hangup);
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
    for (struct hangup *hangup = hangups->watched, *next; hangup != NULL; hangup = next) {
        next = hangup->next;
        if (is_closed_by_peer(hangup->fd)) {
            withdraw(hangup);
            insert(&hangups->gone, hangup);
        }
    }
    for (struct hangup *hangup; (hangup = hangups->gone) != NULL;) {
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
