/* POST /v1/fee-bumps: signs a fee bump, by the distribution account, for a transaction with an open lease of
 * this client. A client may request several, up to its limits. */
#include <stdlib.h>

#include "base/mem.h"
#include "bump_call.h"

static void call_cancel(void *context)
{
    struct bump_call *call = context;
    engine_cancel(call->api->settings.engine, &call->ticket);
}

/* The same request gets the same bytes each time: Ed25519 signatures are deterministic. */
static void write_bump(const struct bump_call *call, const struct bump *bump, struct json_write *out)
{
    json_write_begin(out, 512 + bump->envelope.len * 4 / 3);
    api_write_hash(out, "hash", &bump->hash);
    api_write_hash(out, "innerHash", &call->request.inner_hash);
    json_write_base64(out, "transactionXdr", buf_bytes(&bump->envelope));
    json_write_decimal(out, "fee", bump->fee_stroops);
    api_write_address(out, "feeAccount", &call->api->settings.distribution);
    json_write_text(out, "networkPassphrase", call->api->settings.passphrase);
}

/* All free the call after the reply: until then call_cancel may run. */
static void call_free(struct bump_call *call)
{
    bump_call_wipe(call);
    free(call);
}

static void call_refuse(struct bump_call *call, enum err e, const struct detail *detail)
{
    bump_call_reply_error(call, e, detail);
    call_free(call);
}

static void call_done(struct engine_ticket *ticket)
{
    struct bump_call *call = (struct bump_call *)ticket;
    struct json_write object = {0};
    if (ticket->bump.state != GRANT_DONE) {
        call_refuse(call, ticket->bump.error, &ticket->bump.detail);
        return;
    }
    write_bump(call, &ticket->bump, &object);
    api_reply(call->http, 200, &object);
    call_free(call);
}

void api_post_fee_bump(struct http_request *request, void *context)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    struct bump_call *call = NEW(struct bump_call);
    AUTO_JSON json_t *body = NULL;
    struct detail detail = {0};
    call->api = context;
    call->http = request;
    call->ticket.done = call_done;
    call->refuse = call_refuse;
    enum err e = api_read_body(request, names, ARRAY_LEN(names), &body, &detail);
    if (e == ERR_OK)
        bump_call_begin(call, body, call_cancel);
    else
        call_refuse(call, e, &detail);
}
