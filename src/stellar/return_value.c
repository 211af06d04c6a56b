/* Finds what a contract returned, and proves it by the result. What does not prove itself is never returned.
 */
#include "stellar/return_value.h"

#include <string.h>

#include "stellar/ids.h"
#include "xdr/xdr.h"

/* The parts of an InvokeHostFunctionSuccessPreImage: spans of the metadata. */
struct pre_image {
    struct bytes value, events; /* an SCVal, and the array of events with its count */
};

static struct bytes span_from(const uint8_t *start, const struct xdr_reader *in)
{
    return (struct bytes){start, (size_t)(in->at - start)};
}

static enum err take_array(struct xdr_reader *in, enum xdr_type element, struct bytes *span)
{
    const uint8_t *start = in->at;
    uint32_t count;
    enum err e = xdr_count(in, UINT32_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++)
        e = xdr_take(in, element, NULL);
    *span = span_from(start, in);
    return e;
}

/* Advances past an option's flag; ERR_XDR_INVALID: it is empty. */
static enum err enter_option(struct xdr_reader *in)
{
    uint32_t present;
    enum err e = xdr_count(in, 1, &present);
    return e == ERR_OK && present == 0 ? ERR_XDR_INVALID : e;
}

/* Reads the end of TransactionMetaV3: an option of SorobanTransactionMeta. */
static enum err read_v3(struct xdr_reader *in, struct pre_image *out)
{
    enum err e;
    if ((e = enter_option(in)) != ERR_OK ||
        (e = xdr_take(in, XDR_SorobanTransactionMetaExt, NULL)) != ERR_OK ||
        (e = take_array(in, XDR_ContractEvent, &out->events)) != ERR_OK)
        return e;
    return xdr_take(in, XDR_ScVal, &out->value);
}

/* The same for V4, which has the events in the OperationMetaV2 of the one operation (CAP-67). */
static enum err read_v4(struct xdr_reader *in, struct bytes operations, struct pre_image *out)
{
    struct xdr_reader operation = xdr_reader(operations);
    uint32_t count;
    enum err e;
    if ((e = xdr_count(&operation, 1, &count)) != ERR_OK ||
        (e = xdr_take(&operation, XDR_ExtensionPoint, NULL)) != ERR_OK ||
        (e = xdr_take(&operation, XDR_LedgerEntryChanges, NULL)) != ERR_OK ||
        (e = take_array(&operation, XDR_ContractEvent, &out->events)) != ERR_OK ||
        (e = enter_option(in)) != ERR_OK ||
        (e = xdr_take(in, XDR_SorobanTransactionMetaExt, NULL)) != ERR_OK || (e = enter_option(in)) != ERR_OK)
        return e;
    return xdr_take(in, XDR_ScVal, &out->value);
}

static enum err read_meta(struct bytes meta, struct pre_image *out)
{
    struct xdr_reader in = xdr_reader(meta);
    struct bytes operations;
    uint32_t version;
    enum err e = xdr_u32(&in, &version);
    if (e == ERR_OK && version != 3 && version != 4)
        e = ERR_XDR_UNKNOWN_ARM;
    if (e != ERR_OK || (e = xdr_take(&in, XDR_ExtensionPoint, NULL)) != ERR_OK ||
        (e = xdr_take(&in, XDR_LedgerEntryChanges, NULL)) != ERR_OK ||
        (e = take_array(&in, version == 3 ? XDR_OperationMeta : XDR_OperationMetaV2, &operations)) !=
            ERR_OK ||
        (e = xdr_take(&in, XDR_LedgerEntryChanges, NULL)) != ERR_OK)
        return e;
    return version == 3 ? read_v3(&in, out) : read_v4(&in, operations, out);
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
    struct xdr_reader in = xdr_reader(result);
    struct bytes hash = {0};
    struct pre_image image;
    if (xdr_each(&in, XDR_TransactionResult, XDR_InvokeHostFunctionResult, note_hash, &hash) != ERR_OK ||
        hash.len == 0 || read_meta(meta, &image) != ERR_OK)
        return (struct bytes){0};
    const struct bytes parts[] = {image.value, image.events};
    const struct hash computed = sha256_parts(parts, 2);
    return memcmp(hash.data, computed.bytes, hash.len) == 0 ? image.value : (struct bytes){0};
}
