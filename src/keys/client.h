/*
 * The socket to the key process: one request and its answer at a time. A call is client_begin, the request
 * appended to the buffer, client_exchange, the answer read, client_end. After a lost or malformed answer no
 * request is sent any more: the next bytes on the socket could belong to an earlier request.
 */
#ifndef FAIRWAY_KEYS_CLIENT_H
#define FAIRWAY_KEYS_CLIENT_H

#include <pthread.h>

#include "spawn.h"
#include "wire.h"

/* How long an answer may take. A batch takes milliseconds; WIRE_LOAD may derive a key for each row. */
#define CLIENT_CALL_MS 5000
#define CLIENT_LOAD_MS 30000

struct keyd {
    struct spawn_child child;
    pthread_mutex_t mutex;
    bool lost;      /* no answer came, or a malformed one */
    int lost_event; /* an eventfd, written when lost is set */
    int lost_fd;    /* an epoll set of lost_event and the pidfd */
    struct buf request, answer;
};

/* Locks the mutex and returns the empty request. */
struct buf *client_begin(struct keyd *keyd);

/* Sends the request and waits for its answer. ERR_KEYD_UNAVAILABLE. */
MUST_CHECK enum err client_exchange(
    struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer);

/* Unlocks the mutex. e is the error of client_exchange or of reading the answer. ERR_KEYD_UNAVAILABLE when it
 * is not ERR_OK, or when the answer has bytes left. */
MUST_CHECK enum err client_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer);

/* Waits for WIRE_READY. ERR_CONFIG: keyd could not start, or is of another version. ERR_KEYD_UNAVAILABLE. */
MUST_CHECK enum err client_wait_ready(struct keyd *keyd, struct detail *detail);

#endif
