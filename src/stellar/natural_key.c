/* Reads what authorization entries authorize. Neither their signatures nor their limits are judged here. */
#include "stellar/natural_key.h"

#include "base/mem.h"
#include "operation.h"
#include "stellar/policy.h"

#define NONCE_SIZE 8

static enum err add_function(struct bytes function, void *out)
{
    buf_add_bytes(out, function);
    return ERR_OK;
}

/* Appends address and nonce, with which each kind of credentials by address begins, and the invocation. */
static enum err add_entry(struct bytes entry, void *out)
{
    struct xdr_reader in = xdr_reader(entry), head = in;
    uint8_t nonce[NONCE_SIZE];
    uint32_t kind;
    enum err e;
    if ((e = xdr_take(&in, XDR_SorobanCredentials, NULL)) != ERR_OK || (e = xdr_u32(&head, &kind)) != ERR_OK)
        return e;
    const uint8_t *const from = head.at;
    if ((e = xdr_take(&head, XDR_ScAddress, NULL)) != ERR_OK ||
        (e = xdr_opaque(&head, nonce, sizeof nonce)) != ERR_OK)
        return e;
    buf_add(out, from, (size_t)(head.at - from));
    buf_add(out, in.at, (size_t)(in.end - in.at));
    return ERR_OK;
}

static enum err add_call(const struct operation *operation, void *out)
{
    const struct xdr_search parts[] = {
        {XDR_HostFunction, add_function, out}, {XDR_SorobanAuthorizationEntry, add_entry, out}};
    struct xdr_reader in = xdr_reader(operation->span);
    return xdr_search(&in, XDR_Operation, parts, ARRAY_LEN(parts));
}

bool natural_key(const struct network_id *network, const struct envelope *envelope, struct hash *out)
{
    struct buf call CLEANUP(buf_free) = {0};
    if (envelope->operation_count != 1 || !policy_invokes_for_entries(envelope) ||
        operation_each(envelope, add_call, &call) != ERR_OK)
        return false;
    const struct bytes parts[] = {BYTES_OF(network->bytes), buf_bytes(&call)};
    *out = sha256_parts(parts, 2);
    return true;
}
