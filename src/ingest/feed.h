/* Where ledgers come from: Stellar RPC, or a test. */
#ifndef FAIRWAY_INGEST_FEED_H
#define FAIRWAY_INGEST_FEED_H

#include "ingest/ingest.h"
#include "rpc/rpc.h"

struct feed {
    /* As rpc_ledgers. */
    enum err (*ledgers)(
        void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
    void *source;
};

/* Requests that are made when the tip is known to be further away are for so many ledgers at most: each may
 * have megabytes. */
#define FEED_LIMIT_BEHIND 10

/* ingest_start with a feed of the caller's, called from the ingest thread only. */
MUST_CHECK enum err ingest_start_from(const struct ingest_settings *settings, const struct feed *feed,
    struct ingest **out, struct detail *detail);

#endif
