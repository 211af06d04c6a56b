/* Prepares the transaction of a lease. Only resources and their fee are taken from the RPC, never what is
 * called. */
#include "prepare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "api/judge.h"
#include "reply.h"
#include "stellar/authorization.h"
#include "stellar/envelope_build.h"
#include "xdr/xdr.h"

/* A value that a contract returns counts as its events do: 16,384 bytes at most (CAP-46-07). A larger one is
 * not passed on. */
#define RETURNED_MAX 65536

/* The network's limits are read again after so many ledgers: it may have voted for others. */
#define LIMITS_LEDGERS 12
/* Half a year: no vote has made entries live for longer. A nonce that the network would know for longer, a
 * simulation finds. */
#define MAX_ENTRY_TTL 3110400

/* How it begins when an entry is missing, is not signed as its account wants, or has expired. */
#define AUTHORIZATION_FAILS "Error(Auth, "

/* Appends a value of this type. */
static enum err read_part(
    const json_t *text, const char *name, enum xdr_type type, struct buf *out, struct detail *detail)
{
    const size_t start = out->len;
    if (!json_is_string(text))
        return detail_set(detail, ERR_INVALID_REQUEST, /* ours: the API's form */
            "%s must be base64 of a %s.", name, xdr_type_name(type));
    if (base64_decode(json_string_value(text), json_string_length(text), out) != ERR_OK ||
        xdr_check(type, (struct bytes){out->data + start, out->len - start}) != ERR_OK)
        return detail_set(detail, ERR_INVALID_TRANSACTION_XDR, /* RFC 4506; RFC 4648, 3.5 */
            "%s is not the canonical base64 of a %s.", name, xdr_type_name(type));
    return ERR_OK;
}

static enum err read_call(struct call *call, const json_t *body, struct detail *detail)
{
    const json_t *auth = json_object_get(body, "auth"), *entry;
    struct buf function CLEANUP(buf_free) = {0}, entries CLEANUP(buf_free) = {0};
    size_t i;
    if (json_read_has(body, "transactionXdr"))
        return detail_set(detail, ERR_INVALID_REQUEST, /* ours: the API's form */
            "Send either transactionXdr, or func and auth.");
    if (!json_is_array(auth))
        return detail_set(detail, ERR_INVALID_REQUEST, /* the same */
            "auth must be a list of SorobanAuthorizationEntry.");
    enum err e = read_part(json_object_get(body, "func"), "func", XDR_HostFunction, &function, detail);
    json_array_foreach(auth, i, entry)
    {
        char name[32];
        snprintf(name, sizeof name, "auth[%zu]", i);
        if (e == ERR_OK)
            e = read_part(entry, name, XDR_SorobanAuthorizationEntry, &entries, detail);
    }
    if (e == ERR_OK)
        envelope_build_call(&call->api->settings.limits.distribution, buf_bytes(&function),
            buf_bytes(&entries), (uint32_t)json_array_size(auth), &call->xdr);
    return e;
}

enum err prepare_read(struct call *call, const json_t *body, struct detail *detail)
{
    const bool is_call = json_read_has(body, "func") || json_read_has(body, "auth");
    enum err e = is_call ? read_call(call, body, detail) : api_read_envelope(body, &call->xdr, detail);
    if (e == ERR_OK)
        e = envelope_decode(buf_bytes(&call->xdr), &call->client, detail);
    if (e == ERR_OK)
        call->lease->envelope = call->client;
    return e;
}

/* The request's envelope becomes the client's with this SorobanTransactionData. */
static enum err set_resources(struct call *call, struct bytes data, struct detail *detail)
{
    struct envelope *envelope = &call->lease->envelope;
    buf_clear(&call->prepared);
    envelope_build_with_resources(&call->client, data, &call->prepared);
    enum err e = envelope_decode(buf_bytes(&call->prepared), envelope, detail);
    envelope->preconditions = call->client.preconditions; /* also those that policy_check refuses */
    return e;
}

static enum err refuse_unsigned(
    struct call *call, const struct authorization *authorization, struct detail *detail)
{
    char address[AUTHORIZATION_ADDRESS_SIZE];
    struct json_write out = {0};
    json_write_begin(&out, 1024);
    json_write_open(&out, "addresses", '[');
    for (size_t i = 0; i < authorization->unsigned_count && i < AUTHORIZATION_UNSIGNED_MAX; i++) {
        authorization_address(authorization->unsigned_addresses[i], address);
        json_write_text(&out, NULL, address);
    }
    json_write_close(&out, ']');
    free(call->members);
    call->members = json_write_end(&out);
    authorization_address(authorization->unsigned_addresses[0], address);
    return detail_set(detail,
        ERR_SIGNATURE_MISSING, /* CAP-46-11: an account may take none, so the host judges */
        "The authorization entry of %s has no signature (%u have none). Have it signed.", address,
        authorization->unsigned_count);
}

enum err prepare_check(struct call *call, struct detail *detail)
{
    static const uint8_t no_resources[32] = {0}; /* SorobanTransactionData without entries */
    struct lease_request *request = call->lease;
    enum err e = ERR_OK;
    call->prepares = policy_invokes_for_entries(&call->client);
    if (policy_invokes(&call->client))
        e = authorization_read(&call->client, &request->authorization);
    if (e == ERR_OK && call->prepares)
        e = set_resources(call, BYTES_OF(no_resources), detail);
    return e != ERR_OK
               ? e
               : policy_check(&request->envelope, &call->api->settings.limits, &request->named, detail);
}

/* Rounded up; at most max. */
static uint64_t with_margin(uint64_t value, unsigned percent, uint64_t max)
{
    uint64_t more;
    if (__builtin_mul_overflow(value, (uint64_t)percent + 100, &more) || more / 100 >= max)
        return max;
    return more / 100 + (more % 100 != 0);
}

/* SorobanTransactionData ends with three resources (uint32) and the fee (int64). The fee is linear in each of
 * them, so the same margin for all covers it. Above a limit of the network it is txSOROBAN_INVALID. What
 * needs more than a limit has no margin: the network may have voted for a higher one. */
static void add_margin(struct buf *data, int64_t least_fee_stroops, struct api *api)
{
    const unsigned percent = api->settings.resource_margin_percent;
    uint8_t *end = data->data + data->len;
    for (size_t i = 0; i < RPC_LIMITS; i++) {
        uint8_t *resource = end - 20 + 4 * i;
        const uint32_t least = be32_get(resource), limit = atomic_load(&api->limits[i]);
        be32_put(resource, (uint32_t)with_margin(least, percent, least > limit ? least : limit));
    }
    be64_put(end - 8, with_margin((uint64_t)least_fee_stroops, percent, INT64_MAX));
}

static enum err refuse_reading(
    struct call *call, const struct rpc_simulation *simulation, struct detail *detail)
{
    struct json_write out = {0};
    if (simulation->returned.len != 0 && simulation->returned.len <= RETURNED_MAX) {
        json_write_begin(&out, 64 + simulation->returned.len * 4 / 3);
        json_write_base64(&out, "returnValue", buf_bytes(&simulation->returned));
        call->members = json_write_end(&out);
    }
    return detail_set(detail, ERR_NOTHING_TO_SUBMIT, /* ours: it costs a fee; the SDK's isReadCall */
        "The call changes nothing, so there is nothing to submit. The value that it returns is in "
        "returnValue.");
}

static enum err take_resources(struct call *call, struct rpc_simulation *simulation, struct detail *detail)
{
    struct lease_request *request = call->lease;
    if (simulation->data.len == 0)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, /* stellar-rpc: a simulation that succeeds has it */
            "simulateTransaction: transactionData is missing in the response");
    add_margin(&simulation->data, simulation->resource_fee_stroops, call->api);
    if (set_resources(call, buf_bytes(&simulation->data), detail) != ERR_OK)
        return ERR_RPC_UNAVAILABLE;
    return request->envelope.read_write_count == 0 && !simulation->emits
               ? refuse_reading(call, simulation, detail)
               : ERR_OK;
}

/* What the lease claims. Of a call that entries alone authorize they set max ledger, which is exclusive. The
 * network keeps no nonce for longer than last, whatever a copy of its entry says. */
static enum err keep_consumed(struct call *call, uint64_t last)
{
    struct lease_request *request = call->lease;
    uint32_t *max_ledger = &request->envelope.preconditions.max_ledger;
    enum err e = authorization_keep_consumed(&request->authorization, &request->envelope);
    const uint32_t expires = request->authorization.expires_ledger;
    if (call->prepares && expires != UINT32_MAX && (*max_ledger == 0 || *max_ledger > expires + 1))
        *max_ledger = expires + 1;
    for (size_t i = 0; i < request->authorization.count; i++)
        if (request->authorization.entries[i].expires_ledger > last)
            request->authorization.entries[i].expires_ledger = (uint32_t)last;
    return e;
}

static void simulate(struct call *call)
{
    const struct envelope *envelope = &call->lease->envelope;
    struct buf xdr CLEANUP(buf_free) = {0}, transaction CLEANUP(buf_free) = {0};
    const struct transaction_head head = {
        call->prepares ? call->api->settings.limits.distribution : envelope->source, envelope->fee_stroops,
        envelope->sequence, envelope->preconditions.max_time_s};
    transaction_build(envelope, &head, &transaction); /* as V1, whatever form the client has sent */
    envelope_build(buf_bytes(&transaction), NULL, NULL, 0, &xdr);
    struct rpc_simulation begun;
    (void)!rpc_simulate(call->asked, buf_bytes(&xdr), policy_invokes(envelope), 0, &begun, NULL);
}

void prepare_simulate(struct call *call)
{
    const uint32_t tip = judge_seen_ledger(&call->api->settings);
    uint32_t asked_for = atomic_load(&call->api->limits_asked_for), begun[RPC_LIMITS];
    call->reads_limits =
        policy_invokes(&call->client) && (asked_for == 0 || tip > asked_for + LIMITS_LEDGERS) &&
        atomic_compare_exchange_strong(&call->api->limits_asked_for, &asked_for, tip > 0 ? tip : 1);
    if (call->reads_limits)
        (void)!rpc_limits(call->asked, begun, NULL);
    else
        simulate(call);
}

/* When the RPC does not tell them, the last ones count. */
static void read_limits(struct call *call)
{
    uint32_t limits[RPC_LIMITS];
    const enum err e = rpc_limits(call->asked, limits, NULL);
    if (e == ERR_NOT_YET)
        return;
    for (size_t i = 0; e == ERR_OK && i < RPC_LIMITS; i++)
        if (limits[i] != 0)
            atomic_store(&call->api->limits[i], limits[i]);
    call->reads_limits = false;
    simulate(call);
}

static enum err refuse_failed(struct call *call, struct rpc_simulation *simulation, struct detail *detail)
{
    const struct authorization *authorization = &call->lease->authorization;
    enum err e = ERR_OK;
    call->members = simulation->report;
    simulation->report = NULL;
    if (simulation->nonce_used)
        return detail_set(detail, ERR_AUTHORIZATION_USED, /* CAP-46-11: a nonce is consumed once */
            "The network has consumed the nonce of an authorization entry: see simulationError. Look for "
            "what it executed before the user signs another one.");
    if (strstr(simulation->error, AUTHORIZATION_FAILS) != NULL)
        e = authorization->unsigned_count != 0
                ? refuse_unsigned(call, authorization, detail)
                : policy_check_expiry(authorization->expires_ledger, simulation->ledger, detail);
    return e != ERR_OK ? e
                       : detail_set(detail, ERR_SIMULATION_FAILED, /* ours: it would fail, and be charged */
                             "The transaction fails when it is simulated: %s", simulation->error);
}

enum err prepare_simulated(struct call *call, struct detail *detail)
{
    if (call->reads_limits) {
        read_limits(call);
        return ERR_NOT_YET;
    }
    struct rpc_simulation simulation CLEANUP(rpc_simulation_free) = {0};
    enum err e = rpc_simulate(
        call->asked, (struct bytes){0}, false, judge_seen_ledger(&call->api->settings), &simulation, detail);
    if (e == ERR_NOT_YET) /* another thread may have the call */
        return e;
    if (e != ERR_OK) {
        call->retry_after_s = simulation.retry_after_s;
        return call_no_result(e);
    }
    if (!simulation.succeeds)
        return refuse_failed(call, &simulation, detail);
    if (simulation.restores)
        return detail_set(detail,
            ERR_SIMULATION_FAILED, /* CAP-66: what is written is restored by the call itself */
            "The transaction needs entries that are archived. Restore them first, with a transaction of its "
            "own (RestoreFootprint).");
    e = call->prepares
            ? take_resources(call, &simulation, detail)
            : policy_check_simulated_fee(&call->lease->envelope, simulation.resource_fee_stroops, detail);
    if (e == ERR_OK)
        e = keep_consumed(call, (uint64_t)simulation.ledger + MAX_ENTRY_TTL);
    return e != ERR_OK || !call->prepares ? e
                                          : policy_check(&call->lease->envelope, &call->api->settings.limits,
                                                &call->lease->named, detail);
}
