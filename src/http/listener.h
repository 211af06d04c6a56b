/*
 * One thread that accepts connections, ends those that are too slow or must make room, reads those that
 * linger (linger.h), and looks for clients that have left. It checks all deadlines of connections.
 */
#pragma once

#include <sys/socket.h>

#include "address.h"
#include "base/err.h"
#include "connections.h"

struct listener;

/* Takes over the accepted socket; on failure it has closed it and returns false. */
typedef bool (*listener_accepted)(
    void *context, int fd, const struct sockaddr *address, socklen_t address_len);

/* Takes over the sockets, and calls accepted() from its thread. While the maximum of connections is open,
 * more wait in the backlog. */
struct listener *listener_start(const struct address_sockets *sockets, struct connections *connections,
    listener_accepted accepted, void *context);
/* Closes the listening sockets; returns when they are closed. Deadlines are still watched. */
void listener_refuse(struct listener *listener);
/* Ends the thread, and frees the listener. */
void listener_stop(struct listener *listener);
