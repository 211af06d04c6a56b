#include "client_loads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/text.h"

#define SECOND_US INT64_C(1000000)

struct client_load {
    char name[AUTH_NAME_SIZE];
    uint32_t in_flight, waits;
    int64_t busy_until_us; /* when, at its rate, all its requests so far would be over */
    struct client_load *next;
};

void client_loads_init(struct client_loads *loads)
{
    pthread_mutex_init(&loads->mutex, NULL);
    loads->list = NULL;
}

void client_loads_free(struct client_loads *loads)
{
    for (struct client_load *load = loads->list, *next; load != NULL; load = next) {
        next = load->next;
        free(load);
    }
    pthread_mutex_destroy(&loads->mutex);
}

/* The client's record. A record that says no more than a new one is taken for another client. The mutex is
 * held. */
static struct client_load *find(struct client_loads *loads, const char *client, int64_t now_us)
{
    struct client_load *unused = NULL;
    for (struct client_load *load = loads->list; load != NULL; load = load->next) {
        if (text_equal(load->name, client))
            return load;
        if (load->in_flight == 0 && load->busy_until_us <= now_us)
            unused = load;
    }
    if (unused == NULL) {
        unused = NEW(struct client_load);
        unused->next = loads->list;
        loads->list = unused;
    }
    snprintf(unused->name, sizeof unused->name, "%s", client);
    return unused;
}

/* A request is let in when those before it, at the client's rate, leave room for one more in the next second.
 * So one with a large body is let in too, and the next ones wait for it. The mutex is held. */
static bool take_time(
    struct client_load *load, const struct client_load_limits *limits, uint64_t body_bytes, int64_t now_us)
{
    const int64_t cost = 1 + (int64_t)(body_bytes / CLIENT_LOAD_BODY_BYTES), rate = limits->per_second;
    const int64_t begin_us = load->busy_until_us > now_us ? load->busy_until_us : now_us;
    if (rate == 0)
        return true;
    if (begin_us - now_us > SECOND_US - SECOND_US / rate)
        return false;
    load->busy_until_us = begin_us + cost * SECOND_US / rate;
    return true;
}

/* The mutex is held. */
static enum err begin(struct client_load *load, const struct client_load_limits *limits, uint64_t body_bytes,
    int64_t now_us, const char **limit, struct detail *detail)
{
    if (limits->in_flight > 0 && load->in_flight >= limits->in_flight) {
        *limit = "requestsInFlight";
        return detail_set(detail, ERR_LIMIT_EXCEEDED,
            "requestsInFlight: %" PRIu32 " requests of this client are in progress at this replica already.",
            load->in_flight);
    }
    if (!take_time(load, limits, body_bytes, now_us)) {
        *limit = "requestsPerSecond";
        return detail_set(detail, ERR_LIMIT_EXCEEDED,
            "requestsPerSecond: this client may send %" PRIu32
            " requests a second to each replica; each %d bytes of a body count as one more.",
            limits->per_second, CLIENT_LOAD_BODY_BYTES);
    }
    load->in_flight++;
    return ERR_OK;
}

enum err client_loads_begin(struct client_loads *loads, const char *client,
    const struct client_load_limits *limits, uint64_t body_bytes, int64_t now_us, struct client_load **load,
    const char **limit, struct detail *detail)
{
    pthread_mutex_lock(&loads->mutex);
    *load = find(loads, client, now_us);
    const enum err e = begin(*load, limits, body_bytes, now_us, limit, detail);
    pthread_mutex_unlock(&loads->mutex);
    return e;
}

void client_loads_end(struct client_loads *loads, struct client_load *load)
{
    pthread_mutex_lock(&loads->mutex);
    load->in_flight--;
    pthread_mutex_unlock(&loads->mutex);
}

bool client_loads_begin_wait(struct client_loads *loads, struct client_load *load, uint32_t most)
{
    pthread_mutex_lock(&loads->mutex);
    const bool may = load->waits < most;
    load->waits += may;
    pthread_mutex_unlock(&loads->mutex);
    return may;
}

void client_loads_end_wait(struct client_loads *loads, struct client_load *load)
{
    pthread_mutex_lock(&loads->mutex);
    load->waits--;
    pthread_mutex_unlock(&loads->mutex);
}
