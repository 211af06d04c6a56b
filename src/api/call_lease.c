/* Reads a client's request for a lease, checks and simulates its transaction, and hands it to the engine.
 * What becomes of it, its endpoint replies. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "call.h"
#include "api/judge.h"
#include "prepare.h"

/* Like the transaction's own max time: less than the minimum is refused, more than the maximum is cut. */
static enum err read_timeout(const json_t *body, uint32_t *timeout_s, struct detail *detail)
{
    uint64_t seconds = 0;
    *timeout_s = 0;
    if (!json_read_has(body, "timeoutSeconds"))
        return ERR_OK;
    enum err e = json_read_number(body, "timeoutSeconds", 0, INT64_MAX, &seconds, detail);
    if (e == ERR_OK && seconds < LEASE_SECONDS_MIN)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "timeoutSeconds must be at least %d; more than %d counts as %d.", LEASE_SECONDS_MIN,
            LEASE_SECONDS_MAX, LEASE_SECONDS_MAX);
    *timeout_s = seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
    return e;
}

static enum err read_reference(const json_t *body, struct lease_request *request, struct detail *detail)
{
    const char *text;
    if (!json_read_has(body, "reference"))
        return ERR_OK;
    enum err e = json_read_text(body, "reference", &text, detail);
    if (e != ERR_OK)
        return e;
    if (text[0] == '\0' || strlen(text) >= sizeof request->reference)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "reference must be 1 to %d bytes of UTF-8.", REFERENCE_SIZE - 1);
    snprintf(request->reference, sizeof request->reference, "%s", text);
    return ERR_OK;
}

/* What a key is for, of a call that is submitted: all but maxFee, which a repeat may raise. Its text has a
 * prefix, because the same body may have been sent to the other endpoint. */
static struct hash digest_of_call(const json_t *body)
{
    AUTO_JSON json_t *rest = json_copy((json_t *)body);
    json_object_del(rest, "maxFee");
    AUTO_FREE char *text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    const struct bytes parts[] = {{(const uint8_t *)"call", 4}, {(const uint8_t *)text, strlen(text)}};
    return sha256_parts(parts, ARRAY_LEN(parts));
}

static enum err read_request(struct call *call, const json_t *body, struct detail *detail)
{
    static const char *const names[] = {
        "transactionXdr", "func", "auth", "timeoutSeconds", "reference", "maxFee"};
    struct lease_request *request = call->lease;
    enum err e;
    if ((e = json_read_only(body, names, ARRAY_LEN(names) - !request->submits, detail)) != ERR_OK ||
        (e = read_timeout(body, &request->timeout_s, detail)) != ERR_OK ||
        (e = read_reference(body, request, detail)) != ERR_OK ||
        (e = call_read_max_fee(body, &request->max_fee_stroops, detail)) != ERR_OK ||
        (e = prepare_read(call, body, detail)) != ERR_OK)
        return e;
    policy_invoked_contract(&request->envelope, request->contract);
    request->limits = *api_limits(call->http);
    snprintf(request->client, sizeof request->client, "%s", api_client(call->http));
    snprintf(request->request_id, sizeof request->request_id, "%s", call->http->id);
    if (request->submits && request->idempotency_key[0] != '\0')
        request->digest = digest_of_call(body);
    return ERR_OK;
}

/*
 * Submits the request to the engine, unless e says that it is refused. A request with an Idempotency-Key, or
 * with entries, is submitted anyway, because there may be a lease of an earlier one. Another with only a
 * token is not: a token is valid for seconds.
 */
static enum err enqueue(struct call *call, enum err e, const struct detail *detail)
{
    struct lease_request *request = call->lease;
    const struct api_sender *sender = call->http->kept;
    request->refusal = e;
    if (e != ERR_OK && !call->has_key && request->authorization.count == 0)
        return e;
    if (e != ERR_OK) {
        request->refusal_detail = *detail;
        request->named.count = 0;
    }
    call->ticket.had = sender != NULL ? client_load_had(sender->load) : NULL;
    call->ticket.wait_ms = call->watch.deadline_ms - clock_ms();
    return engine_submit(call->api->settings.engine, &call->ticket);
}

static enum err begin_simulation(struct call *call, struct detail *detail)
{
    const struct api_sender *sender = call->http->kept;
    if (sender == NULL)
        return ERR_OK;
    call->refused_by = client_loads_begin_simulation(&call->api->loads, sender->load, api_limits(call->http),
        sender->client.others, rpc_is_scarce(call->api->rpc), clock_us());
    return call->refused_by == LIMIT_NONE
               ? ERR_OK
               : detail_set(detail, ERR_LIMIT_EXCEEDED,
                     "requestsPerSecond: too many simulations of this client fail.");
}

/* One that fails costs the RPC, which others need too. */
static void end_simulation(const struct call *call, enum err e)
{
    const struct api_sender *sender = call->http->kept;
    if (sender != NULL)
        client_loads_end_simulation(&call->api->loads, sender->load, api_limits(call->http),
            e != ERR_OK && err_status(e) < 500, rpc_is_scarce(call->api->rpc), clock_us());
}

static void simulated(struct worker_job *job, enum err e, struct db *unused)
{
    struct call *call = call_of_job(job);
    struct detail detail = {0};
    (void)unused;
    if (e == ERR_OK)
        e = prepare_simulated(call, &detail);
    if (e == ERR_NOT_YET) /* another thread may have it */
        return;
    rpc_free(call->asked);
    end_simulation(call, e);
    e = enqueue(call, e, &detail);
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
}

static enum err submit(struct call *call, struct detail *detail)
{
    const struct api_settings *settings = &call->api->settings;
    enum err e = prepare_check(call, detail);
    if (e == ERR_OK)
        e = judge_network(settings, detail);
    if (e == ERR_OK && call->lease->envelope.soroban)
        e = begin_simulation(call, detail);
    if (e == ERR_OK && call->lease->envelope.soroban) {
        (void)call_ask(call, simulated);
        prepare_simulate(call);
        return ERR_OK;
    }
    return enqueue(call, e, detail);
}

void call_lease(struct call *call, bool submits, const json_t *body)
{
    struct detail detail = {0};
    call->ticket.kind = TICKET_LEASE;
    call->ticket.grant.request = call->lease;
    call->lease->submits = submits;
    enum err e = call->shares[SHARE_WAIT] ? ERR_OK : call_take_share(call, SHARE_LEASE);
    if (e == ERR_OK)
        e = read_request(call, body, &detail);
    if (e == ERR_OK) {
        call_on_client_gone(call);
        e = submit(call, &detail);
    }
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
}
