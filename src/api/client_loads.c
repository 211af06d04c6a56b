/* Counts what each client uses of this process. No limit is known here but by the caller's struct, and
 * nothing is refused in words. */
#include "client_loads.h"

#include <stdio.h>
#include <stdlib.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/text.h"

#define SECOND_US INT64_C(1000000)

struct client_load {
    char name[AUTH_NAME_SIZE];
    uint32_t in_flight, waits, simulations;
    int64_t busy_until_us;   /* when, at its rate, all its requests so far would be over */
    int64_t failed_until_us; /* the same of failed simulations, at CLIENT_LOAD_FAILED_MAX a second */
    uint64_t had;            /* leases: the engine's */
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
        if (load->in_flight == 0 && load->busy_until_us <= now_us && load->failed_until_us <= now_us)
            unused = load;
    }
    if (unused == NULL) {
        unused = NEW(struct client_load);
        unused->next = loads->list;
        loads->list = unused;
    }
    snprintf(unused->name, sizeof unused->name, "%s", client);
    unused->had = 0;
    return unused;
}

/* A request is let in when those before it, at the client's rate, leave room for one more in the next second.
 * So one with a large body is let in too, and the next ones wait for it. Returns 0, or after how many
 * microseconds it would be let in. The mutex is held. */
static int64_t take_time(struct client_load *load, int64_t rate, uint64_t body_bytes, int64_t now_us)
{
    const int64_t cost = 1 + (int64_t)(body_bytes / CLIENT_LOAD_BODY_BYTES);
    const int64_t begin_us = load->busy_until_us > now_us ? load->busy_until_us : now_us;
    if (rate == 0)
        return 0;
    const int64_t early_us = begin_us - now_us - (SECOND_US - SECOND_US / rate);
    if (early_us > 0)
        return early_us;
    load->busy_until_us = begin_us + cost * SECOND_US / rate;
    return 0;
}

enum limit client_loads_begin(struct client_loads *loads, const char *client, const struct limits *limits,
    uint64_t body_bytes, int64_t now_us, struct client_load **load, int *retry_after_s)
{
    const int64_t in_flight = limits->most[LIMIT_REQUESTS_IN_FLIGHT];
    enum limit limit = LIMIT_NONE;
    int64_t wait_us = SECOND_US;
    pthread_mutex_lock(&loads->mutex);
    *load = find(loads, client, now_us);
    if (in_flight > 0 && (*load)->in_flight >= in_flight)
        limit = LIMIT_REQUESTS_IN_FLIGHT;
    else if ((wait_us = take_time(*load, limits->most[LIMIT_REQUESTS_PER_SECOND], body_bytes, now_us)) > 0)
        limit = LIMIT_REQUESTS_PER_SECOND;
    else
        (*load)->in_flight++;
    pthread_mutex_unlock(&loads->mutex);
    *retry_after_s = (int)((wait_us + SECOND_US - 1) / SECOND_US);
    return limit;
}

void client_loads_end(struct client_loads *loads, struct client_load *load)
{
    pthread_mutex_lock(&loads->mutex);
    load->in_flight--;
    pthread_mutex_unlock(&loads->mutex);
}

uint64_t *client_load_had(struct client_load *load)
{
    return &load->had;
}

/* While simulations are scarce, those in progress of a client that has failed may fail too. */
enum limit client_loads_begin_simulation(struct client_loads *loads, struct client_load *load,
    const struct limits *limits, bool others, bool scarce, int64_t now_us)
{
    const bool limited = others && limits->most[LIMIT_REQUESTS_PER_SECOND] == 0; /* else begin let it in */
    pthread_mutex_lock(&loads->mutex);
    const int64_t failed_us = load->failed_until_us - now_us;
    const bool may =
        !limited || failed_us <= 0 ||
        (failed_us <= SECOND_US - SECOND_US / CLIENT_LOAD_FAILED_MAX && (!scarce || load->simulations == 0));
    load->simulations += may;
    pthread_mutex_unlock(&loads->mutex);
    return may ? LIMIT_NONE : LIMIT_REQUESTS_PER_SECOND;
}

void client_loads_end_simulation(struct client_loads *loads, struct client_load *load,
    const struct limits *limits, bool failed, bool scarce, int64_t now_us)
{
    const int64_t rate = limits->most[LIMIT_REQUESTS_PER_SECOND];
    int64_t *until_us = rate > 0 ? &load->busy_until_us : &load->failed_until_us;
    const int64_t cost_us = rate > 0 ? (CLIENT_LOAD_FAILED - 1) * SECOND_US / rate
                                     : SECOND_US / (scarce ? 1 : CLIENT_LOAD_FAILED_MAX);
    pthread_mutex_lock(&loads->mutex);
    load->simulations--;
    if (failed) {
        *until_us = (*until_us > now_us ? *until_us : now_us) + cost_us;
        if (*until_us > now_us + CLIENT_LOAD_FAILED_S * SECOND_US) /* many that failed at once */
            *until_us = now_us + CLIENT_LOAD_FAILED_S * SECOND_US;
    }
    pthread_mutex_unlock(&loads->mutex);
}

enum limit client_loads_begin_wait(
    struct client_loads *loads, struct client_load *load, const struct limits *limits)
{
    const int64_t most = limits->most[LIMIT_WAITS];
    pthread_mutex_lock(&loads->mutex);
    const bool may = most == 0 || load->waits < most;
    load->waits += may;
    pthread_mutex_unlock(&loads->mutex);
    return may ? LIMIT_NONE : LIMIT_WAITS;
}

void client_loads_end_wait(struct client_loads *loads, struct client_load *load)
{
    pthread_mutex_lock(&loads->mutex);
    load->waits--;
    pthread_mutex_unlock(&loads->mutex);
}
