/* Reads a client's signed leased transaction, asks the RPC for signers if it has to, and hands it to the
 * engine. What becomes of it, its endpoint replies. */
#include <stdio.h>

#include "base/mem.h"
#include "call.h"
#include "stellar/envelope_build.h"

static enum err read_request(struct call *call, const json_t *body, struct detail *detail)
{
    static const char *const names[] = {
        "transactionXdr", "maxFee", "timeoutSeconds", "reference", "func", "auth"};
    struct bump_request *request = &call->bump;
    enum err e;
    for (size_t i = 2; i < ARRAY_LEN(names); i++)
        if (request->submits && json_read_has(body, names[i]))
            return detail_set(detail, ERR_INVALID_REQUEST,
                "%s is for a call that is leased here; this transaction is leased already.", names[i]);
    if ((e = json_read_only(body, names, request->submits ? ARRAY_LEN(names) : 2, detail)) != ERR_OK ||
        (e = api_read_envelope(body, &call->xdr, detail)) != ERR_OK ||
        (e = call_read_max_fee(body, &request->max_fee_stroops, detail)) != ERR_OK)
        return e;
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

/* Whether one of the signers of the operations' sources has signed. */
static enum err read_signers(struct call *call, struct detail *detail)
{
    struct bump_request *request = &call->bump;
    struct public_key sources[OPERATIONS_MAX];
    struct buf entries[OPERATIONS_MAX] = {0};
    uint32_t ledger;
    unsigned verifications = AUTHORITY_VERIFICATIONS_MAX;
    const size_t count = authority_sources(&request->inner, sources);
    enum err e = rpc_account_entries(call->asked, sources, count, entries, &ledger, detail);
    for (size_t i = 0; i < count; i++) {
        if (e == ERR_OK && authority_proved_by(
                               &request->inner, &request->inner_hash, buf_bytes(&entries[i]), &verifications))
            request->authority = AUTHORITY_PROVED;
        buf_free(&entries[i]);
    }
    return e == ERR_OK ? ERR_OK : call_no_result(e);
}

static void signers_read(struct worker_job *job, enum err e, struct db *unused)
{
    struct call *call = call_of_job(job);
    struct detail detail = {0};
    (void)unused;
    if (e == ERR_OK)
        e = read_signers(call, &detail);
    if (e == ERR_NOT_YET) /* another thread may have it */
        return;
    rpc_free(call->asked);
    if (e == ERR_OK)
        e = engine_submit(call->api->settings.engine, &call->ticket);
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
}

/* The signers of a multi-signature account are not in the transaction: the RPC is asked for them. A call
 * without a source, whose extra signers have not signed, has none. */
static enum err submit(struct call *call)
{
    struct public_key sources[OPERATIONS_MAX];
    const size_t count =
        call->bump.authority == AUTHORITY_UNKNOWN ? authority_sources(&call->bump.inner, sources) : 0;
    if (count == 0)
        return engine_submit(call->api->settings.engine, &call->ticket);
    struct buf begun[OPERATIONS_MAX] = {0};
    uint32_t ledger;
    (void)!rpc_account_entries(call_ask(call, signers_read), sources, count, begun, &ledger, NULL);
    return ERR_OK;
}

void call_bump(struct call *call, bool submits, const json_t *body)
{
    struct detail detail = {0};
    call->ticket.kind = TICKET_BUMP;
    call->ticket.bump.request = &call->bump;
    call->bump.submits = submits;
    enum err e = read_request(call, body, &detail);
    if (e == ERR_OK) {
        call_on_client_gone(call);
        e = submit(call);
    }
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
}
