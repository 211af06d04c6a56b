/* Reads authorization entries. Which of them may be, policy.c says. No signature is verified. */
#include "stellar/authorization.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "soroban.h"
#include "stellar/strkey.h"
#include "xdr/xdr.h"

#define NONCE_SIZE 8

enum {
    SCV_VOID = 1, /* SCValType */
    SCV_LEDGER_KEY_NONCE = 21,
    LEDGER_ENTRY_CONTRACT_DATA = 6, /* LedgerEntryType */
    DURABILITY_TEMPORARY = 0,
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

static enum err found_function(struct bytes span, void *context)
{
    struct authorization *out = context;
    out->function = sha256(span);
    return ERR_OK;
}

static void add_entry(struct authorization *out, struct bytes key, uint32_t expires, struct bytes invocation)
{
    const struct bytes content[] = {key, invocation};
    if ((out->count & (out->count - 1)) == 0)
        out->entries = mem_grow(out->entries, 2 * out->count + 1, sizeof out->entries[0]);
    out->entries[out->count++] = (struct authorization_entry){
        .key = key, .expires_ledger = expires, .content = sha256_parts(content, ARRAY_LEN(content))};
}

static enum err found_entry(struct bytes span, void *context)
{
    struct authorization *out = context;
    struct xdr_reader after = xdr_reader(span), in = xdr_reader(xdr_take(&after, XDR_SorobanCredentials));
    const uint32_t kind = xdr_u32(&in);
    if (kind == SOROBAN_CREDENTIALS_SOURCE_ACCOUNT)
        return in.e;
    const struct bytes address = xdr_take(&in, XDR_ScAddress);
    xdr_i64(&in); /* the nonce */
    const uint32_t expires = xdr_u32(&in);
    const struct bytes signature = xdr_take(&in, XDR_ScVal);
    const uint32_t delegates = kind == SOROBAN_CREDENTIALS_WITH_DELEGATES ? xdr_u32(&in) : 0;
    if (in.e != ERR_OK)
        return in.e;
    note_signature(out, address, signature, delegates);
    add_entry(out, (struct bytes){address.data, address.len + NONCE_SIZE}, expires,
        (struct bytes){after.at, (size_t)(after.end - after.at)});
    return ERR_OK;
}

static enum err found_delegate(struct bytes span, void *context)
{
    struct xdr_reader in = xdr_reader(span);
    const struct bytes address = xdr_take(&in, XDR_ScAddress), signature = xdr_take(&in, XDR_ScVal);
    const uint32_t nested = xdr_u32(&in);
    if (in.e == ERR_OK)
        note_signature(context, address, signature, nested);
    return in.e;
}

static enum err read_entries(const struct operation *operation, void *context)
{
    const struct xdr_search searches[] = {{XDR_HostFunction, found_function, context},
        {XDR_SorobanAuthorizationEntry, found_entry, context},
        {XDR_SorobanDelegateSignature, found_delegate, context}};
    struct xdr_reader in = xdr_reader(operation->span);
    return xdr_search(&in, XDR_Operation, searches, ARRAY_LEN(searches));
}

static void set_expiry(struct authorization *out)
{
    out->expires_ledger = UINT32_MAX;
    for (size_t i = 0; i < out->count; i++)
        if (out->entries[i].expires_ledger < out->expires_ledger)
            out->expires_ledger = out->entries[i].expires_ledger;
}

/* Of copies that differ in when they expire, the network may use the one that is valid for longest. */
static void sort_entries(struct authorization *out)
{
    size_t kept = 0;
    if (out->count > 1)
        qsort(out->entries, out->count, sizeof out->entries[0], hash_compare);
    for (size_t i = 0; i < out->count; i++) {
        struct authorization_entry *last = kept > 0 ? &out->entries[kept - 1] : NULL;
        if (last == NULL || !hash_equal(&last->content, &out->entries[i].content))
            out->entries[kept++] = out->entries[i];
        else if (out->entries[i].expires_ledger > last->expires_ledger)
            last->expires_ledger = out->entries[i].expires_ledger;
    }
    out->count = kept;
    set_expiry(out);
}

enum err authorization_read(const struct envelope *envelope, struct authorization *out)
{
    *out = (struct authorization){0};
    enum err e = operation_each(envelope->operations, read_entries, out);
    sort_entries(out);
    return e;
}

void authorization_free(struct authorization *authorization)
{
    free(authorization->entries);
    *authorization = (struct authorization){0};
}

/* A LedgerKey of temporary contract data, whose key is LEDGER_KEY_NONCE. */
static bool is_nonce(struct bytes ledger_key, struct bytes key)
{
    const uint8_t *at = ledger_key.data, *nonce = key.data + key.len - NONCE_SIZE;
    const size_t address = key.len - NONCE_SIZE;
    return ledger_key.len == key.len + 12 && be32_get(at) == LEDGER_ENTRY_CONTRACT_DATA &&
           memcmp(at + 4, key.data, address) == 0 && be32_get(at + 4 + address) == SCV_LEDGER_KEY_NONCE &&
           memcmp(at + 8 + address, nonce, NONCE_SIZE) == 0 &&
           be32_get(at + ledger_key.len - 4) == DURABILITY_TEMPORARY;
}

enum err authorization_keep_consumed(struct authorization *authorization, const struct envelope *envelope)
{
    const uint8_t *ext = envelope->operations.data + envelope->operations.len,
                  *end = envelope->tail.data + envelope->tail.len;
    struct xdr_reader in = xdr_reader((struct bytes){ext + 4, (size_t)(end - ext) - 4});
    uint32_t read_only;
    size_t kept = 0;
    xdr_take(&in, XDR_SorobanTransactionDataExt);
    xdr_take_array(&in, XDR_LedgerKey, UINT32_MAX, &read_only);
    for (uint32_t count = xdr_u32(&in); in.e == ERR_OK && count > 0; count--) {
        const struct bytes ledger_key = xdr_take(&in, XDR_LedgerKey);
        for (size_t i = 0; i < authorization->count; i++)
            authorization->entries[i].consumed |= is_nonce(ledger_key, authorization->entries[i].key);
    }
    if (in.e != ERR_OK)
        return in.e;
    for (size_t i = 0; i < authorization->count; i++)
        if (authorization->entries[i].consumed)
            authorization->entries[kept++] = authorization->entries[i];
    authorization->count = kept;
    set_expiry(authorization);
    return ERR_OK;
}

struct hash authorization_digest(const struct authorization *authorization, const bool counts[])
{
    struct buf call CLEANUP(buf_free) = {0};
    buf_add_bytes(&call, BYTES_OF(authorization->function.bytes));
    for (size_t i = 0; i < authorization->count; i++)
        if (counts == NULL || counts[i])
            buf_add_bytes(&call, BYTES_OF(authorization->entries[i].content.bytes));
    return sha256(buf_bytes(&call));
}

void authorization_address(struct bytes address, char out[static AUTHORIZATION_ADDRESS_SIZE])
{
    struct public_key account;
    bool is_account;
    out[0] = '\0';
    if (soroban_address_account(address, &is_account, &account) != ERR_OK)
        return;
    if (is_account)
        address_encode(&account, out);
    else if (be32_get(address.data) == SC_ADDRESS_CONTRACT)
        strkey_encode(STRKEY_CONTRACT, address.data + 4, out);
}
