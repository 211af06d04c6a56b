/*
 * One thread that accepts connections, ends those that are too slow, and lingers on those that were closed
 * while their client was still sending. It is all of the server that is driven by time.
 */
#ifndef FAIRWAY_HTTP_LISTENER_H
#define FAIRWAY_HTTP_LISTENER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/err.h"

struct listener;

/* An open connection's record, from listener_opened to listener_closed. */
struct connection {
    struct connection *next, *previous;
    int fd;
    _Atomic int64_t deadline_ms; /* on clock_ms; 0: none. Past it, the socket is shut down */
    bool linger;                 /* set when the reply was given before the request had been read */
};

/* Takes over the accepted socket, also when it fails. */
typedef bool (*listener_accepted)(
    void *context, int fd, const struct sockaddr *address, socklen_t address_len);

struct listener_settings {
    unsigned max_connections; /* more wait in the backlog until one closes */
    int phase_ms;             /* see connection_phase */
    listener_accepted accepted;
    void *context;
};

/* Takes over socket. */
struct listener *listener_new(int socket, const struct listener_settings *settings);
/* Begins to accept: from now on accepted() is called, from the listener's thread. */
void listener_start(struct listener *listener);
/* Closes the listening socket; returns when it is closed. Deadlines are still kept. */
void listener_refuse(struct listener *listener);
/* Ends the thread. listener_closed may still be called until listener_free. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener);

struct connection *listener_opened(struct listener *listener, int fd);
/* The socket is still open, and is about to be closed by the caller. */
void listener_closed(struct listener *listener, struct connection *connection);

/*
 * A connection's next phase begins. Waiting for a request line, sending the rest of the request and taking
 * the reply may last phase_ms each, however busily bytes trickle; only the handler's own time is not limited.
 */
void connection_phase(struct listener *listener, struct connection *connection, bool limited);

#endif
