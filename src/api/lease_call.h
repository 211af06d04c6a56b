/* What POST /v1/transactions and POST /v1/submissions share: a request for a lease on its way through the
 * engine. */
#ifndef FAIRWAY_API_LEASE_CALL_H
#define FAIRWAY_API_LEASE_CALL_H

#include "context.h"
#include "prepare.h"
#include "reply.h"

struct lease_call {
    struct engine_ticket ticket; /* first: the engine returns it. The endpoint sets its done */
    struct rpc_work simulation;
    struct api *api;
    struct http_request *http;
    struct lease_request request; /* the endpoint sets submits */
    struct prepare prepare;
    bool has_key; /* an Idempotency-Key, not just a token */
    /* Replies with the error of a call that the engine has not taken, and frees the call. */
    void (*refuse)(struct lease_call *call, enum err e, const struct detail *detail);
};

/* Reads the idempotency key, and the body's digest: before the body is read. */
MUST_CHECK enum err lease_call_take_key(struct lease_call *call, struct detail *detail);
/* Reads the request and hands it to the engine, or refuses it. cancel is called with the call when its client
 * has left. */
void lease_call_begin(struct lease_call *call, const json_t *body, void (*cancel)(void *call));
/* Replies with an error, and with what the client needs to know about it. */
void lease_call_reply_error(struct lease_call *call, enum err e, const struct detail *detail);
void lease_call_wipe(struct lease_call *call);

#endif
