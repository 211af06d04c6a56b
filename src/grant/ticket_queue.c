/* A list of tickets in the order of their arrival. Nothing here locks or decides. */
#include "ticket_queue.h"

#include "base/invariant.h"

/* Before next, or at the end when next is NULL. */
static void insert(struct ticket_queue *queue, struct engine_ticket *ticket, struct engine_ticket *next)
{
    INVARIANT(ticket->queue == NULL);
    struct engine_ticket *previous = next != NULL ? next->previous : queue->last;
    ticket->previous = previous;
    ticket->next = next;
    *(previous != NULL ? &previous->next : &queue->first) = ticket;
    *(next != NULL ? &next->previous : &queue->last) = ticket;
    ticket->queue = queue->is_shared ? queue : NULL;
    queue->count++;
    queue->unchecked += !ticket->checked;
}

void ticket_queue_append(struct ticket_queue *queue, struct engine_ticket *ticket)
{
    insert(queue, ticket, NULL);
}

void ticket_queue_remove(struct ticket_queue *queue, struct engine_ticket *ticket)
{
    INVARIANT(ticket->queue == (queue->is_shared ? queue : NULL) && queue->count > 0);
    *(ticket->previous != NULL ? &ticket->previous->next : &queue->first) = ticket->next;
    *(ticket->next != NULL ? &ticket->next->previous : &queue->last) = ticket->previous;
    ticket->previous = ticket->next = NULL;
    ticket->queue = NULL;
    queue->count--;
    queue->unchecked -= !ticket->checked;
}

void ticket_queue_merge(struct ticket_queue *queue, struct ticket_queue *from)
{
    struct engine_ticket *at = queue->first;
    for (struct engine_ticket *ticket; (ticket = ticket_queue_take(from)) != NULL;) {
        while (at != NULL && at->arrival < ticket->arrival)
            at = at->next;
        insert(queue, ticket, at);
    }
}

struct engine_ticket *ticket_queue_take(struct ticket_queue *queue)
{
    struct engine_ticket *ticket = queue->first;
    if (ticket != NULL)
        ticket_queue_remove(queue, ticket);
    return ticket;
}

size_t ticket_queue_take_in_turn(
    struct ticket_queue *queue, struct engine_ticket *out[GRANT_BATCH_MAX], uint64_t *least)
{
    uint64_t ranks[GRANT_BATCH_MAX] = {0};
    size_t count = 0;
    for (struct engine_ticket *ticket = queue->first; ticket != NULL; ticket = ticket->next) {
        const uint64_t rank = (*ticket->had)++;
        if (count == GRANT_BATCH_MAX && rank >= ranks[count - 1])
            continue;
        size_t at = count < GRANT_BATCH_MAX ? count++ : count - 1;
        for (; at > 0 && ranks[at - 1] > rank; at--) {
            ranks[at] = ranks[at - 1];
            out[at] = out[at - 1];
        }
        ranks[at] = rank;
        out[at] = ticket;
    }
    for (size_t i = 0; i < count; i++)
        ticket_queue_remove(queue, out[i]);
    for (struct engine_ticket *ticket = queue->first; ticket != NULL; ticket = ticket->next)
        --*ticket->had;
    *least = count > 0 ? ranks[0] : 0;
    return count;
}

static void move(struct ticket_queue *queue, struct engine_ticket *ticket, struct ticket_queue *out)
{
    ticket_queue_remove(queue, ticket);
    ticket_queue_append(out, ticket);
}

void ticket_queue_take_unchecked(struct ticket_queue *queue, size_t limit, struct ticket_queue *out)
{
    struct engine_ticket *next;
    for (struct engine_ticket *ticket = queue->first;
         ticket != NULL && queue->unchecked > 0 && out->count < limit; ticket = next) {
        next = ticket->next;
        if (!ticket->checked)
            move(queue, ticket, out);
    }
}

void ticket_queue_take_late(
    struct ticket_queue *queue, int64_t now_ms, int64_t most_ms, struct ticket_queue *out)
{
    struct engine_ticket *next;
    for (struct engine_ticket *ticket = queue->first; ticket != NULL; ticket = next) {
        const int64_t waited_ms = now_ms - ticket->arrived_ms;
        next = ticket->next;
        if (waited_ms >= ticket->wait_ms || waited_ms >= most_ms)
            move(queue, ticket, out);
    }
}
