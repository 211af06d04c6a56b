/*
 * The source of ledgers, and of what is read to recover from a gap: Stellar RPC, or a test. The ingest thread
 * calls it; the thread of funds_watch.h calls accounts.
 */
#ifndef FAIRWAY_INGEST_FEED_H
#define FAIRWAY_INGEST_FEED_H

#include "pool/settle_evidence.h"
#include "rpc/rpc.h"

/* Each of the first five members has the contract of the function rpc_MEMBER in rpc/rpc.h, but accounts and
 * frozen fail with ERR_RPC_REFUSED instead of ERR_XDR_UNKNOWN_ARM. */
struct feed {
    enum err (*ledgers)(
        void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
    enum err (*network)(void *source, struct rpc_network *out, struct detail *detail);
    enum err (*accounts)(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
        uint32_t *ledger, struct detail *detail);
    enum err (*frozen)(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);
    enum err (*transaction)(
        void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail);
    /* The last ledger does not prove itself: later calls may read from another RPC. NULL: there is none. */
    void (*distrust)(void *source);
    void *source;
};

/* rpc is borrowed. */
struct feed feed_of_rpc(struct rpc *rpc);

/* One answer of accounts. */
struct account_snapshot feed_snapshot(
    const struct public_key *key, const struct rpc_account *answer, uint32_t ledger);

#endif
