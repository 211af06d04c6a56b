/* Tickets that wait, first come first served. Not locked: the engine's mutex guards it. */
#ifndef FAIRWAY_GRANT_TICKET_QUEUE_H
#define FAIRWAY_GRANT_TICKET_QUEUE_H

#include "grant/engine.h"

struct queue {
    struct engine_ticket *first, *last;
    size_t count;
    size_t unjudged; /* of them */
};

void queue_append(struct queue *queue, struct engine_ticket *ticket);
/* Moves all tickets of *from into the queue, each to its place by arrival: batches of two threads may come
 * back in either order. */
void queue_return(struct queue *queue, struct queue *from);
/* Takes the first ticket; NULL when there is none. */
struct engine_ticket *queue_take(struct queue *queue);
/* Takes up to limit tickets that are not judged yet, the first ones first. */
void queue_take_unjudged(struct queue *queue, size_t limit, struct queue *out);
/* Moves to *out, with grant.error set, the tickets that arrived at or before late_ms (as `late`) or whose
   client has hung up (CANCELLED). */
void queue_sweep(struct queue *queue, int64_t late_ms, enum err late, struct queue *out);

#endif
