/* From "host:port" to listening sockets. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define ADDRESSES_MAX 16

/* The listening sockets of one configured address. They all have the same port. */
struct address_sockets {
    int fds[ADDRESSES_MAX];
    size_t count;
    unsigned port;
};

/*
 * Opens non-blocking listening sockets for "127.0.0.1:8001", "[::1]:8001", or "localhost:8001" (all
 * addresses that the name has). Port 0 chooses a free port that is the same for all. An IPv6 address is
 * skipped when the kernel has no IPv6 or has it turned off, if another address works. ERR_CONFIG with the
 * reason if the text is malformed or one of the addresses cannot be bound.
 */
MUST_CHECK enum err address_listen(const char *address, struct address_sockets *out, struct detail *detail);

void address_close(struct address_sockets *sockets);
