/* POST /v1/fee-bumps: signs a fee bump, by the distribution account, for a transaction with an open lease of
 * this client. A client may request several, up to its limits. */
#include "call.h"

/* The same request gets the same bytes each time: Ed25519 signatures are deterministic. */
static void done(struct engine_ticket *ticket)
{
    struct call *call = (struct call *)ticket;
    const struct bump *bump = &ticket->bump;
    struct json_write out = {0};
    if (!call_granted(call))
        return;
    json_write_begin(&out, 512 + bump->envelope.len * 4 / 3);
    api_write_hash(&out, "hash", &bump->item.hash);
    api_write_hash(&out, "innerHash", &call->bump.inner_hash);
    json_write_base64(&out, "transactionXdr", buf_bytes(&bump->envelope));
    json_write_decimal(&out, "fee", bump->item.fee_stroops);
    api_write_address(&out, "feeAccount", &call->api->settings.limits.distribution);
    json_write_text(&out, "networkPassphrase", call->api->settings.passphrase);
    call_reply(call, 200, &out);
}

void api_post_fee_bump(struct http_request *request, void *api)
{
    call_begin(call_new(api, request, false, done), call_bump);
}
