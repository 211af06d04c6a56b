/*
 * One call of JSON-RPC 2.0, by transfers of the loop, to one address after the other. stellar-rpc sends
 * errors with HTTP 200, hosted providers also with 4xx; both are read. A malformed response, or one to
 * another request, is ERR_RPC_UNAVAILABLE.
 */
#pragma once

#include <pthread.h>

#include "base/json.h"
#include "lift.h"
#include "loop.h"
#include "rpc/rpc.h"

struct rpc {
    struct rpc *shared;    /* whose the rest is: itself, but for one of rpc_asking, which has only: */
    struct rpc_ask ask;    /* this, and */
    struct rpc_call *call; /* its call, once that has begun */
    struct address *addresses[RPC_ADDRESSES_MAX];
    size_t count;
    unsigned first; /* number of addresses[0] in the url, counted from 1 */
    int timeout_ms, wait_ms;
    atomic_bool cancelled; /* all calls, also later ones */
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    unsigned open; /* transfers that the loop has */
    unsigned last; /* the number of the address that was asked last */
    json_int_t last_id;
};

/* What a method's responses may have, before they are parsed (json_is_within), and its class. */
struct call_limits {
    const char *method;
    enum rpc_class class;
    size_t bytes;
    size_t values; /* objects, arrays, members, elements */
    unsigned depth;
};
/* Of a method, or of methods that are not in the table. */
const struct call_limits *call_limits_of(const char *method);

/* The error object of a response. code is 0 when there was none. */
struct call_error {
    int64_t code;
    long status;       /* of HTTP; 0: there was no response */
    char message[160]; /* cut to fit; control characters and double quotes replaced */
};

#define CALL_INVALID_REQUEST (-32600)
#define CALL_METHOD_NOT_FOUND (-32601)
#define CALL_INVALID_PARAMS (-32602)
#define CALL_INTERNAL_ERROR (-32603)

struct call_options {
    struct call_error *error; /* set, also when no address was asked: zeros; NULL: not wanted */
    /* Of a method whose responses are large: the values of lifted->member are lifted from the response before
     * it is parsed; the caller frees *lifted, also on error. NULL: none. */
    struct lift *lifted;
    bool repeats; /* CALL_INTERNAL_ERROR is repeated, for RPC_ENTRIES_RETRIES_MS at each address */
    bool aside;   /* nobody needs its answer now: a failure or a refusal is not held against the address */
    /* Whether the result is final. ERR_RPC_UNAVAILABLE: it is the node's fault. NULL: it is. */
    enum err (*judge)(const json_t *result, const void *context, struct detail *detail);
    const void *context;
};

/*
 * A call, first to the address that has not failed lately. When that fails, has no room in time, or refuses
 * with an HTTP error (a quota, for example), the next one is asked, each at most once. But a simulation is
 * asked of none that refuses simulations now, and of no other one because an address refuses it or has no
 * room. Takes ownership of params (NULL: none). The caller frees *result with json_decref; it is NULL on
 * error. Errors: those of a transfer; ERR_RPC_UNAVAILABLE also when the error code is about the server;
 * ERR_RPC_REFUSED when it is about the request. ERR_NOT_YET: rpc is one of rpc_asking.
 */
MUST_CHECK enum err call_with(struct rpc *rpc, const char *method, json_t *params,
    const struct call_options *options, json_t **result, struct detail *detail);
/* The same with no more than an error. */
MUST_CHECK enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result,
    struct call_error *error, struct detail *detail);

/* Whether rpc is one of rpc_asking, and the call that it has begun is of this method. */
bool call_is_of(const struct rpc *rpc, const char *method);

/* Seconds until an address may be asked for a simulation again; 0: now. */
int call_retry_after_s(const struct rpc *rpc);
/* Whose transfer the loop does not have. NULL is fine. */
void call_free(struct rpc_call *call);
