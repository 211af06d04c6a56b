/* The steps of a start (startup.h) that need the database, the RPC or the key process. */
#ifndef FAIRWAY_STARTING_H
#define FAIRWAY_STARTING_H

#include "startup.h"

/* A start on its way. A step may run more than once: what an earlier try has done is found or done again.
 */
struct starting {
    const struct config *config;
    struct startup *out;
    int64_t deadline_ms;
    unsigned needs;             /* of enum startup_needs */
    char *bound;                /* the network that the database is bound to; NULL: none yet */
    char *asked;                /* the network that the RPC serves; NULL: no RPC_URL */
    struct public_key expected; /* the distribution account as configured */
    bool ring_loaded;           /* keyd takes its keys once */
    bool is_new;                /* the current master key was in no row then */
    struct master_key_row current;
};

void starting_free(struct starting *starting);

/* Connects, and has configuration, database and RPC agree on the network. Each part is waited for
 * (patience.h). */
MUST_CHECK enum err starting_connect(struct starting *starting, struct detail *detail);

/* Has keyd take its keys, and binds the database to the network and the distribution account. Waits as well.
 */
MUST_CHECK enum err starting_load_keys(struct starting *starting, struct detail *detail);

#endif
