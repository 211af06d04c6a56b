/* Where ledgers, and what is asked about a gap in them, come from: Stellar RPC, or a test. */
#ifndef FAIRWAY_INGEST_FEED_H
#define FAIRWAY_INGEST_FEED_H

#include "ingest/ingest.h"
#include "rpc/rpc.h"

/* Each as the function of rpc.h that has its name. */
struct feed {
    enum err (*ledgers)(
        void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
    enum err (*network)(void *source, struct rpc_network *out, struct detail *detail);
    enum err (*accounts)(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
        uint32_t *ledger, struct detail *detail);
    enum err (*frozen)(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);
    enum err (*transaction)(
        void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail);
    void *source;
};

/* rpc is borrowed. */
struct feed feed_of_rpc(struct rpc *rpc);

/* Requests that are made when the tip is known to be further away are for so many ledgers at most: each may
 * have megabytes. */
#define FEED_LIMIT_BEHIND 10

/* ingest_start with a feed of the caller's. It is called from the ingest thread; accounts also from another
 * one, for the distribution account's balance. */
MUST_CHECK enum err ingest_start_from(const struct ingest_settings *settings, const struct feed *feed,
    struct ingest **out, struct detail *detail);

#endif
