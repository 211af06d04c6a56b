/*
 * POST /v1/transactions: leases a channel account for a transaction. What can be refused without the database
 * is refused here; a Soroban transaction is simulated first. The rest waits in the lease engine. A retry with
 * the same Idempotency-Key gets the lease of the first request.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "lease_call.h"

static void call_cancel(void *context)
{
    struct lease_call *call = context;
    engine_cancel(call->api->settings.engine, &call->ticket);
}

/*
 * A retry must get the same from any replica, but for `first` and `status`: so each member is in the lease's
 * row, or follows from it and the request's body.
 */
static void write_lease(const struct lease_call *call, const struct lease *lease, struct json_write *out)
{
    const struct lease_request *request = &call->request;
    json_write_begin(out, 1024 + lease->envelope.len * 4 / 3);
    api_write_hash(out, "hash", &lease->hash);
    json_write_text(out, "status", lease->status);
    json_write_bool(out, "first", lease->first);
    json_write_base64(out, "transactionXdr", buf_bytes(&lease->envelope));
    api_write_address(out, "channelAccount", &lease->account);
    json_write_decimal(out, "sequence", lease->sequence);
    json_write_number(out, "sequenceLedger", lease->sequence_ledger);
    json_write_decimal(out, "maxTime", (int64_t)lease->max_time_s);
    json_write_text(out, "maxTimeSetBy",
        policy_max_time_set_by(&request->envelope.preconditions, request->timeout_s, lease->max_time_s));
    json_write_text(out, "networkPassphrase", call->api->settings.passphrase);
    if (request->reference[0] != '\0')
        json_write_text(out, "reference", request->reference);
}

/* All free the call after the reply: until then call_cancel may run. */
static void call_free(struct lease_call *call)
{
    lease_call_wipe(call);
    free(call);
}

static void call_refuse(struct lease_call *call, enum err e, const struct detail *detail)
{
    connection_shares_give(&call->api->shares, SHARE_LEASE);
    lease_call_reply_error(call, e, detail);
    call_free(call);
}

static void call_done(struct engine_ticket *ticket)
{
    struct lease_call *call = (struct lease_call *)ticket;
    const struct lease *lease = &ticket->grant.lease;
    struct json_write object = {0};
    if (ticket->grant.state != GRANT_DONE) {
        call_refuse(call, ticket->grant.error, &ticket->grant.detail);
        return;
    }
    connection_shares_give(&call->api->shares, SHARE_LEASE);
    write_lease(call, lease, &object);
    api_reply(call->http, lease->first ? 201 : 200, &object);
    call_free(call);
}

void api_post_transaction(struct http_request *request, void *context)
{
    static const char *const names[] = {"transactionXdr", "func", "auth", "timeoutSeconds", "reference"};
    struct api *api = context;
    if (connection_shares_take(&api->shares, SHARE_LEASE) != ERR_OK) {
        api_refuse(request, ERR_OVERLOADED, NULL);
        return;
    }
    struct lease_call *call = NEW(struct lease_call);
    AUTO_JSON json_t *body = NULL;
    struct detail detail = {0};
    call->api = api;
    call->http = request;
    call->ticket.done = call_done;
    call->refuse = call_refuse;
    enum err e = lease_call_take_key(call, &detail);
    if (e == ERR_OK)
        e = api_read_body(request, names, ARRAY_LEN(names), &body, &detail);
    if (e == ERR_OK)
        lease_call_begin(call, body, call_cancel);
    else
        call_refuse(call, e, &detail);
}
