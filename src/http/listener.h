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

struct listener_settings {
    unsigned label;           /* of METRIC_LISTENER */
    unsigned max_connections; /* more wait in the backlog until one closes */
    struct connection_limits limits;
    listener_accepted accepted;
    void *context;
};

/* Takes over the sockets. */
struct listener *listener_new(
    const struct address_sockets *sockets, const struct listener_settings *settings);
/* Begins to accept: from now on accepted() is called, from the listener's thread. */
void listener_start(struct listener *listener);
/* Closes the listening sockets; returns when they are closed. Deadlines are still watched. */
void listener_refuse(struct listener *listener);
/* Ends the thread. listener_closed may still be called until listener_free. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener);

/* The record of a socket that accepted() took over. */
struct connection *listener_opened(struct listener *listener, int fd);
/* As connection_enter. */
MUST_CHECK bool listener_phase(
    struct listener *listener, struct connection *connection, enum connection_phase phase);
/* Frees the record. The socket is still open; the caller is about to close it. */
void listener_closed(struct listener *listener, struct connection *connection);
