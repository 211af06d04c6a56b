/* One call of JSON-RPC, at the next address when one fails. What a result means, its method's file reads. */
#include "call.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/rate_limit.h"
#include "field.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* A call that is repeated at the same address. */
#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 320

/*
 * Far above what stellar-rpc sends: a ledger has 8 members, an entry 6. The diagnostic events of a
 * transaction are an array of strings. getLedgers: ingestion asks for fewer ledgers when they are too large
 * together.
 */
static const struct call_limits table[] = {
    {"getNetwork", RPC_READS, 64 * KIB, 1000, 16}, {"getVersionInfo", RPC_READS, 64 * KIB, 1000, 16},
    {"getLedgers", RPC_LEDGERS, 64 * MIB, 10000, 16}, {"getLedgerEntries", RPC_READS, 16 * MIB, 20000, 16},
    {"getTransaction", RPC_READS, 32 * MIB, 100000, 16}, {"sendTransaction", RPC_SENDS, 4 * MIB, 20000, 16},
    {"simulateTransaction", RPC_SIMULATIONS, 8 * MIB, 100000, 64}, /* with events and changes */
};

static const struct call_limits others = {"", RPC_READS, 64 * KIB, 1000, 16};

const struct call_limits *call_limits_of(const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].method, method) == 0)
            return &table[i];
    return &others;
}

/* Whether the error is about the server, not the request: internal errors, and the codes that JSON-RPC
 * reserves for implementations (queue full, processing limit, panic, cancelled, deadline). */
static bool is_server_error(int64_t code)
{
    return code == CALL_INTERNAL_ERROR || (code >= -32099 && code <= -32000);
}

struct rpc_call {
    struct loop_transfer transfer; /* first: the loop returns it */
    struct rpc *rpc;
    struct rpc_ask ask; /* done NULL: its caller waits */
    const struct call_limits *limits;
    const char *method;
    char *json;
    json_int_t id;
    size_t at; /* the address that is asked; rpc->count: none takes it now */
    bool asked[RPC_ADDRESSES_MAX];
    bool aside;               /* as in call_options */
    unsigned pause_ms;        /* not 0: after CALL_INTERNAL_ERROR the address is asked again after so long, */
    int64_t repeats_until_ms; /* until then */
    bool arrived;             /* with the mutex: the transfer has ended, and its caller waits */
};

/* Takes ownership of params. */
static char *write_request(json_int_t id, const char *method, json_t *params)
{
    json_t *request = json_pack("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", id, "method", method);
    if (params != NULL)
        json_object_set_new(request, "params", params);
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (text == NULL)
        log_fatal(EX_OSERR, "out of memory for a JSON-RPC request", NULL);
    return text;
}

/* An error may have no id: a server that cannot parse the request does not know it. */
static bool id_fits(const json_t *answer, json_int_t id, bool is_error)
{
    const json_t *theirs = json_object_get(answer, "id");
    if (theirs == NULL || json_is_null(theirs))
        return is_error;
    uint64_t number;
    return field_number(theirs, UINT64_MAX, &number) && number == (uint64_t)id;
}

static void read_error(const json_t *object, struct call_error *error)
{
    const json_t *code = json_object_get(object, "code");
    const char *message = json_string_value(json_object_get(object, "message"));
    error->code = json_is_integer(code) ? json_integer_value(code) : 0;
    snprintf(error->message, sizeof error->message, "%s", message != NULL ? message : "");
    for (char *at = error->message; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == '"' || *at == 0x7f)
            *at = '\'';
}

static enum err refuse(const char *method, const struct call_error *error, struct detail *detail)
{
    enum err e = is_server_error(error->code) ? ERR_RPC_UNAVAILABLE : ERR_RPC_REFUSED;
    return detail_set(detail, e, "%s: error %" PRId64 " %s", method, error->code, error->message);
}

static enum err not_an_answer(const char *method, long status, const char *what, struct detail *detail)
{
    if (status != 200)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s: HTTP status %ld", method, status);
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s: the response %s", method, what);
}

static enum err read_answer(const struct rpc_call *call, struct bytes body, json_t **result,
    struct call_error *error, struct detail *detail)
{
    const char *method = call->method;
    const long status = call->transfer.status;
    json_error_t fault;
    struct detail why;
    if (!json_is_within(body, call->limits->depth, call->limits->values, &why))
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s: the response %s", method, why.text);
    bool readable = status == 200 || (status >= 400 && status < 500 && status != 429);
    AUTO_JSON json_t *answer =
        readable ? json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, &fault) : NULL;
    if (!json_is_object(answer))
        return not_an_answer(method, status, "is not a JSON object", detail);
    json_t *error_object = json_object_get(answer, "error");
    bool is_error = json_is_object(error_object);
    if (!id_fits(answer, call->id, is_error))
        return not_an_answer(method, status, "is to another request", detail);
    if (is_error) {
        read_error(error_object, error);
        return refuse(method, error, detail);
    }
    json_t *value = json_object_get(answer, "result");
    if (status != 200 || !json_is_object(value))
        return not_an_answer(method, status, "has no result", detail);
    *result = json_incref(value);
    return ERR_OK;
}

/* What one address has answered. */
static enum err read_transfer(struct rpc_call *call, struct lift *lifted, json_t **result,
    struct call_error *error, struct detail *detail)
{
    struct loop_transfer *transfer = &call->transfer;
    *error = (struct call_error){.status = transfer->status};
    if (transfer->e != ERR_OK)
        return detail_set(detail, transfer->e, "%s: %s", call->method, transfer->detail.text);
    if (lifted == NULL)
        return read_answer(call, buf_bytes(&transfer->body), result, error, detail);
    lift_values(lifted, transfer->body);
    transfer->body = (struct buf){0};
    return read_answer(call, buf_bytes(&lifted->rest), result, error, detail);
}

_Static_assert(METRIC_MAX_RPC == RPC_ADDRESSES_MAX, "each address of RPC_URL is counted by itself");

static unsigned number_of(const struct rpc_call *call)
{
    return call->rpc->first + (unsigned)call->at;
}

static void count(const struct rpc_call *call, enum err e, bool answered)
{
    const unsigned of = number_of(call) - 1, name = metric_label_find(METRIC_METHOD, call->method);
    const unsigned result = e == ERR_OK          ? METRIC_CALL_OK
                            : answered           ? METRIC_CALL_ERROR
                            : e == ERR_CANCELLED ? METRIC_CALL_CANCELLED
                                                 : METRIC_CALL_FAILED;
    metric_add(METRIC_RPC_CALLS, of, METRIC_PAIR(name, result, RESULT), 1);
    metric_observe(METRIC_RPC_SECONDS, of, name, call->transfer.took_us);
}

static bool refuses(const struct loop_transfer *transfer)
{
    return transfer->status == 429 || transfer->status == 503;
}

static bool fails_over(const struct rpc_call *call, enum err e, const struct call_error *error)
{
    if (call->limits->class == RPC_SIMULATIONS && (e == ERR_OVERLOADED || refuses(&call->transfer)))
        return false;
    return e == ERR_RPC_UNAVAILABLE || e == ERR_OVERLOADED || (e == ERR_RPC_REFUSED && error->status != 200);
}

/* That an address takes simulations again, only a simulation shows; that it hangs, only another call: one
 * client's simulation may take long by itself. An internal error is an answer; a refusal
 * with an HTTP error, a quota's for example, is none. */
static void note(const struct rpc_call *call, enum err e, const struct call_error *error)
{
    const struct loop_transfer *transfer = &call->transfer;
    if (call->aside || transfer->begun_ms == 0 || e == ERR_CANCELLED)
        return;
    const bool answers = e == ERR_OK || (error->code != 0 && error->status == 200);
    const bool simulates = call->limits->class == RPC_SIMULATIONS;
    const bool refused = refuses(transfer) || (transfer->timed_out && !simulates);
    if (answers && !refused && !simulates)
        return;
    address_note(transfer->address,
        refused   ? ADDRESS_REFUSES
        : answers ? ADDRESS_WORKS
                  : ADDRESS_FAILS,
        transfer->begun_ms, transfer->retry_after_s);
}

/* ---- handing over */

/* The loop's thread calls it. A call without a continuation is not touched after the mutex is free. */
static void arrived(struct loop_transfer *transfer)
{
    struct rpc_call *call = (struct rpc_call *)transfer;
    struct rpc *rpc = call->rpc;
    const bool waits = call->ask.done == NULL;
    if (!waits)
        call->ask.done(call->ask.context);
    pthread_mutex_lock(&rpc->mutex);
    if (waits)
        call->arrived = true;
    rpc->open--;
    pthread_cond_broadcast(&rpc->changed);
    pthread_mutex_unlock(&rpc->mutex);
}

/* Once it is, another thread may have read the answer and freed the call. */
static void hand_over(struct rpc_call *call, unsigned after_ms)
{
    struct rpc *rpc = call->rpc;
    const int64_t now_ms = clock_ms();
    const bool asks = call->at < rpc->count;
    buf_free(&call->transfer.body);
    call->transfer = (struct loop_transfer){
        .item = {.client = call->ask.client, .deadline_ms = now_ms + after_ms + rpc->wait_ms},
        .address = asks ? rpc->addresses[call->at] : NULL,
        .class = call->limits->class,
        .json = call->json,
        .request_id = call->ask.request_id,
        .number = number_of(call),
        .max_body = call->limits->bytes,
        .not_before_ms = now_ms + after_ms,
        .timeout_ms = rpc->timeout_ms,
        .cancelled = &rpc->cancelled,
        .gone = call->ask.gone,
        .done = arrived};
    pthread_mutex_lock(&rpc->mutex);
    rpc->open++;
    call->arrived = false;
    if (asks)
        rpc->last = number_of(call);
    pthread_mutex_unlock(&rpc->mutex);
    if (asks)
        loop_run(&call->transfer);
    else
        arrived(&call->transfer);
}

/* Those that have failed lately come last, after them those that are avoided. */
static void choose(struct rpc_call *call)
{
    struct rpc *rpc = call->rpc;
    unsigned best = UINT_MAX;
    call->at = rpc->count;
    for (size_t i = 0; i < rpc->count; i++) {
        const struct address_state state = address_state(rpc->addresses[i]);
        const bool may =
            !call->asked[i] && (call->limits->class != RPC_SIMULATIONS || state.refuses_ms <= rpc->wait_ms);
        if (may && state.rank < best) {
            best = state.rank;
            call->at = i;
        }
    }
    if (call->at < rpc->count)
        call->asked[call->at] = true;
}

static void begin_repeats(struct rpc_call *call)
{
    call->pause_ms = PAUSE_MIN_MS;
    call->repeats_until_ms = clock_ms() + RPC_ENTRIES_RETRIES_MS;
}

/* *out is set before the answer can come. */
static void begin(const struct rpc *asking, const char *method, json_t *params,
    const struct call_options *options, struct rpc_call **out)
{
    struct rpc_call *call = *out = NEW(struct rpc_call);
    struct rpc *rpc = call->rpc = asking->shared;
    call->ask = asking->ask;
    call->method = method;
    call->limits = call_limits_of(method);
    call->aside = options->aside;
    if (options->repeats)
        begin_repeats(call);
    pthread_mutex_lock(&rpc->mutex);
    call->id = ++rpc->last_id;
    pthread_mutex_unlock(&rpc->mutex);
    call->json = write_request(call->id, method, params);
    choose(call);
    hand_over(call, 0);
}

bool call_is_of(const struct rpc *rpc, const char *method)
{
    return rpc->shared != rpc && rpc->call != NULL && strcmp(rpc->call->method, method) == 0;
}

void call_free(struct rpc_call *call)
{
    if (call == NULL)
        return;
    buf_free(&call->transfer.body);
    free(call->json);
    free(call);
}

/* ---- answers */

/* Each request for a simulation makes a call, also when no address answers. */
static bool ask_next(struct rpc_call *call, const struct detail *why)
{
    static struct rate_limit limit;
    const unsigned failed = number_of(call);
    unsigned not_logged;
    choose(call);
    if (call->at == call->rpc->count)
        return false;
    if (rate_limit_line(&limit, &not_logged))
        log_warn("an RPC failed; trying the next one of RPC_URL",
            "failed=%u next=%u detail=\"%s\" not_logged=%u", failed, number_of(call), why->text, not_logged);
    if (call->pause_ms != 0)
        begin_repeats(call);
    hand_over(call, 0);
    return true;
}

int call_retry_after_s(const struct rpc *rpc)
{
    int least_ms = INT_MAX;
    for (size_t i = 0; i < rpc->shared->count; i++) {
        const int left_ms = address_state(rpc->shared->addresses[i]).refuses_ms;
        least_ms = left_ms < least_ms ? left_ms : least_ms;
    }
    return (int)(((int64_t)least_ms + 999) / 1000);
}

bool rpc_is_scarce(struct rpc *rpc)
{
    bool any[2] = {false}, has_other = false; /* 1: of those that are avoided */
    for (size_t i = 0; i < rpc->count; i++) {
        const bool avoided = atomic_load(&rpc->addresses[i]->avoided);
        any[avoided] |= address_state(rpc->addresses[i]).is_scarce;
        has_other |= !avoided;
    }
    return any[!has_other];
}

static bool repeats(struct rpc_call *call, const struct call_error *error)
{
    if (call->pause_ms == 0 || error->code != CALL_INTERNAL_ERROR ||
        clock_left_ms(call->repeats_until_ms) == 0)
        return false;
    const unsigned pause_ms = call->pause_ms;
    call->pause_ms = pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
    hand_over(call, pause_ms);
    return true;
}

static void wait_for(struct rpc_call *call)
{
    pthread_mutex_lock(&call->rpc->mutex);
    while (!call->arrived)
        pthread_cond_wait(&call->rpc->changed, &call->rpc->mutex);
    pthread_mutex_unlock(&call->rpc->mutex);
}

/* ERR_NOT_YET: it is repeated, or another address is asked. Then another thread may have ended it. */
static enum err answer(
    struct rpc_call *call, const struct call_options *options, json_t **result, struct detail *detail)
{
    struct call_error own, *error = options->error != NULL ? options->error : &own;
    struct detail why = {""};
    *error = (struct call_error){0};
    if (call->at == call->rpc->count)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "%s: no RPC takes it now: each has just refused, or not answered in time", call->method);
    enum err e = read_transfer(call, options->lifted, result, error, &why);
    count(call, e, error->code != 0);
    note(call, e, error);
    if (e == ERR_OK && options->judge != NULL &&
        (e = options->judge(*result, options->context, &why)) != ERR_OK) {
        json_decref(*result);
        *result = NULL;
    }
    if (!atomic_load(&call->rpc->cancelled) &&
        (repeats(call, error) || (fails_over(call, e, error) && ask_next(call, &why))))
        return ERR_NOT_YET;
    return e != ERR_OK ? detail_set(detail, e, "%s", why.text) : e;
}

enum err call_with(struct rpc *rpc, const char *method, json_t *params, const struct call_options *options,
    json_t **result, struct detail *detail)
{
    const bool blocks = rpc->shared == rpc;
    struct rpc_call *own = NULL, **at = blocks ? &own : &rpc->call;
    enum err e = ERR_NOT_YET;
    *result = NULL;
    if (*at != NULL) {
        json_decref(params);
        e = answer(*at, options, result, detail);
    } else {
        begin(rpc, method, params, options, at);
    }
    while (e == ERR_NOT_YET && blocks) {
        wait_for(own);
        e = answer(own, options, result, detail);
    }
    if (e != ERR_NOT_YET) {
        call_free(*at);
        *at = NULL;
    }
    return e;
}

enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result, struct call_error *error,
    struct detail *detail)
{
    return call_with(rpc, method, params, &(struct call_options){.error = error}, result, detail);
}

enum err rpc_check_methods(struct rpc *rpc, struct detail *detail)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct call_error error;
        AUTO_JSON json_t *result = NULL;
        enum err e = call(rpc, table[i].method, NULL, &result, &error, detail);
        if (error.code == CALL_METHOD_NOT_FOUND)
            return detail_set(detail, ERR_CONFIG,
                "it lacks the method %s, which fairway needs: take another provider", table[i].method);
        if (e != ERR_OK && error.code == 0)
            return e;
    }
    return ERR_OK;
}
