/*
 * Requests that may wait for seconds hold a connection each. So they get shares of the connections, beyond
 * which they are refused at once: waits for a ledger a half, requests for a lease five eighths, both together
 * three quarters. The last quarter is always there for reads and fee bumps.
 */
#ifndef FAIRWAY_API_SLOTS_H
#define FAIRWAY_API_SLOTS_H

#include <stdatomic.h>

#include "base/err.h"

enum slot {
    SLOT_WAIT, /* GET /v1/transactions/{hash}?wait= */
    SLOT_LEASE /* POST /v1/transactions */
};

struct slots {
    unsigned connections; /* of the listener */
    atomic_uint held[2];
};

/* ERR_OVERLOADED: there is none left. From any thread. */
MUST_CHECK enum err slots_take(struct slots *slots, enum slot slot);
/* Before the reply, so that a client that asks again finds what it gave back. */
void slots_give(struct slots *slots, enum slot slot);

#endif
