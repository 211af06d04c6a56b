/* The key process of a command. */
#ifndef FAIRWAY_KEY_PROCESS_H
#define FAIRWAY_KEY_PROCESS_H

#include "pool_access.h"

/* Starts fairway-keyd with out->limits. Call it before this process opens a socket. ERR_CONFIG: a secret is
 * missing. */
MUST_CHECK enum err key_process_start(
    const struct config *config, enum keyd_mode mode, struct pool_access *out, struct detail *detail);
/* Has it load its keys, and binds the database to the network and the distribution account. Retries until
 * deadline_ms (clock_ms). */
MUST_CHECK enum err key_process_load(struct pool_access *out, int64_t deadline_ms, struct detail *detail);

#endif
