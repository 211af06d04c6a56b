/* What POST /v1/fee-bumps and POST /v1/submissions share: a client's signed leased transaction on its way
 * through the engine. */
#ifndef FAIRWAY_API_BUMP_CALL_H
#define FAIRWAY_API_BUMP_CALL_H

#include "context.h"
#include "reply.h"

struct bump_call {
    struct engine_ticket ticket; /* first: the engine returns it. The endpoint sets its done */
    struct rpc_work signers;
    struct api *api;
    struct http_request *http;
    struct bump_request request; /* the endpoint sets submits */
    struct buf xdr;              /* the request points into it */
    /* Replies with the error of a call that the engine has not taken, and frees the call. */
    void (*refuse)(struct bump_call *call, enum err e, const struct detail *detail);
};

/* Reads the request and hands it to the engine, or refuses it. cancel is called with the call when its client
 * has left. */
void bump_call_begin(struct bump_call *call, const json_t *body, void (*cancel)(void *call));
/* Replies with an error, and with the bound that a fee has missed. */
void bump_call_reply_error(struct bump_call *call, enum err e, const struct detail *detail);
void bump_call_wipe(struct bump_call *call);

#endif
