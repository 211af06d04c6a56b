/* simulateTransaction. What its answer allows is decided by api/rpc_checks.c. */

#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "field.h"

/* The server's words, for a client: on one line, and cut. Diagnostic events follow the first line. */
static void copy_reason(const char *error, char *out, size_t size)
{
    size_t len = 0;
    for (; error[len] != '\0' && error[len] != '\n' && len + 1 < size; len++)
        out[len] = (unsigned char)error[len] < ' ' || error[len] == 0x7f ? '?' : error[len];
    out[len] = '\0';
}

enum err rpc_simulate(struct rpc *rpc, struct bytes envelope, bool enforce_auth, struct rpc_simulation *out,
    struct detail *detail)
{
    const char *error;
    uint64_t fee;
    *out = (struct rpc_simulation){0};
    AUTO_FREE char *base64 = base64_encode(envelope);
    json_t *params = json_pack("{s:s, s:s}", "transaction", base64, "xdrFormat", "base64");
    if (enforce_auth)
        json_object_set_new(params, "authMode", json_string("enforce"));
    AUTO_JSON result = NULL;
    enum err e = call(rpc, "simulateTransaction", params, &result, NULL, detail);
    if (e != ERR_OK)
        return e;
    if (json_object_get(result, "error") != NULL) {
        e = field_text(result, "error", &error, detail);
        if (e == ERR_OK)
            copy_reason(error, out->error, sizeof out->error);
        return e;
    }
    if ((e = field_u64(result, "minResourceFee", &fee, detail)) != ERR_OK)
        return e;
    if (fee > INT64_MAX)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "simulateTransaction: minResourceFee is too large");
    out->succeeds = true;
    out->resource_fee_stroops = (int64_t)fee;
    return ERR_OK;
}
