/* Tickets that wait, first come first served. Not locked: the engine's mutex guards it. */
#ifndef FAIRWAY_POOL_QUEUE_H
#define FAIRWAY_POOL_QUEUE_H

#include "pool/engine.h"

struct queue {
    struct engine_ticket *first, *last;
    size_t count;
};

void queue_append(struct queue *queue, struct engine_ticket *ticket);
/* Puts back tickets that were taken, each in its place by arrival: batches of two threads may come back in
 * either order. */
void queue_return(struct queue *queue, struct queue *taken);
/* Takes the first ticket; NULL when there is none. */
struct engine_ticket *queue_take(struct queue *queue);
/* Moves to *out, with grant.error set, the tickets whose deadline has passed (CHANNEL_ACCOUNT_UNAVAILABLE) or
   whose client has hung up (CANCELLED). */
void queue_sweep(struct queue *queue, int64_t now_ms, struct queue *out);

#endif
