/*
 * Lingering close. When a connection is closed while its client still sends, the kernel resets it, and many
 * clients then lose the reply (in particular a 413). So the socket stays open, shut down for writing, and is
 * read until the client closes it, within limits of time and size. Not thread-safe.
 */
#ifndef FAIRWAY_HTTP_LINGER_H
#define FAIRWAY_HTTP_LINGER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define LINGER_MAX 16 /* sockets above this number are closed without lingering */

/* {0} is empty. */
struct linger_list {
    struct {
        int fd;
        int64_t deadline_ms;
        size_t left; /* bytes to read at most */
    } socket[LINGER_MAX];
    size_t count;
};

/* Keeps a duplicate of fd, which has been shut down for writing. */
void linger_add(struct linger_list *linger, int fd);
/* Fills fds (room for LINGER_MAX), returns how many. */
nfds_t linger_poll(const struct linger_list *linger, struct pollfd *fds);
/* Reads what poll found in the fds of linger_poll; more may have been added since. */
void linger_read(struct linger_list *linger, const struct pollfd *fds, nfds_t count);
/* Closes those whose deadline has passed. */
void linger_expire(struct linger_list *linger, int64_t now_ms);

#endif
