/*
 * A queue of work in which clients take turns: each has one item in each turn. So what a client adds that has
 * little in the queue is taken before most of what a client has added that has much. The caller's lock guards
 * a queue.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The caller's memory, with the first two members set; it stays until the item has been taken. */
struct fair_item {
    const char *client;  /* whose work it is; NULL: nobody's in particular, and not limited to half */
    int64_t deadline_ms; /* by clock_ms: it should be taken before */
    struct fair_item *next;
    uint64_t turn;
};

/* {.max = ...} is an empty one. */
struct fair_queue {
    size_t max, count;
    struct fair_item *first; /* by their turns */
    uint64_t turn;           /* of the item that was taken last */
};

/* ERR_OVERLOADED: the queue is full, or half of it is this client's. */
MUST_CHECK enum err fair_queue_add(struct fair_queue *queue, struct fair_item *item);
/* NULL: the queue is empty. */
struct fair_item *fair_queue_take(struct fair_queue *queue);
/* The same for those whose deadlines have passed, as a list in their order; at INT64_MAX all have. */
struct fair_item *fair_queue_take_late(struct fair_queue *queue, int64_t now_ms);
