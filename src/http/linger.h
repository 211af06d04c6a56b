/*
 * Lingering close. A client that is still sending when its connection is closed is reset by the kernel, and
 * many clients then lose the reply that was on its way (413, most of all). So the socket is kept, shut down
 * for writing, and read empty until the client closes it, within limits. Not thread-safe.
 */
#ifndef FAIRWAY_HTTP_LINGER_H
#define FAIRWAY_HTTP_LINGER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define LINGER_MAX 16 /* beyond it, closing is abrupt */

/* {0} is empty. */
struct lingerers {
    struct {
        int fd;
        int64_t deadline_ms;
        size_t left; /* bytes that are read before we stop being patient */
    } socket[LINGER_MAX];
    size_t count;
};

/* Keeps a duplicate of fd, which has been shut down for writing. */
void linger_add(struct lingerers *linger, int fd);
/* Fills fds (room for LINGER_MAX), returns how many. */
nfds_t linger_poll(const struct lingerers *linger, struct pollfd *fds);
/* Reads what poll found in the fds of linger_poll; more may have been added since. */
void linger_read(struct lingerers *linger, const struct pollfd *fds, nfds_t count);
/* Closes those whose time is over. */
void linger_expire(struct lingerers *linger, int64_t now_ms);

#endif
