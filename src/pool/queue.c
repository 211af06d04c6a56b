#include "queue.h"

void queue_append(struct queue *queue, struct engine_ticket *ticket)
{
    ticket->next = NULL;
    if (queue->first == NULL)
        queue->first = ticket;
    else
        queue->last->next = ticket;
    queue->last = ticket;
    queue->count++;
}

void queue_return(struct queue *queue, struct queue *taken)
{
    struct queue merged = {0};
    while (queue->first != NULL || taken->first != NULL) {
        bool from_taken =
            queue->first == NULL || (taken->first != NULL && taken->first->arrival < queue->first->arrival);
        queue_append(&merged, queue_take(from_taken ? taken : queue));
    }
    *queue = merged;
}

struct engine_ticket *queue_take(struct queue *queue)
{
    struct engine_ticket *ticket = queue->first;
    if (ticket == NULL)
        return NULL;
    queue->first = ticket->next;
    if (queue->first == NULL)
        queue->last = NULL;
    queue->count--;
    ticket->next = NULL;
    return ticket;
}

void queue_sweep(struct queue *queue, int64_t now_ms, struct queue *out)
{
    struct queue kept = {0};
    for (struct engine_ticket *ticket; (ticket = queue_take(queue)) != NULL;) {
        if (ticket->gone(ticket))
            ticket->grant.error = ERR_CANCELLED;
        else if (ticket->deadline_ms <= now_ms)
            ticket->grant.error = ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
        else {
            queue_append(&kept, ticket);
            continue;
        }
        queue_append(out, ticket);
    }
    *queue = kept;
}
