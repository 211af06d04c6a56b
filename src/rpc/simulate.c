/* simulateTransaction. What its answer allows is decided by api/prepare.c. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "field.h"
#include "stellar/return_value.h"
#include "xdr/xdr.h"

/* The host's error when an entry's nonce is stored already (consume_nonce of its auth.rs). A contract may
 * have caught it: then it is only in the log. */
#define NONCE_EXISTS "Error(Auth, ExistingValue)"
#define REPORT_MAX 4096
#define REPORT_ERROR_MAX 3000 /* of the error, as JSON; leaves room for events */

void rpc_simulation_free(struct rpc_simulation *simulation)
{
    buf_free(&simulation->data);
    buf_free(&simulation->returned);
    mem_free_at(&simulation->report);
}

/* The server's words, for a client: on one line, and cut. Diagnostic events follow the first line. */
static void copy_reason(const char *error, char *out, size_t size)
{
    size_t len = 0;
    for (; error[len] != '\0' && error[len] != '\n' && len + 1 < size; len++)
        out[len] = (unsigned char)error[len] < ' ' || error[len] == 0x7f ? '?' : error[len];
    out[len] = '\0';
}

/* An error has the log of events in it, a line each. */
static void report_error(const char *error, struct json_write *out)
{
    char text[REPORT_ERROR_MAX + 1];
    size_t len = 0, written = 0;
    for (char c; (c = error[len]) != '\0'; len++) {
        written += c == '\n' ? strlen("\\u000a") : c == '"' || c == '\\' ? 2 : 1;
        if (written > REPORT_ERROR_MAX)
            break;
        text[len] = (unsigned char)c < ' ' && c != '\n' ? '?' : c;
    }
    text[len] = '\0';
    json_write_bytes(out, "simulationError", text);
}

/* The first events that fit, each a DiagnosticEvent. */
static void report_events(const json_t *events, struct json_write *out)
{
    const json_t *event;
    size_t i;
    json_write_open(out, "events", '[');
    json_array_foreach(events, i, event)
    {
        struct buf bytes CLEANUP(buf_free) = {0};
        const size_t len = json_string_length(event);
        if (!json_is_string(event) || len + sizeof ",\"\"]}" > REPORT_MAX - out->text.len ||
            base64_decode(json_string_value(event), len, &bytes) != ERR_OK)
            break;
        json_write_text(out, NULL, json_string_value(event));
    }
    json_write_close(out, ']');
}

static enum err read_failure(const json_t *result, struct rpc_simulation *out, struct detail *detail)
{
    const char *error;
    struct json_write report = {0};
    enum err e = field_text(result, "error", &error, detail);
    if (e != ERR_OK)
        return e;
    copy_reason(error, out->error, sizeof out->error);
    out->nonce_used = strstr(error, NONCE_EXISTS) != NULL &&
                      return_value_says_nonce((struct bytes){(const uint8_t *)error, strlen(error)});
    json_write_begin(&report, REPORT_MAX);
    report_error(error, &report);
    report_events(json_object_get(result, "events"), &report);
    out->report = json_write_end(&report);
    return ERR_OK;
}

/* A member that is absent leaves *out empty. */
static enum err read_value(
    const json_t *object, const char *name, enum xdr_type type, struct buf *out, struct detail *detail)
{
    if (json_object_get(object, name) == NULL)
        return ERR_OK;
    enum err e = field_xdr(object, name, out, detail);
    if (e == ERR_OK && xdr_check(type, buf_bytes(out)) != ERR_OK)
        e = detail_set(
            detail, ERR_RPC_UNAVAILABLE, "simulateTransaction: %s is not a %s", name, xdr_type_name(type));
    return e;
}

/* Whether a contract has emitted an event: what others see of a call, also of one that writes nothing. */
static bool has_contract_event(const json_t *events)
{
    const json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        struct buf bytes CLEANUP(buf_free) = {0};
        if (json_is_string(event) &&
            base64_decode(json_string_value(event), json_string_length(event), &bytes) == ERR_OK &&
            xdr_check(XDR_DiagnosticEvent, buf_bytes(&bytes)) == ERR_OK &&
            be32_get(bytes.data + 12 + (be32_get(bytes.data + 8) == 0 ? 0 : 32)) == 1) /* CONTRACT */
            return true;
    }
    return false;
}

static enum err read_success(const json_t *result, struct rpc_simulation *out, struct detail *detail)
{
    const json_t *first = json_array_get(json_object_get(result, "results"), 0);
    uint64_t fee;
    enum err e;
    if (!field_number(json_object_get(result, "minResourceFee"), INT64_MAX, &fee))
        return detail_set(
            detail, ERR_RPC_UNAVAILABLE, "minResourceFee is missing or malformed in the response");
    if ((e = read_value(result, "transactionData", XDR_SorobanTransactionData, &out->data, detail)) !=
            ERR_OK ||
        (e = read_value(first, "xdr", XDR_ScVal, &out->returned, detail)) != ERR_OK)
        return e;
    out->emits = has_contract_event(json_object_get(result, "events"));
    out->restores = json_object_get(result, "restorePreamble") != NULL;
    out->resource_fee_stroops = (int64_t)fee;
    out->succeeds = true;
    return ERR_OK;
}

/* What every node of the network has, and this one not yet: a healthy stellar-rpc says so for some
 * milliseconds after a ledger. What a contract says comes after "HostError". */
static bool is_of_node(const char *error)
{
    static const char *const words[] = {"snapshot", "setting", "-32603"};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        any |= strstr(error, words[i]) != NULL;
    return any && !text_starts(error, "HostError");
}

static enum err judge(const json_t *result, const void *context, struct detail *detail)
{
    const uint32_t *newest = context;
    const char *error = json_string_value(json_object_get(result, "error"));
    uint32_t ledger = 0;
    (void)!field_u32(result, "latestLedger", &ledger, NULL);
    if (error != NULL && ledger > 0 && ledger < *newest)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "simulated as of ledger %" PRIu32 ", which is not the newest", ledger);
    return error != NULL && is_of_node(error)
               ? detail_set(detail, ERR_RPC_UNAVAILABLE, "simulateTransaction: %.100s", error)
               : ERR_OK;
}

enum err rpc_simulate(struct rpc *rpc, struct bytes envelope, bool enforce_auth, uint32_t newest,
    struct rpc_simulation *out, struct detail *detail)
{
    *out = (struct rpc_simulation){0};
    AUTO_FREE char *base64 = base64_encode(envelope);
    json_t *params = json_pack("{s:s, s:s}", "transaction", base64, "xdrFormat", "base64");
    if (enforce_auth)
        json_object_set_new(params, "authMode", json_string("enforce"));
    AUTO_JSON json_t *result = NULL;
    enum err e = call_with(rpc, "simulateTransaction", params,
        &(struct call_options){.judge = judge, .context = &newest}, &result, detail);
    if (e == ERR_RPC_UNAVAILABLE)
        out->retry_after_s = call_retry_after_s(rpc);
    if (e != ERR_OK)
        return e;
    (void)!field_u32(result, "latestLedger", &out->ledger, NULL);
    return json_object_get(result, "error") != NULL ? read_failure(result, out, detail)
                                                    : read_success(result, out, detail);
}
