/* Reads a client's signed leased transaction, asks the RPC for signers if it has to, and hands it to the
 * engine. What becomes of it, its endpoint replies. */
#include "bump_call.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "rpc_checks.h"
#include "stellar/envelope_build.h"

void bump_call_wipe(struct bump_call *call)
{
    bump_wipe(&call->ticket.bump);
    buf_free(&call->xdr);
}

/* For a refused fee: the bound, as a member of the problem. NULL: another error. */
static char *fee_bound_json(const struct bump_request *request, enum err e)
{
    int64_t least;
    if (e == ERR_FEE_EXCEEDS_MAXIMUM)
        return mem_format("{\"maximumFee\":\"%" PRId64 "\"}", bump_fee_maximum(request));
    if (e == ERR_FEE_BELOW_MINIMUM && bump_fee(request, 0, &least, NULL) == ERR_OK)
        return mem_format("{\"minimumFee\":\"%" PRId64 "\"}", least);
    return NULL;
}

void bump_call_reply_error(struct bump_call *call, enum err e, const struct detail *detail)
{
    const enum limit limit = call->ticket.bump.limit;
    if (limit != LIMIT_NONE)
        api_refuse_limit(call->http, e, detail, limit, call->api->settings.ledger_ms);
    else
        api_refuse_with(call->http, e, detail, fee_bound_json(&call->request, e));
}

static enum err read_request(struct bump_call *call, const json_t *body, struct detail *detail)
{
    struct bump_request *request = &call->request;
    uint64_t max_fee = 0;
    enum err e;
    if ((e = api_read_envelope(body, &call->xdr, detail)) != ERR_OK)
        return e;
    if (json_read_has(body, "maxFee") &&
        (e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail)) != ERR_OK)
        return e;
    request->max_fee_stroops = (int64_t)max_fee;
    request->xdr = buf_bytes(&call->xdr);
    if ((e = envelope_decode(request->xdr, &request->inner, detail)) != ERR_OK)
        return e;
    if (request->submits && request->inner.signature_count == 0)
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "transactionXdr has no signature: lease it by POST /v1/transactions, sign, and submit.");
    if (request->inner.form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED,
            "transactionXdr is a fee bump. Send its inner transaction, with its signatures.");
    request->inner_hash = envelope_hash(&call->api->settings.network, &request->inner);
    request->authority = authority_of(&request->inner, &request->inner_hash);
    request->limits = &call->api->settings.limits;
    request->client_limits = *api_limits(call->http);
    snprintf(request->client, sizeof request->client, "%s", api_client(call->http));
    return ERR_OK;
}

static void read_signers(struct rpc_work *work, enum err e, struct rpc *rpc)
{
    struct bump_call *call = work->context;
    struct bump_request *request = &call->request;
    struct detail detail = {0};
    if (e == ERR_OK)
        e = rpc_checks_signers(rpc, &request->inner, &request->inner_hash, &request->authority, &detail);
    if (e == ERR_OK)
        e = engine_submit(call->api->settings.engine, &call->ticket);
    if (e != ERR_OK)
        call->refuse(call, e, &detail);
}

/* The signers of a multi-signature account are not in the transaction: the RPC is asked for them. */
static enum err submit(struct bump_call *call)
{
    if (call->request.authority != AUTHORITY_UNKNOWN)
        return engine_submit(call->api->settings.engine, &call->ticket);
    call->signers =
        (struct rpc_work){.item.client = api_sharer(call->http), .run = read_signers, .context = call};
    return rpc_workers_submit(call->api->rpc_workers, &call->signers);
}

void bump_call_begin(struct bump_call *call, const json_t *body, void (*cancel)(void *call))
{
    struct detail detail = {0};
    call->ticket.kind = TICKET_BUMP;
    call->ticket.bump.request = &call->request;
    enum err e = read_request(call, body, &detail);
    if (e == ERR_OK) {
        http_on_client_gone(call->http, cancel, call);
        e = submit(call);
    }
    if (e != ERR_OK)
        call->refuse(call, e, &detail);
}
