/* Reads and drops what a refused client still sends. */
#include "linger.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"

#define LINGER_BYTES (8 << 20)

static void drop(struct linger_list *linger, size_t i)
{
    INVARIANT(i < linger->count);
    close(linger->socket[i].fd);
    linger->socket[i] = linger->socket[--linger->count];
}

void linger_add(struct linger_list *linger, int fd)
{
    if (linger->count == LINGER_MAX)
        return;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    linger->socket[linger->count].fd = copy;
    linger->socket[linger->count].left = LINGER_BYTES;
    linger->socket[linger->count++].deadline_ms = clock_ms() + HTTP_LINGER_MS;
}

nfds_t linger_poll(const struct linger_list *linger, struct pollfd *fds)
{
    for (size_t i = 0; i < linger->count; i++)
        fds[i] = (struct pollfd){.fd = linger->socket[i].fd, .events = POLLIN};
    return (nfds_t)linger->count;
}

void linger_read(struct linger_list *linger, const struct pollfd *fds, nfds_t count)
{
    char scrap[16384];
    /* Backwards: drop moves the last socket, which has been handled or is new, into the gap. */
    for (size_t i = (size_t)count; i-- > 0;) {
        if (fds[i].revents == 0)
            continue;
        ssize_t got = recv(linger->socket[i].fd, scrap, sizeof scrap, MSG_DONTWAIT);
        if (got <= 0 || (size_t)got >= linger->socket[i].left)
            drop(linger, i);
        else
            linger->socket[i].left -= (size_t)got;
    }
}

void linger_expire(struct linger_list *linger, int64_t now_ms)
{
    for (size_t i = linger->count; i-- > 0;)
        if (linger->socket[i].deadline_ms <= now_ms)
            drop(linger, i);
}
