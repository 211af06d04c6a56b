#include "client_waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

void client_waits_init(struct client_waits *waits)
{
    pthread_mutex_init(&waits->mutex, NULL);
    waits->list = NULL;
    waits->count = 0;
}

void client_waits_free(struct client_waits *waits)
{
    pthread_mutex_destroy(&waits->mutex);
    free(waits->list);
}

/* The mutex is held. */
static struct client_wait *find(struct client_waits *waits, const char *name)
{
    size_t i = 0;
    while (i < waits->count && !text_equal(waits->list[i].name, name))
        i++;
    return i < waits->count ? &waits->list[i] : NULL;
}

/* The mutex is held. */
static struct client_wait *add(struct client_waits *waits, const char *name)
{
    waits->list = mem_grow(waits->list, waits->count + 1, sizeof waits->list[0]);
    struct client_wait *wait = &waits->list[waits->count++];
    *wait = (struct client_wait){0};
    snprintf(wait->name, sizeof wait->name, "%s", name);
    return wait;
}

bool client_waits_take(struct client_waits *waits, const char *name, uint32_t limit)
{
    pthread_mutex_lock(&waits->mutex);
    struct client_wait *wait = find(waits, name);
    const bool may = wait == NULL || wait->count < limit;
    if (wait == NULL)
        wait = add(waits, name);
    wait->count += may;
    pthread_mutex_unlock(&waits->mutex);
    return may;
}

void client_waits_give(struct client_waits *waits, const char *name)
{
    pthread_mutex_lock(&waits->mutex);
    struct client_wait *wait = find(waits, name);
    if (wait != NULL && --wait->count == 0)
        *wait = waits->list[--waits->count];
    pthread_mutex_unlock(&waits->mutex);
}
