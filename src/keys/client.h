/*
 * The socket to the key process: one request and its answer at a time. A call is client_begin, the request
 * appended to the buffer, client_exchange, the answer read, client_end. After a lost or malformed answer no
 * request is sent any more: the next bytes on the socket could belong to an earlier request. When the
 * deadline of a call passes first, the answer is not lost: the next call reads it before it sends its own
 * request.
 */
#ifndef FAIRWAY_KEYS_CLIENT_H
#define FAIRWAY_KEYS_CLIENT_H

#include <pthread.h>

#include "spawn.h"
#include "wire.h"

/* How long an answer may take. A batch takes milliseconds; WIRE_LOAD may derive a key for each row. */
#define CLIENT_CALL_MS 4000
#define CLIENT_LOAD_MS 30000

struct keyd {
    struct spawn_child child;
    int lost_event; /* an eventfd, written when lost is set */
    int lost_fd;    /* an epoll set of lost_event and the pidfd */

    pthread_mutex_t mutex; /* guards busy */
    pthread_cond_t idle;
    bool busy; /* a call uses what follows */

    bool lost;            /* no answer came, or a malformed one */
    int64_t deadline_ms;  /* of the call */
    bool unanswered;      /* the last request was sent, and its answer was not read */
    enum wire_type type;  /* of the last request */
    int64_t answer_by_ms; /* if its answer comes later, it is lost */
    struct buf request, answer;
};

/* Initializes and frees what calls use; child, lost_event and lost_fd belong to the caller. */
void client_init(struct keyd *keyd);
void client_free(struct keyd *keyd);

/* Waits until no other call is under way, and returns the empty request in *request. deadline_ms, by
 * clock_ms: how long the call waits in all; 0: as long as answers may take. ERR_KEYD_UNAVAILABLE: the
 * deadline has passed, or the answer to the call before was lost; client_end must not be called. */
MUST_CHECK enum err client_begin(struct keyd *keyd, int64_t deadline_ms, struct buf **request);

/* Sends the request and waits for its answer, which is lost if it takes longer than timeout_ms.
 * ERR_KEYD_UNAVAILABLE. A request that the socket does not take at once, because keyd does not read, may wait
 * beyond the deadline, but not longer than timeout_ms. */
MUST_CHECK enum err client_exchange(
    struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer);

/* The next call may begin. e is the error of client_exchange or of reading the answer. ERR_KEYD_UNAVAILABLE
 * when it is not ERR_OK, or when the answer has bytes left. */
MUST_CHECK enum err client_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer);

/* Waits for WIRE_READY. ERR_CONFIG: keyd could not start, or is of another version. ERR_KEYD_UNAVAILABLE. */
MUST_CHECK enum err client_wait_ready(struct keyd *keyd, struct detail *detail);

#endif
