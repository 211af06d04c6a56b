/*
 * JSON-RPC 2.0 over the transport. stellar-rpc answers errors with HTTP 200, hosted providers with 4xx too;
 * both are read. What is not a well-formed answer to this very request is as good as none.
 */
#ifndef FAIRWAY_RPC_CALL_H
#define FAIRWAY_RPC_CALL_H

#include <jansson.h>

#include "rpc/rpc.h"
#include "transport.h"

struct rpc {
    struct transport *transport;
    json_int_t last_id;
};

/* The error object of an answer. code 0: there was none. */
struct call_error {
    int64_t code;
    char message[160]; /* cut to fit; control characters and double quotes replaced */
};

#define CALL_INVALID_REQUEST (-32600)
#define CALL_INVALID_PARAMS (-32602)
#define CALL_INTERNAL_ERROR (-32603)

/*
 * Takes params (NULL: none). *result is the caller's to json_decref; NULL on error. Errors: transport_post's;
 * ERR_RPC_UNAVAILABLE also for the codes with which a server speaks of itself, ERR_RPC_REFUSED for those that
 * speak of the request. *error (may be NULL) is set in both cases.
 */
MUST_CHECK enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result,
    struct call_error *error, struct detail *detail);

static inline void call_result_free_at(json_t **result)
{
    json_decref(*result);
}
#define AUTO_JSON CLEANUP(call_result_free_at) json_t *

#endif
