/*
 * What is read from the network, as functions: whoever calls them does not know whether one RPC answers,
 * several whose answers are compared (rpc/rpcs.h), or a test.
 */
#pragma once

#include "rpc/rpc.h"

/* Each member has the contract of the function rpc_MEMBER in rpc/rpc.h. */
struct feed {
    enum err (*ledgers)(
        void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
    enum err (*network)(void *source, struct rpc_network *out, struct detail *detail);
    enum err (*accounts)(void *source, const struct public_key keys[], size_t count,
        struct account_entry out[], uint32_t *ledger, struct detail *detail);
    enum err (*frozen)(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);
    enum err (*transaction)(
        void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail);
    void *source;
};

/* rpc is borrowed. */
struct feed feed_of_rpc(struct rpc *rpc);
