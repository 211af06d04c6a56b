/* sendTransaction and getTransaction. What an answer means, the callers decide. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "field.h"
#include "stellar/result.h"

/* Reads the status, which is one of these names. */
static enum err read_status(const json_t *result, const char *method, const char *const names[], size_t count,
    size_t *out, struct detail *detail)
{
    const char *text;
    enum err e = field_text(result, "status", &text, detail);
    for (*out = 0; e == ERR_OK && *out < count; (*out)++)
        if (strcmp(text, names[*out]) == 0)
            return ERR_OK;
    return e != ERR_OK ? e : detail_set(detail, ERR_RPC_UNAVAILABLE, "%s: unknown status", method);
}

/* Reads the TransactionResult in a member. */
static enum err read_result(
    const json_t *result, const char *member, int32_t *code, struct result_kept *kept, struct detail *detail)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    enum err e = field_xdr(result, member, &xdr, detail);
    if (e == ERR_OK && (e = xdr_check(XDR_TransactionResult, buf_bytes(&xdr))) != ERR_OK)
        e = detail_set(detail, ERR_RPC_UNAVAILABLE, "%s does not decode: %s", member, err_code(e));
    if (e != ERR_OK)
        return e;
    *code = result_code(buf_bytes(&xdr));
    if (xdr.len <= sizeof kept->bytes)
        memcpy(kept->bytes, xdr.data, kept->len = xdr.len);
    return ERR_OK;
}

enum err rpc_send(struct rpc *rpc, struct bytes envelope, struct rpc_sent *out, struct detail *detail)
{
    static const char *const statuses[] = {
        [RPC_SEND_PENDING] = "PENDING",
        [RPC_SEND_DUPLICATE] = "DUPLICATE",
        [RPC_SEND_TRY_AGAIN_LATER] = "TRY_AGAIN_LATER",
        [RPC_SEND_ERROR] = "ERROR",
    };
    size_t status;
    AUTO_JSON json_t *result = NULL;
    *out = (struct rpc_sent){0};
    AUTO_FREE char *base64 = base64_encode(envelope);
    enum err e = call(rpc, "sendTransaction",
        json_pack("{s:s, s:s}", "transaction", base64, "xdrFormat", "base64"), &result, NULL, detail);
    if (e != ERR_OK || (e = read_status(result, "sendTransaction", statuses, ARRAY_LEN(statuses), &status,
                            detail)) != ERR_OK)
        return e;
    out->status = (enum rpc_send_status)status;
    out->name = statuses[status];
    (void)!field_u32(result, "latestLedger", &out->latest_ledger, NULL);
    return out->status == RPC_SEND_ERROR
               ? read_result(result, "errorResultXdr", &out->code, &out->result, detail)
               : ERR_OK;
}

static enum err read_found(const json_t *result, struct rpc_transaction *out, struct detail *detail)
{
    enum err e = field_u32(result, "ledger", &out->ledger, detail);
    if (e == ERR_OK)
        e = read_result(result, "resultXdr", &out->code, &out->result, detail);
    if (e == ERR_OK && (out->status == RPC_TRANSACTION_SUCCESS) != (out->code == 0))
        e = detail_set(
            detail, ERR_RPC_UNAVAILABLE, "getTransaction: status and resultXdr contradict each other");
    return e;
}

enum err rpc_transaction(
    struct rpc *rpc, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    static const char *const statuses[] = {
        [RPC_TRANSACTION_NOT_FOUND] = "NOT_FOUND",
        [RPC_TRANSACTION_SUCCESS] = "SUCCESS",
        [RPC_TRANSACTION_FAILED] = "FAILED",
    };
    size_t status;
    char hex[HASH_HEX_SIZE];
    AUTO_JSON json_t *result = NULL;
    *out = (struct rpc_transaction){0};
    hash_encode(hash, hex);
    enum err e = call(rpc, "getTransaction", json_pack("{s:s, s:s}", "hash", hex, "xdrFormat", "base64"),
        &result, NULL, detail);
    if (e != ERR_OK || (e = field_u32(result, "latestLedger", &out->latest_ledger, detail)) != ERR_OK ||
        (e = read_status(result, "getTransaction", statuses, ARRAY_LEN(statuses), &status, detail)) != ERR_OK)
        return e;
    out->status = (enum rpc_transaction_status)status;
    return out->status == RPC_TRANSACTION_NOT_FOUND ? ERR_OK : read_found(result, out, detail);
}
