/*
 * One conversation with the key process. A call is call_begin, what the request holds, call_exchange, what
 * the answer holds, call_end. After a lost or misshapen answer the conversation is over for ever: what comes
 * next on the socket could be the answer to something else.
 */
#ifndef FAIRWAY_KEYS_CLIENT_H
#define FAIRWAY_KEYS_CLIENT_H

#include <pthread.h>

#include "spawn.h"
#include "wire.h"

/* A batch takes milliseconds; a key process that needs longer is stuck. Loading may derive a key per row. */
#define CALL_MS 5000
#define LOAD_MS 30000

struct keyd {
    struct spawned child;
    pthread_mutex_t mutex;
    bool dead;
    int dead_event; /* an eventfd, written when dead is set */
    int lost_fd;    /* an epoll set of dead_event and the pidfd */
    struct buf request, answer;
};

/* Takes the mutex; the request is empty. */
struct buf *call_begin(struct keyd *keyd);

/* Sends the request, waits for its answer. ERR_KEYD_UNAVAILABLE. */
MUST_CHECK enum err call_exchange(
    struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer);

/* Gives the mutex back. e: of the exchange and of each read of the answer, which must be used up. */
MUST_CHECK enum err call_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer);

#endif
