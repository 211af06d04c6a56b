/* A queue in which clients take turns, so that one cannot fill it for the others. Not locked. */
#include "base/fair_queue.h"

#include "base/invariant.h"
#include "base/text.h"

enum err fair_queue_add(struct fair_queue *queue, struct fair_item *item)
{
    struct fair_item **at = &queue->first;
    size_t of_client = 0;
    /* One turn after the last item of the client or, if it has none, after the one that was taken last. */
    item->turn = queue->turn + 1;
    for (const struct fair_item *other = queue->first; other != NULL; other = other->next)
        if (text_equal(other->client, item->client)) {
            item->turn = other->turn + 1;
            of_client++;
        }
    if (queue->count >= queue->max || (item->client != NULL && of_client >= queue->max / 2))
        return ERR_OVERLOADED;
    while (*at != NULL && (*at)->turn <= item->turn)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
    queue->count++;
    return ERR_OK;
}

struct fair_item *fair_queue_take(struct fair_queue *queue)
{
    struct fair_item *item = queue->first;
    INVARIANT((item == NULL) == (queue->count == 0));
    if (item == NULL)
        return NULL;
    queue->first = item->next;
    queue->turn = item->turn;
    queue->count--;
    item->next = NULL;
    return item;
}

struct fair_item *fair_queue_take_late(struct fair_queue *queue, int64_t now_ms)
{
    struct fair_item *late = NULL, **end = &late, **at = &queue->first;
    while (*at != NULL) {
        struct fair_item *item = *at;
        if (item->deadline_ms > now_ms) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        queue->count--;
        item->next = NULL;
        *end = item;
        end = &item->next;
    }
    INVARIANT((queue->first == NULL) == (queue->count == 0));
    return late;
}
