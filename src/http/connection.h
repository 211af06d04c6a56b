/*
 * An open connection: its phase, and since when. The connection's thread (one of libmicrohttpd's) moves it
 * from phase to phase. The listener's thread ends it when it takes too long, or to make room for another one.
 */
#ifndef FAIRWAY_HTTP_CONNECTION_H
#define FAIRWAY_HTTP_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum connection_phase {
    CONNECTION_HEAD, /* accepted, or the first byte of a further request has come; its head is incomplete */
    CONNECTION_IDLE, /* the last request has its reply and no byte of another one has come */
    CONNECTION_BODY, /* the head is complete, the body is not */
    CONNECTION_HANDLER, /* the request is complete and has no reply yet: never ended by the listener */
    CONNECTION_REPLY,   /* the reply is being sent */
    CONNECTION_ENDED    /* shut down by the listener; no request that still arrives is served */
};

struct connection {
    struct connection *next, *previous; /* the listener's list, under its lock */
    int fd;
    bool
        started; /* else the library may have closed fd without a word, and it may be another's; under lock */
    bool linger; /* the reply comes before the whole request has been read: see linger.h */
    _Atomic uint64_t
        state; /* phase and when it began, in one word: connection_end fails if it has changed meanwhile */

    /* The listener thread's: the idle phase that it saw last, and the bytes that the client had sent by then.
     */
    uint64_t idle_state, idle_bytes;
};

struct connection_limits {
    int head_ms;  /* for a head, from accept or from its first byte */
    int phase_ms; /* for idling, the rest of a request, and taking a reply, each */
};

struct connection *connection_new(int fd);

/*
 * Called by the connection's thread. Returns false when the listener has ended the connection: the request
 * that was arriving must not be served. Entering CONNECTION_HEAD again does not restart the time of the head.
 */
bool connection_enter(struct connection *connection, enum connection_phase phase);

/* The rest is for the listener's thread, under its lock. */

enum connection_phase connection_phase_of(uint64_t state);
int64_t connection_since_ms(uint64_t state);
bool connection_late(uint64_t state, const struct connection_limits *limits, int64_t now_ms);
/* Whether it may be ended to make room: it is idle, or its client is slow to send the request or to read the
 * reply. */
bool connection_dispensable(uint64_t state, int64_t now_ms);
/* Moves an idle connection to CONNECTION_HEAD when the first byte of a request has come. */
void connection_detect_head(struct connection *connection, int64_t now_ms);
/* Shuts it down, and the connection's thread then closes it. Returns false when its state has changed since
 * it was read. */
bool connection_end(struct connection *connection, uint64_t state);

#endif
