/*
 * POST /v1/transactions: leases a channel account for a transaction. What can be refused without the database
 * is refused before; a Soroban transaction is simulated first. The rest waits in the lease engine. A retry
 * with the same Idempotency-Key gets the lease of the first request.
 */
#include "call.h"

/*
 * A retry must get the same from any replica, but for `first` and `status`: so each member is in the lease's
 * row, or follows from it and the request's body.
 */
static void done(struct engine_ticket *ticket)
{
    struct call *call = (struct call *)ticket;
    const struct lease_request *request = call->lease;
    const struct lease *lease = &ticket->grant.lease;
    struct json_write out = {0};
    if (!call_granted(call))
        return;
    json_write_begin(&out, 1024 + lease->envelope.len * 4 / 3);
    api_write_hash(&out, "hash", &lease->hash);
    json_write_text(&out, "status", lease->status);
    json_write_bool(&out, "first", lease->first);
    json_write_base64(&out, "transactionXdr", buf_bytes(&lease->envelope));
    api_write_address(&out, "channelAccount", &lease->account);
    json_write_decimal(&out, "sequence", lease->sequence);
    json_write_number(&out, "sequenceLedger", lease->sequence_ledger);
    json_write_decimal(&out, "maxTime", (int64_t)lease->max_time_s);
    json_write_text(&out, "maxTimeSetBy",
        policy_max_time_set_by(&request->envelope.preconditions, request->timeout_s, lease->max_time_s));
    json_write_text(&out, "networkPassphrase", call->api->settings.passphrase);
    if (request->reference[0] != '\0')
        json_write_text(&out, "reference", request->reference);
    call_reply(call, lease->first ? 201 : 200, &out);
}

void api_post_transaction(struct http_request *request, void *api)
{
    call_begin(call_new(api, request, true, done), call_lease);
}
