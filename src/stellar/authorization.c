/* Reads authorization entries. Which of them may be, policy.c says; what they authorize is not looked at. */
#include "stellar/authorization.h"

#include <string.h>

#include "soroban.h"
#include "stellar/strkey.h"
#include "xdr/xdr.h"

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
    return operation_each(envelope, read_entries, out);
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
