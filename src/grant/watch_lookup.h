/* Reading what is known of many leases in one query. */
#ifndef FAIRWAY_GRANT_WATCH_LOOKUP_H
#define FAIRWAY_GRANT_WATCH_LOOKUP_H

#include "grant/watch.h"

/* One hash to look up, copied from a ticket: the ticket itself may be answered meanwhile. */
struct watch_lookup_item {
    uint64_t number; /* of the ticket */
    struct hash hash;
    char client[CLIENT_SIZE];
    bool found; /* by watch_lookup_read: this client has a lease or fee bump with this hash */
    struct lease_status status;
};

/* Sets found and status of each item. Blocks for at most timeout_ms. */
MUST_CHECK enum err watch_lookup_read(
    struct db *db, struct watch_lookup_item items[], size_t count, int timeout_ms, struct detail *detail);

#endif
