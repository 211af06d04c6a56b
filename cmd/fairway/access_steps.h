/* The steps of pool_access.h that use the database, the RPC or the key process. */
#ifndef FAIRWAY_ACCESS_STEPS_H
#define FAIRWAY_ACCESS_STEPS_H

#include "pool_access.h"

/* What the steps share. A step may run again after an error: it repeats an earlier try, or continues from it.
 */
struct access_steps {
    const struct config *config;
    struct pool_access *out;
    int64_t deadline_ms;
    bool keys_loaded; /* keyd accepts its keys only once */
    bool is_new;      /* the table had no row of the current master key when keys were loaded */
    struct master_key_row current;
};

/* Connects to the database, and checks that the RPCs are of the network. Retries (retry.h). */
MUST_CHECK enum err access_steps_connect(struct access_steps *steps, struct detail *detail);

/* Has keyd load its keys, and binds the database to the network and the distribution account. Retries. */
MUST_CHECK enum err access_steps_load_keys(struct access_steps *steps, struct detail *detail);

#endif
