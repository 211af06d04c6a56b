/* Finds what a contract returned, and proves it by the result. What does not prove itself is never returned.
 */
#include "stellar/return_value.h"

#include <string.h>

#include "base/mem.h"
#include "stellar/ids.h"
#include "xdr/xdr.h"

/* The parts of an InvokeHostFunctionSuccessPreImage: spans of the metadata. */
struct pre_image {
    struct bytes value, events; /* an SCVal, and the array of events with its count */
};

/* V3 has both in SorobanTransactionMeta. */
static enum err found_v3(struct bytes found, void *image)
{
    struct pre_image *const out = image;
    struct xdr_reader in = xdr_reader(found);
    uint32_t events;
    enum err e;
    if ((e = xdr_take(&in, XDR_SorobanTransactionMetaExt, NULL)) != ERR_OK ||
        (e = xdr_take_array(&in, XDR_ContractEvent, UINT32_MAX, &events, &out->events)) != ERR_OK)
        return e;
    return xdr_take(&in, XDR_ScVal, &out->value);
}

/* V4 has the events in the OperationMetaV2 of the one operation (CAP-67), and the value as an option. */
static enum err found_v4_operation(struct bytes found, void *image)
{
    struct pre_image *const out = image;
    struct xdr_reader in = xdr_reader(found);
    uint32_t events;
    enum err e;
    if ((e = xdr_take(&in, XDR_ExtensionPoint, NULL)) != ERR_OK ||
        (e = xdr_take(&in, XDR_LedgerEntryChanges, NULL)) != ERR_OK)
        return e;
    return xdr_take_array(&in, XDR_ContractEvent, UINT32_MAX, &events, &out->events);
}

static enum err found_v4(struct bytes found, void *image)
{
    struct xdr_reader in = xdr_reader(found);
    uint32_t present;
    enum err e;
    if ((e = xdr_take(&in, XDR_SorobanTransactionMetaExt, NULL)) != ERR_OK ||
        (e = xdr_count(&in, 1, &present)) != ERR_OK || present == 0)
        return e;
    return xdr_take(&in, XDR_ScVal, &((struct pre_image *)image)->value);
}

/* The walker has found an InvokeHostFunctionResult: its code, and after success (0) the hash. */
static enum err note_hash(struct bytes found, void *context)
{
    if (found.len == 4 + sizeof(struct hash))
        *(struct bytes *)context = (struct bytes){found.data + 4, sizeof(struct hash)};
    return ERR_OK;
}

struct bytes return_value(struct bytes result, struct bytes meta)
{
    struct xdr_reader in = xdr_reader(result), meta_in = xdr_reader(meta);
    struct bytes hash = {0};
    struct pre_image image = {0};
    const struct xdr_search searches[] = {{XDR_SorobanTransactionMeta, found_v3, &image},
        {XDR_OperationMetaV2, found_v4_operation, &image}, {XDR_SorobanTransactionMetaV2, found_v4, &image}};
    if (xdr_each(&in, XDR_TransactionResult, XDR_InvokeHostFunctionResult, note_hash, &hash) != ERR_OK ||
        xdr_search(&meta_in, XDR_TransactionMeta, searches, ARRAY_LEN(searches)) != ERR_OK || hash.len == 0 ||
        image.value.len == 0)
        return (struct bytes){0};
    const struct bytes parts[] = {image.value, image.events};
    const struct hash computed = sha256_parts(parts, 2);
    return memcmp(hash.data, computed.bytes, hash.len) == 0 ? image.value : (struct bytes){0};
}
