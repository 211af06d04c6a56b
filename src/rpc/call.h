/*
 * JSON-RPC 2.0 over the transport. stellar-rpc sends errors with HTTP 200, hosted providers also with 4xx;
 * both are read. A malformed response, or one to another request, is ERR_RPC_UNAVAILABLE.
 */
#ifndef FAIRWAY_RPC_CALL_H
#define FAIRWAY_RPC_CALL_H

#include "base/json.h"
#include "lift.h"
#include "rpc/rpc.h"
#include "transport.h"

struct rpc {
    struct transport *transports[RPC_ADDRESSES_MAX];
    size_t count, current; /* current: the one that calls use until it fails */
    unsigned first;        /* address of transports[0], counted from 1 */
    json_int_t last_id;
};

/* The error object of a response. code is 0 when there was none. */
struct call_error {
    int64_t code;
    long status;       /* of HTTP; 0: there was no response */
    char message[160]; /* cut to fit; control characters and double quotes replaced */
};

/* What a response may have, before it is parsed (json_is_within). */
struct call_limits {
    const char *method;
    size_t bytes;
    size_t values; /* objects, arrays, members, elements */
    unsigned depth;
};
/* Of a method, or of methods that are not in the table. */
const struct call_limits *call_limits_of(const char *method);

#define CALL_INVALID_REQUEST (-32600)
#define CALL_INVALID_PARAMS (-32602)
#define CALL_INTERNAL_ERROR (-32603)

/*
 * A call to the current address. When that fails, or refuses with an HTTP error (a quota, for example), the
 * next address is asked, each at most once.
 * Takes ownership of params (NULL: none). The caller frees *result with json_decref; it is NULL on error.
 * Errors: those of transport_post; ERR_RPC_UNAVAILABLE also when the error code is about the server;
 * ERR_RPC_REFUSED when it is about the request. *error (may be NULL) is set in the last two cases.
 */
MUST_CHECK enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result,
    struct call_error *error, struct detail *detail);

/* The same. lifted (NULL: none) is for a method whose responses are large: the values of lifted->member are
 * lifted from the response before it is parsed; the caller frees *lifted, also on error. repeatable: after
 * CALL_INTERNAL_ERROR the caller may repeat the call at the same address. */
MUST_CHECK enum err call_each(struct rpc *rpc, const char *method, json_t *params, struct lift *lifted,
    json_t **result, struct call_error *error, bool repeatable, struct detail *detail);

/* Moves on to the next address after a failure of the current one; later calls begin there. tries: this call
 * does too, which is logged. */
void call_next_address(struct rpc *rpc, bool tries, const struct detail *why);

#endif
