/* Reads and drops what a refused client still sends. */
#include "linger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"

#define LINGER_BYTES (8 << 20)

void linger_add(struct linger_list *linger, int fd)
{
    const int copy = linger->count < ARRAY_LEN(linger->socket) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0)
        return;
    linger->socket[linger->count].fd = copy;
    linger->socket[linger->count].left = LINGER_BYTES;
    linger->socket[linger->count++].deadline_ms = clock_ms() + HTTP_LINGER_MS;
}

bool linger_read(struct linger_list *linger, int64_t now_ms)
{
    char scrap[16384];
    /* Backwards: the last one, which has been handled, moves into the place of one that is closed. */
    for (size_t i = linger->count; i-- > 0;) {
        ssize_t got;
        while ((got = recv(linger->socket[i].fd, scrap, sizeof scrap, MSG_DONTWAIT)) > 0 &&
               (size_t)got < linger->socket[i].left)
            linger->socket[i].left -= (size_t)got;
        if (got < 0 && errno == EAGAIN && linger->socket[i].deadline_ms > now_ms)
            continue;
        close(linger->socket[i].fd);
        linger->socket[i] = linger->socket[--linger->count];
    }
    return linger->count > 0;
}
