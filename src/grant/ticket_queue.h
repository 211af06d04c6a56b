/* A list of tickets, ordered by arrival. Not locked: the engine's mutex guards it. */
#pragma once

#include "grant/engine.h"

struct ticket_queue {
    bool is_shared; /* one of the engine's: its tickets name it. Other lists are of one thread */
    struct engine_ticket *first, *last;
    size_t count;
    size_t unchecked; /* how many of them have checked == false */
};

/* The ticket arrived later than all that are in the queue. */
void ticket_queue_append(struct ticket_queue *queue, struct engine_ticket *ticket);
/* Moves all tickets of *from into the queue, each to its place by arrival. */
void ticket_queue_merge(struct ticket_queue *queue, struct ticket_queue *from);
/* Removes and returns the first ticket; NULL when there is none. */
struct engine_ticket *ticket_queue_take(struct ticket_queue *queue);
/* Removes a batch of tickets: time after time the first one of the client that has had fewest leases, and
 * counts it. *least: what that client had had at first. Returns how many there are. */
size_t ticket_queue_take_in_turn(
    struct ticket_queue *queue, struct engine_ticket *out[GRANT_BATCH_MAX], uint64_t *least);
/* Removes a ticket that is in this queue. */
void ticket_queue_remove(struct ticket_queue *queue, struct engine_ticket *ticket);
/* Moves to *out, in order, up to limit tickets that no batch has checked yet. */
void ticket_queue_take_unchecked(struct ticket_queue *queue, size_t limit, struct ticket_queue *out);
/* Moves to *out, in order, the tickets that have waited as long as they may, or most_ms. */
void ticket_queue_take_late(
    struct ticket_queue *queue, int64_t now_ms, int64_t most_ms, struct ticket_queue *out);
