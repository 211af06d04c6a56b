/* sendTransaction and getTransaction. fairway sends its own provisioning transactions only, never a lease. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "field.h"
#include "xdr/xdr.h"

/* The TransactionResultCodes whose result contains an inner result. */
#define FEE_BUMP_INNER_SUCCESS 1
#define FEE_BUMP_INNER_FAILED (-13)

/* Finds text in names. */
static bool find_name(const char *text, const char *const names[], size_t count, size_t *out)
{
    for (*out = 0; *out < count; (*out)++)
        if (strcmp(text, names[*out]) == 0)
            return true;
    return false;
}

/* TransactionResult and InnerTransactionResult both begin with feeCharged and code. */
static enum err read_code(struct xdr_reader *reader, int32_t *code)
{
    int64_t fee_charged;
    enum err e = xdr_i64(reader, &fee_charged);
    return e != ERR_OK ? e : xdr_i32(reader, code);
}

static enum err innermost_code(struct bytes result, int32_t *code)
{
    struct hash inner_hash;
    struct xdr_reader reader = xdr_reader(result);
    enum err e = xdr_check(XDR_TransactionResult, result);
    if (e == ERR_OK)
        e = read_code(&reader, code);
    if (e != ERR_OK || (*code != FEE_BUMP_INNER_SUCCESS && *code != FEE_BUMP_INNER_FAILED))
        return e;
    e = xdr_opaque(&reader, inner_hash.bytes, sizeof inner_hash.bytes);
    return e != ERR_OK ? e : read_code(&reader, code);
}

/* Reads the code of the TransactionResult in a member. */
static enum err read_result(const json_t *result, const char *member, int32_t *code, struct detail *detail)
{
    struct buf xdr = {0};
    enum err e = field_xdr(result, member, &xdr, detail);
    if (e == ERR_OK) {
        e = innermost_code(buf_bytes(&xdr), code);
        if (e != ERR_OK)
            e = detail_set(detail, ERR_RPC_UNAVAILABLE, "%s does not decode: %s", member, err_code(e));
    }
    buf_free(&xdr);
    return e;
}

enum err rpc_send(struct rpc *rpc, struct bytes envelope, struct rpc_sent *out, struct detail *detail)
{
    static const char *const statuses[] = {
        [RPC_SEND_PENDING] = "PENDING",
        [RPC_SEND_DUPLICATE] = "DUPLICATE",
        [RPC_SEND_TRY_AGAIN_LATER] = "TRY_AGAIN_LATER",
        [RPC_SEND_ERROR] = "ERROR",
    };
    const char *text;
    size_t status;
    AUTO_JSON result = NULL;
    *out = (struct rpc_sent){0};
    AUTO_FREE char *base64 = base64_encode(envelope);
    enum err e = call(rpc, "sendTransaction",
        json_pack("{s:s, s:s}", "transaction", base64, "xdrFormat", "base64"), &result, NULL, detail);
    if (e == ERR_OK)
        e = field_text(result, "status", &text, detail);
    if (e != ERR_OK)
        return e;
    if (!find_name(text, statuses, ARRAY_LEN(statuses), &status))
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "sendTransaction: unknown status");
    out->status = (enum rpc_send_status)status;
    out->name = statuses[status];
    return out->status == RPC_SEND_ERROR ? read_result(result, "errorResultXdr", &out->code, detail) : ERR_OK;
}

static enum err read_found(const json_t *result, struct rpc_transaction *out, struct detail *detail)
{
    enum err e = field_u32(result, "ledger", &out->ledger, detail);
    if (e == ERR_OK)
        e = read_result(result, "resultXdr", &out->code, detail);
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
    const char *text;
    size_t status;
    char hex[HASH_HEX_SIZE];
    AUTO_JSON result = NULL;
    *out = (struct rpc_transaction){0};
    hash_encode(hash, hex);
    enum err e = call(rpc, "getTransaction", json_pack("{s:s, s:s}", "hash", hex, "xdrFormat", "base64"),
        &result, NULL, detail);
    if (e == ERR_OK)
        e = field_text(result, "status", &text, detail);
    if (e == ERR_OK)
        e = field_u32(result, "latestLedger", &out->latest_ledger, detail);
    if (e != ERR_OK)
        return e;
    if (!find_name(text, statuses, ARRAY_LEN(statuses), &status))
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "getTransaction: unknown status");
    out->status = (enum rpc_transaction_status)status;
    return out->status == RPC_TRANSACTION_NOT_FOUND ? ERR_OK : read_found(result, out, detail);
}
