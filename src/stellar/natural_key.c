/* Reads what authorization entries authorize. Neither their signatures nor their limits are judged here. */
#include "stellar/natural_key.h"

#include "base/mem.h"
#include "operation.h"
#include "stellar/policy.h"

#define NONCE_SIZE 8

/* Appends address and nonce, with which each kind of credentials by address begins. */
static enum err add_credentials(struct bytes credentials, struct buf *out)
{
    struct xdr_reader in = xdr_reader(credentials);
    uint8_t nonce[NONCE_SIZE];
    uint32_t kind;
    enum err e = xdr_u32(&in, &kind);
    const uint8_t *const from = in.at;
    if (e != ERR_OK || (e = xdr_take(&in, XDR_ScAddress, NULL)) != ERR_OK ||
        (e = xdr_opaque(&in, nonce, sizeof nonce)) != ERR_OK)
        return e;
    buf_add(out, from, (size_t)(in.at - from));
    return ERR_OK;
}

static enum err add_call(const struct operation *operation, void *context)
{
    struct buf *out = context;
    struct xdr_reader in = xdr_reader(operation->span);
    struct operation head;
    struct bytes function, credentials, invocation;
    uint32_t count;
    enum err e;
    if ((e = operation_head_read(&in, &head)) != ERR_OK ||
        (e = xdr_take(&in, XDR_HostFunction, &function)) != ERR_OK ||
        (e = xdr_count(&in, UINT32_MAX, &count)) != ERR_OK)
        return e;
    buf_add_bytes(out, function);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        if ((e = xdr_take(&in, XDR_SorobanCredentials, &credentials)) != ERR_OK ||
            (e = xdr_take(&in, XDR_SorobanAuthorizedInvocation, &invocation)) != ERR_OK ||
            (e = add_credentials(credentials, out)) != ERR_OK)
            return e;
        buf_add_bytes(out, invocation);
    }
    return e;
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
