/* Finds what a contract returned, and proves it by the result; of a call that failed, what the RPC says why.
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
    xdr_take(&in, XDR_SorobanTransactionMetaExt);
    out->events = xdr_take_array(&in, XDR_ContractEvent, UINT32_MAX, &events);
    out->value = xdr_take(&in, XDR_ScVal);
    return in.e;
}

/* V4 has the events in the OperationMetaV2 of the one operation (CAP-67), and the value as an option. */
static enum err found_v4_operation(struct bytes found, void *image)
{
    struct pre_image *const out = image;
    struct xdr_reader in = xdr_reader(found);
    uint32_t events;
    xdr_take(&in, XDR_ExtensionPoint);
    xdr_take(&in, XDR_LedgerEntryChanges);
    out->events = xdr_take_array(&in, XDR_ContractEvent, UINT32_MAX, &events);
    return in.e;
}

static enum err found_v4(struct bytes found, void *image)
{
    struct pre_image *const out = image;
    struct xdr_reader in = xdr_reader(found);
    xdr_take(&in, XDR_SorobanTransactionMetaExt);
    if (xdr_bool(&in))
        out->value = xdr_take(&in, XDR_ScVal);
    return in.e;
}

/* The walker has found an InvokeHostFunctionResult: its code, and after success (0) the hash. */
static enum err note_result(struct bytes found, void *context)
{
    *(struct bytes *)context = found;
    return ERR_OK;
}

/* An event of an error: inSuccessfulContractCall, ext, contractId, type, body 0, topics, of which the symbol
 * "error" is the first. */
static bool is_error(struct bytes event)
{
    static const uint8_t symbol[] = {0, 0, 0, 15, 0, 0, 0, 5, 'e', 'r', 'r', 'o', 'r'};
    const size_t topics = 4 + 4 + 4 + (be32_get(event.data + 8) == 0 ? 0 : 32) + 4 + 4 + 4;
    return event.len > topics + sizeof symbol && memcmp(event.data + topics, symbol, sizeof symbol) == 0;
}

/* From the first error on, as many as fit; none is skipped in between. */
static enum err found_diagnostic(struct bytes event, void *context)
{
    struct bytes *events = context;
    if (events->len == 0
            ? is_error(event) && event.len <= CALL_FAILURE_MAX
            : event.data == events->data + events->len && events->len + event.len <= CALL_FAILURE_MAX)
        *events = (struct bytes){events->len == 0 ? event.data : events->data, events->len + event.len};
    return ERR_OK;
}

struct bytes return_value(struct bytes result, struct bytes meta)
{
    struct xdr_reader in = xdr_reader(result), meta_in = xdr_reader(meta);
    struct bytes outcome = {0}, failure = {0};
    struct pre_image image = {0};
    const struct xdr_search searches[] = {{XDR_SorobanTransactionMeta, found_v3, &image},
        {XDR_OperationMetaV2, found_v4_operation, &image}, {XDR_SorobanTransactionMetaV2, found_v4, &image},
        {XDR_DiagnosticEvent, found_diagnostic, &failure}};
    if (xdr_each(&in, XDR_TransactionResult, XDR_InvokeHostFunctionResult, note_result, &outcome) != ERR_OK ||
        outcome.len == 0 ||
        xdr_search(&meta_in, XDR_TransactionMeta, searches, ARRAY_LEN(searches)) != ERR_OK)
        return (struct bytes){0};
    if (outcome.len == 4) /* only a code: it failed */
        return failure;
    const struct bytes parts[] = {image.value, image.events};
    const struct hash computed = sha256_parts(parts, 2);
    return image.value.len > 0 && memcmp(outcome.data + 4, computed.bytes, sizeof computed.bytes) == 0
               ? image.value
               : (struct bytes){0};
}

bool return_value_says_nonce(struct bytes log)
{
    static const char nonce[] = "nonce already exists", frame[] = "frame is already authorized";
    return memmem(log.data, log.len, nonce, sizeof nonce - 1) != NULL ||
           memmem(log.data, log.len, frame, sizeof frame - 1) == NULL;
}

/* What the host says when an entry's nonce is stored already: Error(Auth, ExistingValue), an SCVal. */
bool return_value_nonce_used(struct bytes events)
{
    static const uint8_t error[] = {0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4};
    return events.len > 0 && memmem(events.data, events.len, error, sizeof error) != NULL &&
           return_value_says_nonce(events);
}
