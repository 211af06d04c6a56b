/* The RPCs of RPC_URL, at the start of a command. */
#ifndef FAIRWAY_RPCS_H
#define FAIRWAY_RPCS_H

#include <stdint.h>

#include "base/err.h"

/*
 * Checks the URL, and that each RPC is of the network with this passphrase; ERR_CONFIG if one is not. Retries
 * until deadline_ms (clock_ms) while none of them answers. One that does not answer is only logged while
 * another does: ingestion compares what it says later (ingest/witness.h).
 */
MUST_CHECK enum err rpcs_check(
    const char *url, const char *passphrase, int64_t deadline_ms, struct detail *detail);

#endif
