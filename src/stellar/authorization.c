/* Reads authorization entries. Which of them may be, policy.c says. No signature is verified. */
#include "stellar/authorization.h"

#include <string.h>

#include "base/mem.h"
#include "soroban.h"
#include "stellar/strkey.h"
#include "xdr/xdr.h"

#define NONCE_SIZE 8

enum {
    SCV_VOID = 1 /* SCValType */
};

static void note_signature(
    struct authorization *out, struct bytes address, struct bytes signature, uint32_t delegates)
{
    if (be32_get(signature.data) != SCV_VOID || delegates != 0)
        return;
    if (out->unsigned_count < AUTHORIZATION_UNSIGNED_MAX)
        out->unsigned_addresses[out->unsigned_count] = address;
    out->unsigned_count++;
}

static enum err found_credentials(struct bytes span, void *context)
{
    struct authorization *out = context;
    struct xdr_reader in = xdr_reader(span);
    struct bytes address, signature;
    uint32_t kind, expires, delegates = 0;
    int64_t nonce;
    enum err e = xdr_u32(&in, &kind);
    if (e != ERR_OK || kind == SOROBAN_CREDENTIALS_SOURCE_ACCOUNT)
        return e;
    if ((e = xdr_take(&in, XDR_ScAddress, &address)) != ERR_OK || (e = xdr_i64(&in, &nonce)) != ERR_OK ||
        (e = xdr_u32(&in, &expires)) != ERR_OK || (e = xdr_take(&in, XDR_ScVal, &signature)) != ERR_OK ||
        (kind == SOROBAN_CREDENTIALS_WITH_DELEGATES && (e = xdr_u32(&in, &delegates)) != ERR_OK))
        return e;
    if (expires < out->expires_ledger)
        out->expires_ledger = expires;
    note_signature(out, address, signature, delegates);
    return ERR_OK;
}

static enum err found_delegate(struct bytes span, void *context)
{
    struct xdr_reader in = xdr_reader(span);
    struct bytes address, signature;
    uint32_t nested;
    enum err e;
    if ((e = xdr_take(&in, XDR_ScAddress, &address)) != ERR_OK ||
        (e = xdr_take(&in, XDR_ScVal, &signature)) != ERR_OK || (e = xdr_u32(&in, &nested)) != ERR_OK)
        return e;
    note_signature(context, address, signature, nested);
    return ERR_OK;
}

static enum err read_entries(const struct operation *operation, void *context)
{
    const struct xdr_search searches[] = {{XDR_SorobanCredentials, found_credentials, context},
        {XDR_SorobanDelegateSignature, found_delegate, context}};
    struct xdr_reader in = xdr_reader(operation->span);
    return xdr_search(&in, XDR_Operation, searches, 2);
}

enum err authorization_read(const struct envelope *envelope, struct authorization *out)
{
    *out = (struct authorization){.expires_ledger = UINT32_MAX};
    return operation_each(envelope->operations, read_entries, out);
}

void authorization_address(struct bytes address, char out[static AUTHORIZATION_ADDRESS_SIZE])
{
    struct public_key account;
    bool is_account;
    out[0] = '\0';
    if (soroban_address_account(address, &is_account, &account, NULL) != ERR_OK)
        return;
    if (is_account)
        address_encode(&account, out);
    else if (be32_get(address.data) == SC_ADDRESS_CONTRACT)
        strkey_encode(STRKEY_CONTRACT, address.data + 4, 32, out);
}

/* ---- what the entries authorize */

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

bool authorization_natural_key(
    const struct network_id *network, const struct envelope *envelope, struct hash *out)
{
    struct buf call CLEANUP(buf_free) = {0};
    if (envelope->operation_count != 1 || !policy_invokes_for_entries(envelope) ||
        operation_each(envelope->operations, add_call, &call) != ERR_OK)
        return false;
    const struct bytes parts[] = {BYTES_OF(network->bytes), buf_bytes(&call)};
    *out = sha256_parts(parts, 2);
    return true;
}
