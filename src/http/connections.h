/*
 * The open connections of a listener: the phase of each and since when, their count, and which of them is
 * ended to make room for another. The connection's thread (one of libmicrohttpd's) moves it from phase to
 * phase. The listener's thread ends it when it takes too long, or to make room. Functions may be called from
 * any thread unless they say otherwise.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "linger.h"

enum connection_phase {
    CONNECTION_HEAD,    /* accepted, or a further request's first line has come; the head is incomplete */
    CONNECTION_IDLE,    /* the last request has its reply, and no first line of another one has come */
    CONNECTION_BODY,    /* the head is complete, the body is not */
    CONNECTION_HANDLER, /* the request is complete and has no reply yet: never ended by the listener */
    CONNECTION_REPLY,   /* the reply is being sent */
    CONNECTION_ENDED    /* shut down by the listener; no request that still arrives is served */
};

struct connection {
    TAILQ_ENTRY(connection) entry; /* of the listener's list, under its lock */
    int fd;
    bool linger; /* the reply comes before the whole request has been read: see linger.h */
    /* Phase and when it began, in one word: it is not ended when that has changed meanwhile. */
    _Atomic uint64_t state;

    struct connections *list;
    void (*on_left)(void *context); /* of connection_watch, under the list's lock; NULL: not watched */
    void *context;
};

struct connection_limits {
    int head_ms;  /* for a head, from accept or from the end of its first line */
    int phase_ms; /* for idling, the rest of a request, and taking a reply, each */
};

/*
 * Called by the connection's thread. Returns false when the listener has ended the connection: the request
 * that was arriving must not be served. Entering CONNECTION_HEAD again does not restart the time of the head.
 */
bool connection_enter(struct connection *connection, enum connection_phase phase);

/*
 * While it is in CONNECTION_HANDLER: has connections_check call callback(context) when the client closes the
 * connection or its sending side, or has done so already: once, or not at all when connection_unwatch comes
 * first. Bytes that the client sends do not matter. No lock is held during the callback.
 */
void connection_watch(struct connection *connection, void (*callback)(void *context), void *context);
/* Ends the watch. If the callback is running, waits until it has returned, unless the caller is the callback
 * itself. */
void connection_unwatch(struct connection *connection);

struct connections;

/* label: of METRIC_LISTENER, under which they are counted. */
struct connections *connections_new(unsigned label, unsigned max, const struct connection_limits *limits);
void connections_free(struct connections *connections);

/* Whether the maximum is reached. */
bool connections_full(const struct connections *connections);

/* Counts an accepted socket (1), or one that the library did not take (-1). Returns how many were open
 * before.
 */
unsigned connections_count(struct connections *connections, int by);
/* A record for a counted socket whose connection the library has started. Before that the library may have
 * closed it, and its number may be another's: nothing is done to it. */
struct connection *connections_add(struct connections *connections, int fd);
/* Frees the record; the socket is still open, and about to be closed. */
void connections_remove(struct connections *connections, struct connection *connection);
/* Wakes the listener's thread, as the functions above do where it has something to do. */
void connections_wake(struct connections *connections);

/* ---- the rest is for the listener's thread */

/* An eventfd, which is readable after connections_wake. */
int connections_wake_fd(const struct connections *connections);

/* Ends connections to make room for new ones, as http/server.h says. */
void connections_thin_out(struct connections *connections);
/* Ends those that take too long, and calls back for the clients that have left; called several times a
 * second.
 */
void connections_check(struct connections *connections);
/* As linger_read, of sockets that were closed while their client was still sending. */
bool connections_read(struct connections *connections);
