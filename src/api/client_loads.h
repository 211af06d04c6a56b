/*
 * What each client uses of this process at the moment: its requests in progress, those of them that wait for
 * a ledger, and its rate. All of it is in memory, and counted by each replica for itself. Functions may be
 * called from any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "limits/limits.h"

/* One client's. */
struct client_load;

struct client_loads {
    pthread_mutex_t mutex;
    struct client_load *list; /* in no order; one that is not used any more serves the next client */
};

/* For requestsPerSecond, a request counts once, and once more for each so many bytes of its body. */
#define CLIENT_LOAD_BODY_BYTES 4096

void client_loads_init(struct client_loads *loads);
void client_loads_free(struct client_loads *loads);

/*
 * A request of the client begins: sets *load for client_loads_end. Returns LIMIT_NONE, or the limit that
 * refuses it, LIMIT_REQUESTS_IN_FLIGHT or LIMIT_REQUESTS_PER_SECOND (on average; after a pause as many at
 * once as in a second). Then *retry_after_s is when it would be let in; it is not counted and must not be
 * ended.
 */
MUST_CHECK enum limit client_loads_begin(struct client_loads *loads, const char *client,
    const struct limits *limits, uint64_t body_bytes, int64_t now_us, struct client_load **load,
    int *retry_after_s);
void client_loads_end(struct client_loads *loads, struct client_load *load);
/* For engine_submit, by which clients take turns. */
uint64_t *client_load_had(struct client_load *load);

/*
 * A simulation of the client's begins. One that has a request refused counts CLIENT_LOAD_FAILED times for
 * requestsPerSecond. Without that limit a client that has others beside it may have CLIENT_LOAD_FAILED_MAX of
 * these a second, or one while RPCs refuse some (scarce), with no other one in progress: above that
 * LIMIT_REQUESTS_PER_SECOND is returned for at most CLIENT_LOAD_FAILED_S seconds, else LIMIT_NONE.
 */
#define CLIENT_LOAD_FAILED 10
#define CLIENT_LOAD_FAILED_MAX 5
#define CLIENT_LOAD_FAILED_S 10
MUST_CHECK enum limit client_loads_begin_simulation(struct client_loads *loads, struct client_load *load,
    const struct limits *limits, bool others, bool scarce, int64_t now_us);
void client_loads_end_simulation(struct client_loads *loads, struct client_load *load,
    const struct limits *limits, bool failed, bool scarce, int64_t now_us);

/* A request that has begun waits for a ledger: LIMIT_NONE, or LIMIT_WAITS when it may not. */
MUST_CHECK enum limit client_loads_begin_wait(
    struct client_loads *loads, struct client_load *load, const struct limits *limits);
void client_loads_end_wait(struct client_loads *loads, struct client_load *load);
