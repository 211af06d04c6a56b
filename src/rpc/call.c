/* One call of JSON-RPC, at the next address when one fails. What a result means, its method's file reads. */
#include "call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/rate_limit.h"
#include "field.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/*
 * Far above what stellar-rpc sends: a ledger has 8 members, an entry 6. The diagnostic events of a
 * transaction are an array of strings. getLedgers: ingestion asks for fewer ledgers when they are too large
 * together.
 */
static const struct call_limits table[] = {
    {"getHealth", 64 * KIB, 1000, 16},
    {"getNetwork", 64 * KIB, 1000, 16},
    {"getLedgers", 64 * MIB, 10000, 16},
    {"getLedgerEntries", 16 * MIB, 20000, 16},
    {"getTransaction", 32 * MIB, 100000, 16},
    {"sendTransaction", 4 * MIB, 20000, 16},
};

static const struct call_limits others = {"", 32 * MIB, 100000, 64};

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

static char *write_request(struct rpc *rpc, const char *method, json_t *params)
{
    json_t *request = json_pack("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", ++rpc->last_id, "method", method);
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

static enum err read_answer(struct rpc *rpc, const char *method, long status, struct bytes body,
    json_t **result, struct call_error *error, struct detail *detail)
{
    json_error_t fault;
    struct detail why;
    if (!json_is_within(body, call_limits_of(method)->depth, call_limits_of(method)->values, &why))
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s: the response %s", method, why.text);
    bool readable = status == 200 || (status >= 400 && status < 500 && status != 429);
    AUTO_JSON json_t *answer =
        readable ? json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, &fault) : NULL;
    if (!json_is_object(answer))
        return not_an_answer(method, status, "is not a JSON object", detail);
    json_t *error_object = json_object_get(answer, "error");
    bool is_error = json_is_object(error_object);
    if (!id_fits(answer, rpc->last_id, is_error))
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

static enum err post_current(struct rpc *rpc, const char *method, const char *request, struct lift *lifted,
    json_t **result, struct call_error *error, struct detail *detail)
{
    struct bytes body;
    struct detail why = {""};
    long status;
    *error = (struct call_error){0};
    enum err e = transport_post(
        rpc->transports[rpc->current], request, call_limits_of(method)->bytes, &status, &body, &why);
    error->status = status;
    if (e != ERR_OK)
        return detail_set(detail, e, "%s: %s", method, why.text);
    if (lifted != NULL) {
        lift_values(lifted, transport_take(rpc->transports[rpc->current]));
        body = buf_bytes(&lifted->rest);
    }
    return read_answer(rpc, method, status, body, result, error, detail);
}

_Static_assert(METRIC_MAX_RPC == RPC_ADDRESSES_MAX, "each address of RPC_URL is counted by itself");

static void count(const struct rpc *rpc, const char *method, enum err e, bool answered, int64_t took_us)
{
    const unsigned of = rpc_address(rpc) - 1, name = metric_label_find(METRIC_METHOD, method);
    const unsigned result = e == ERR_OK          ? METRIC_CALL_OK
                            : answered           ? METRIC_CALL_ERROR
                            : e == ERR_CANCELLED ? METRIC_CALL_CANCELLED
                                                 : METRIC_CALL_FAILED;
    metric_add(METRIC_RPC_CALLS, of, METRIC_PAIR(name, result, RESULT), 1);
    metric_observe(METRIC_RPC_SECONDS, of, name, took_us);
}

static enum err call_current(struct rpc *rpc, const char *method, const char *request, struct lift *lifted,
    json_t **result, struct call_error *error, struct detail *detail)
{
    const int64_t began_us = clock_us();
    enum err e = post_current(rpc, method, request, lifted, result, error, detail);
    count(rpc, method, e, error->code != 0, clock_us() - began_us);
    return e;
}

static bool fails_over(enum err e, const struct call_error *error, bool repeatable)
{
    if (repeatable && error->code == CALL_INTERNAL_ERROR)
        return false;
    return e == ERR_RPC_UNAVAILABLE || (e == ERR_RPC_REFUSED && error->status != 200);
}

/* Each request for a simulation makes a call, also when no address answers. */
void call_next_address(struct rpc *rpc, bool tries, const struct detail *why)
{
    static struct rate_limit limit;
    const unsigned failed = rpc_address(rpc);
    unsigned not_logged;
    rpc->current = (rpc->current + 1) % rpc->count;
    if (tries && rate_limit_line(&limit, &not_logged))
        log_warn("an RPC failed; trying the next one of RPC_URL",
            "failed=%u next=%u detail=\"%s\" not_logged=%u", failed, rpc_address(rpc), why->text, not_logged);
}

enum err call_each(struct rpc *rpc, const char *method, json_t *params, struct lift *lifted, json_t **result,
    struct call_error *error, bool repeatable, struct detail *detail)
{
    struct call_error own;
    struct detail last = {""};
    enum err e = ERR_OK;
    error = error != NULL ? error : &own;
    *result = NULL;
    AUTO_FREE char *request = write_request(rpc, method, params);
    for (size_t tried = 1; tried <= rpc->count; tried++) {
        e = call_current(rpc, method, request, lifted, result, error, &last);
        if (rpc->count == 1 || !fails_over(e, error, repeatable))
            break;
        call_next_address(rpc, tried < rpc->count, &last);
    }
    return e != ERR_OK ? detail_set(detail, e, "%s", last.text) : e;
}

enum err call(struct rpc *rpc, const char *method, json_t *params, json_t **result, struct call_error *error,
    struct detail *detail)
{
    return call_each(rpc, method, params, NULL, result, error, false, detail);
}
