#include "ticket_queue.h"

void queue_append(struct queue *queue, struct engine_ticket *ticket)
{
    ticket->next = NULL;
    if (queue->first == NULL)
        queue->first = ticket;
    else
        queue->last->next = ticket;
    queue->last = ticket;
    queue->count++;
    queue->unjudged += !ticket->judged;
}

void queue_return(struct queue *queue, struct queue *from)
{
    struct queue merged = {0};
    while (queue->first != NULL || from->first != NULL) {
        bool is_from =
            queue->first == NULL || (from->first != NULL && from->first->arrival < queue->first->arrival);
        queue_append(&merged, queue_take(is_from ? from : queue));
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
    queue->unjudged -= !ticket->judged;
    ticket->next = NULL;
    return ticket;
}

void queue_take_unjudged(struct queue *queue, size_t limit, struct queue *out)
{
    struct queue kept = {0};
    for (struct engine_ticket *ticket; (ticket = queue_take(queue)) != NULL;)
        queue_append(!ticket->judged && out->count < limit ? out : &kept, ticket);
    *queue = kept;
}

void queue_sweep(struct queue *queue, int64_t late_ms, enum err late, struct queue *out)
{
    struct queue kept = {0};
    for (struct engine_ticket *ticket; (ticket = queue_take(queue)) != NULL;) {
        if (ticket->gone(ticket))
            ticket->grant.error = ERR_CANCELLED;
        else if (ticket->arrived_ms <= late_ms)
            ticket->grant.error = late;
        else {
            queue_append(&kept, ticket);
            continue;
        }
        queue_append(out, ticket);
    }
    *queue = kept;
}
