/*
 * One call of JSON-RPC 2.0, by transfers of the loop, to one address after the other. stellar-rpc sends
 * errors with HTTP 200, hosted providers also with 4xx; both are read. A malformed response, or one to
 * another request, is ERR_RPC_UNAVAILABLE.
 */
#ifndef FAIRWAY_RPC_CALL_H
#define FAIRWAY_RPC_CALL_H

#include <pthread.h>

#include "base/json.h"
#include "lift.h"
#include "loop.h"
#include "rpc/rpc.h"

struct rpc {
    struct address *addresses[RPC_ADDRESSES_MAX];
    size_t count;
    unsigned first; /* number of addresses[0] in the url, counted from 1 */
    int timeout_ms, wait_ms;
    size_t max_body;       /* of all responses; 0: none */
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
#define CALL_INVALID_PARAMS (-32602)
#define CALL_INTERNAL_ERROR (-32603)

struct rpc_call {
    struct loop_transfer transfer; /* first: the loop returns it */
    struct rpc *rpc;
    const struct call_limits *limits;
    const char *method;
    struct rpc_ask ask; /* done NULL: rpc_call_answer waits */
    char *json;
    json_int_t id;
    size_t at; /* the address that is asked; rpc->count: none takes it now */
    bool asked[RPC_ADDRESSES_MAX];
    unsigned pause_ms;        /* not 0: after CALL_INTERNAL_ERROR the address is asked again after so long, */
    int64_t repeats_until_ms; /* until then */
    bool arrived;             /* with the mutex: the transfer has ended, and somebody waits for it */
};

/*
 * Begins a call, to the first address that has not failed lately. A simulation is asked of no address that
 * refuses now. Takes ownership of params (NULL: none). ask NULL: rpc_call_answer waits for the answer.
 * repeats: CALL_INTERNAL_ERROR is repeated for RPC_ENTRIES_RETRIES_MS at each address. *out is set before the
 * answer can come.
 */
void rpc_call_begin(struct rpc *rpc, const char *method, json_t *params, bool repeats,
    const struct rpc_ask *ask, struct rpc_call **out);
/*
 * Reads the answer. ERR_NOT_YET: it was a failure, or a refusal with an HTTP error (a quota, for example),
 * and the next address is asked, each at most once. But no other one because an address refuses simulations.
 * lifted (NULL: none) is for a method whose responses are large: the values of lifted->member are lifted from
 * the response before it is parsed; the caller frees *lifted, also on error. The caller frees *result with
 * json_decref; it is NULL on error. Errors: those of a transfer; ERR_RPC_UNAVAILABLE also when the error code
 * is about the server; ERR_RPC_REFUSED when it is about the request. *error (may be NULL) is set in the last
 * two cases.
 */
MUST_CHECK enum err rpc_call_answer(struct rpc_call *call, struct lift *lifted, json_t **result,
    struct call_error *error, struct detail *detail);
/* Asks the next address, because of what the last one has answered. False: there is none. */
bool rpc_call_next(struct rpc_call *call, const struct detail *why);
/* Seconds until an address may be asked for a simulation again; 0: now. */
int rpc_call_retry_after_s(const struct rpc_call *call);

/* The answer of a call that has nothing lifted; frees it unless ERR_NOT_YET. */
MUST_CHECK enum err rpc_call_end(struct rpc_call *call, json_t **result, struct detail *detail);

/* All in one, which blocks. */
MUST_CHECK enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result,
    struct call_error *error, struct detail *detail);

#endif
