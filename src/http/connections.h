/*
 * The open connections of a listener: their count, and which of them is ended to make room for another.
 * Functions may be called from any thread unless they say otherwise.
 */
#ifndef FAIRWAY_HTTP_CONNECTIONS_H
#define FAIRWAY_HTTP_CONNECTIONS_H

#include <sys/socket.h>

#include "connection.h"
#include "linger.h"

struct connections;

/* label: of METRIC_LISTENER, under which they are counted. */
struct connections *connections_new(unsigned label, unsigned max, const struct connection_limits *limits);
void connections_free(struct connections *connections);

/* Whether the maximum is reached. */
bool connections_full(const struct connections *connections);
/* Whether some have been ended to make room and are not closed yet. */
bool connections_ending(const struct connections *connections);

/* A record for an accepted socket. */
struct connection *connections_add(struct connections *connections, int fd);
/* The record of an open socket that connections_add was called for; the library has started the connection.
 * Until then nothing is done to the socket. */
struct connection *connections_start(struct connections *connections, int fd);
/* Frees the record; the socket is about to be closed. Returns true when the listener must be woken: the
 * maximum was reached until now, or the socket lingers. */
bool connections_remove(struct connections *connections, struct connection *connection);

/*
 * The rest is for the listener's thread.
 *
 * Makes room for one connection: ends the one that has been without a complete request for longest. So idle
 * or slow clients cannot keep others out; only connections whose request a handler has got are kept. Returns
 * false when there is no connection to end now.
 */
bool connections_make_room(struct connections *connections);
/* Whether there is a connection that connections_make_room would end. */
bool connections_can_make_room(struct connections *connections);
/* Makes room when seven eighths of the maximum are open, so that new connections rarely have to wait for it.
 */
void connections_thin_out(struct connections *connections);
/* Ends those that take too long; called several times a second. */
void connections_check(struct connections *connections);

/* Sockets that were closed while their client was still sending: see linger.h. */
nfds_t connections_poll(struct connections *connections, struct pollfd fds[LINGER_MAX]);
void connections_read(struct connections *connections, const struct pollfd *fds, nfds_t count);

#endif
