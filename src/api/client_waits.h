/* How many requests of each client wait for a ledger, in this process. */
#ifndef FAIRWAY_API_CLIENT_WAITS_H
#define FAIRWAY_API_CLIENT_WAITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "auth/auth.h"

struct client_waits {
    pthread_mutex_t mutex;
    struct client_wait {
        char name[AUTH_NAME_SIZE];
        uint32_t count;
    } * list; /* clients that wait, in no order */
    size_t count;
};

void client_waits_init(struct client_waits *waits);
void client_waits_free(struct client_waits *waits);
/* Counts one more wait of the client, unless it has `limit` already. From any thread. */
bool client_waits_take(struct client_waits *waits, const char *name, uint32_t limit);
void client_waits_give(struct client_waits *waits, const char *name);

#endif
