/*
 * Lingering close. When a connection is closed while its client still sends, the kernel resets it, and many
 * clients then lose the reply (in particular a 413). So the socket stays open, shut down for writing, and is
 * read until the client closes it, within limits of time and size. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is empty. More than its sockets are closed without lingering. */
struct linger_list {
    struct {
        int fd;
        int64_t deadline_ms;
        size_t left; /* bytes to read at most */
    } socket[16];
    size_t count;
};

/* Keeps a duplicate of fd, which has been shut down for writing. */
void linger_add(struct linger_list *linger, int fd);
/* Reads what has come, and closes those that have ended, sent too much or are late. Returns whether any is
 * left; then it is to be called again some milliseconds later. */
bool linger_read(struct linger_list *linger, int64_t now_ms);
