/*
 * An open connection: what it is doing, since when, and how long it may. The library's thread moves it from
 * phase to phase; the listener's thread ends it when it takes too long or when its place is needed.
 */
#ifndef FAIRWAY_HTTP_CONNECTION_H
#define FAIRWAY_HTTP_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum connection_phase {
    CONNECTION_HEAD, /* accepted, or the first byte of a further request has come; its head is incomplete */
    CONNECTION_IDLE, /* the last request was answered and no byte of another one has come */
    CONNECTION_BODY, /* the head is complete, the body is not */
    CONNECTION_HANDLER, /* the request is complete and has not been answered: never ended by us */
    CONNECTION_REPLY,   /* the client takes its answer */
    CONNECTION_ENDED    /* shut down by the listener; nothing that it sends is acted on any more */
};

struct connection {
    struct connection *next, *previous; /* the listener's list, under its lock, as is peer */
    struct peer *peer;
    int fd;
    bool linger;            /* set when the reply was given before the request had been read */
    _Atomic uint64_t state; /* phase and when it began, in one word: a phase is ended only as it was seen */

    uint64_t idle_state; /* the listener's thread: the idle phase that it has seen, */
    uint64_t idle_bytes; /* and what the client had sent by then */
};

struct connection_limits {
    int head_ms;  /* for a head, from accept or from its first byte */
    int phase_ms; /* for idling, the rest of a request, and taking a reply, each */
};

struct connection *connection_new(int fd);

/*
 * Called by the thread that reads and writes the connection. False: the listener has ended it; the request
 * that was arriving must not be acted on. A head that follows a head goes on, with the time that it has left.
 */
bool connection_enter(struct connection *connection, enum connection_phase phase);

/* What follows is the listener's, under its lock. */

enum connection_phase connection_phase_of(uint64_t state);
int64_t connection_since_ms(uint64_t state);
bool connection_late(uint64_t state, const struct connection_limits *limits, int64_t now_ms);
/* Whether it may be ended because others need its place: it idles, or its client is slow to send a request or
 * to take the answer. */
bool connection_dispensable(uint64_t state, int64_t now_ms);
/* Notices the first byte of a request on an idle connection, from which its head's time runs. */
void connection_look_for_head(struct connection *connection, int64_t now_ms);
/* Shuts it down unless its state has changed since; the library's thread then closes it. */
bool connection_end(struct connection *connection, uint64_t state);

#endif
