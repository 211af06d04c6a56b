/* One RPC as the source of ledgers and reads. Compares nothing. */
#include "rpc/feed.h"

#include "call.h"

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    return rpc_ledgers(source, start, limit, out, detail);
}

/* Two calls. When they do not block, *out has the first one's answer until the second one's comes. */
static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    enum err e = call_is_of(source, "getVersionInfo") ? ERR_OK : rpc_network(source, out, detail);
    return e == ERR_OK ? rpc_node_protocol(source, &out->node_protocol) : e;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    return rpc_accounts(source, keys, count, out, ledger, detail);
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    return rpc_frozen(source, out, ledger, detail);
}

static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    return rpc_transaction(source, hash, out, detail);
}

struct feed feed_of_rpc(struct rpc *rpc)
{
    return (struct feed){ledgers, network, accounts, frozen, transaction, rpc};
}
