/* From "host:port" to a listening socket. */
#ifndef FAIRWAY_HTTP_ADDRESS_H
#define FAIRWAY_HTTP_ADDRESS_H

#include "base/err.h"

/*
 * Opens a non-blocking listening socket for "127.0.0.1:8001", "[::1]:8001", "localhost:8001" or ":8001" (all
 * addresses, IPv4 and IPv6). ERR_CONFIG with the reason if the text is no such thing or cannot be bound.
 */
MUST_CHECK enum err address_listen(const char *address, int *out, struct detail *detail);

#endif
