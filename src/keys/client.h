/*
 * The socket to the key process: one request and its answer at a time. A call is client_begin, the request
 * appended to the buffer, client_exchange, the answer read, client_end. When its deadline passes, the
 * exchange stays open: the next call ends it, and drops the answer, before it sends its own request. After a
 * malformed answer, or one that took too long, no request is sent any more.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "budget.h"
#include "spawn.h"
#include "wire.h"

struct keyd {
    struct spawn_child child;
    atomic_bool lost; /* an answer was malformed or took too long */

    pthread_mutex_t mutex; /* guards busy */
    pthread_cond_t idle;
    bool busy; /* a call uses what follows */

    struct master_key_row old_key; /* all zero: none */

    int64_t deadline_ms;        /* of the call */
    bool open;                  /* the last exchange has not ended */
    enum wire_type type;        /* of the last request */
    size_t sent;                /* bytes of it */
    int64_t answer_by_ms;       /* when its answer takes too long */
    struct buf request, answer; /* frames: header and payload */
    struct budget_bucket fees;  /* as keyd's last answer says; for metrics */
    int64_t filled_us;
};

/* Initializes and frees what calls use; child belongs to the caller. */
void client_init(struct keyd *keyd);
void client_free(struct keyd *keyd);

/* Waits until no other call is under way, and returns the empty request in *request. deadline_ms, by
 * clock_ms: how long the call waits in all; 0: as long as answers may take. ERR_KEYD_UNAVAILABLE: the
 * deadline has passed, or keyd is lost; client_end must not be called. */
MUST_CHECK enum err client_begin(struct keyd *keyd, int64_t deadline_ms, struct buf **request);

/* Sends the request, waits for its answer, and returns the reader of it. When that takes longer than
 * timeout_ms, keyd is lost. The reader's error: ERR_KEYD_UNAVAILABLE. */
struct xdr_reader client_exchange(struct keyd *keyd, enum wire_type type, int timeout_ms);

/* Between client_exchange and client_end: what keyd says is left of its budget of fees. */
void client_note_budget(struct keyd *keyd, int64_t left_stroops);

/* The next call may begin. ERR_KEYD_UNAVAILABLE when the answer's reader has an error, or bytes left. */
MUST_CHECK enum err client_end(struct keyd *keyd, const struct xdr_reader *answer);

/* Waits for WIRE_READY. ERR_CONFIG: keyd could not start, or is of another version. ERR_KEYD_UNAVAILABLE: not
 * within timeout_ms. */
MUST_CHECK enum err client_wait_ready(struct keyd *keyd, int timeout_ms, struct detail *detail);
