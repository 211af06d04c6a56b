/*
 * What each client uses of this process at the moment: its requests in progress, those of them that wait for
 * a ledger, and its rate. All of it is in memory, and counted by each replica for itself. Functions may be
 * called from any thread.
 */
#ifndef FAIRWAY_API_CLIENT_LOADS_H
#define FAIRWAY_API_CLIENT_LOADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* One client's. */
struct client_load;

struct client_loads {
    pthread_mutex_t mutex;
    struct client_load *list; /* in no order; one that is not used any more serves the next client */
};

/* 0: no limit. */
struct client_load_limits {
    uint32_t in_flight;  /* requests in progress at once */
    uint32_t per_second; /* on average; after a pause as many at once as in a second */
};

/* For the rate, a request counts once, and once more for each so many bytes of its body. */
#define CLIENT_LOAD_BODY_BYTES 4096

void client_loads_init(struct client_loads *loads);
void client_loads_free(struct client_loads *loads);

/*
 * A request of the client begins: sets *load for client_loads_end. ERR_LIMIT_EXCEEDED, with the limit's name
 * and detail: it is above a limit. It is not counted then and must not be ended.
 */
MUST_CHECK enum err client_loads_begin(struct client_loads *loads, const char *client,
    const struct client_load_limits *limits, uint64_t body_bytes, int64_t now_us, struct client_load **load,
    const char **limit, struct detail *detail);
void client_loads_end(struct client_loads *loads, struct client_load *load);

/* A request that has begun waits for a ledger, unless `most` of its client's wait already. */
bool client_loads_begin_wait(struct client_loads *loads, struct client_load *load, uint32_t most);
void client_loads_end_wait(struct client_loads *loads, struct client_load *load);

#endif
