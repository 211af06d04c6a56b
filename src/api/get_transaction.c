/* GET /v1/transactions/{hash}?wait=SECONDS: the status of a leased transaction, at once or when it has ended.
 */
#include "call.h"
#include "status.h"

static void watched(struct watch_ticket *ticket)
{
    struct call *call = call_of(ticket);
    struct json_write object = {0};
    if (ticket->error != ERR_OK) {
        call_refuse(call, ticket->error, NULL);
        return;
    }
    api_begin_status(&object, &ticket->status);
    call_reply(call, 200, &object);
}

void api_get_transaction(struct http_request *request, void *api)
{
    struct call *call = call_new(api, request, false, NULL);
    struct detail detail = {0};
    struct hash hash;
    call->watch.done = watched;
    enum err e =
        hash_decode(request->parameter, &hash) == ERR_OK ? call_begin_wait(call, &detail) : ERR_INVALID_HASH;
    if (e != ERR_OK) {
        call_refuse(call, e, &detail);
        return;
    }
    call_on_client_gone(call);
    call_watch(call, &hash);
}
