/* Reads a client's request for a lease, checks and simulates its transaction, and hands it to the engine.
 * What becomes of it, its endpoint replies. */
#include "lease_call.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/natural_key.h"

void lease_call_wipe(struct lease_call *call)
{
    lease_wipe(&call->ticket.grant.lease);
    prepare_wipe(&call->prepare);
}

void lease_call_reply_error(struct lease_call *call, enum err e, const struct detail *detail)
{
    const struct grant *grant = &call->ticket.grant;
    char hex[HASH_HEX_SIZE], *members = NULL;
    if (e == ERR_AUTHORIZATION_LEASED) {
        hash_encode(&grant->lease.hash, hex);
        members = mem_format("{\"hash\":\"%s\"}", hex);
    } else if (e == call->request.refusal) {
        members = call->prepare.members;
        call->prepare.members = NULL;
    }
    if (grant->limit != LIMIT_NONE)
        api_refuse_limit(call->http, e, detail, grant->limit, call->api->settings.ledger_ms);
    else
        api_refuse_with(call->http, e, detail, members);
}

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

/*
 * Without an Idempotency-Key, the token's hash is the key: a request that is captured and sent again has the
 * same token. (With one, the token names it.) The token itself is neither stored nor logged.
 */
static void take_token_as_key(struct lease_call *call)
{
    const struct auth_client *client = http_kept(call->http);
    char token[HASH_HEX_SIZE];
    if (client == NULL)
        return;
    hash_encode(&client->token, token);
    snprintf(call->request.idempotency_key, sizeof call->request.idempotency_key, "token:%s", token);
}

/* The hash of a client's body has been compared with its token, so it is not computed twice. */
static struct hash body_digest(const struct http_request *request)
{
    const struct auth_client *client = http_kept(request);
    return client != NULL ? client->body_hash : sha256(http_body(request));
}

/* Printable ASCII of the client's choice (draft-ietf-httpapi-idempotency-key-header, as plain text). */
enum err lease_call_take_key(struct lease_call *call, struct detail *detail)
{
    const char *key = http_header(call->http, "Idempotency-Key");
    size_t len = 0;
    while (key != NULL && key[len] >= ' ' && key[len] <= '~')
        len++;
    if (key != NULL && (key[len] != '\0' || len == 0 || len >= sizeof call->request.idempotency_key))
        return detail_set(detail, ERR_INVALID_REQUEST,
            "Idempotency-Key must be 1 to %d printable ASCII characters.", IDEMPOTENCY_KEY_SIZE - 1);
    call->has_key = key != NULL;
    if (key != NULL)
        memcpy(call->request.idempotency_key, key, len + 1);
    else
        take_token_as_key(call);
    if (call->request.idempotency_key[0] != '\0')
        call->request.digest = body_digest(call->http);
    return ERR_OK;
}

static enum err read_request(struct lease_call *call, const json_t *body, struct detail *detail)
{
    struct lease_request *request = &call->request;
    uint64_t max_fee = 0;
    enum err e;
    if ((e = read_timeout(body, &request->timeout_s, detail)) != ERR_OK ||
        (e = read_reference(body, request, detail)) != ERR_OK ||
        (json_read_has(body, "maxFee") &&
            (e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail)) != ERR_OK) ||
        (e = prepare_read(&call->prepare, body, detail)) != ERR_OK)
        return e;
    request->max_fee_stroops = (int64_t)max_fee;
    request->has_natural_key =
        natural_key(&call->api->settings.network, &request->envelope, &request->natural_key);
    request->limits = *api_limits(call->http);
    snprintf(request->client, sizeof request->client, "%s", api_client(call->http));
    snprintf(request->request_id, sizeof request->request_id, "%s", http_request_id(call->http));
    if (request->submits) /* the same body may have been sent to the other endpoint */
        request->digest = sha256(BYTES_OF(request->digest.bytes));
    return ERR_OK;
}

/*
 * Submits the request to the engine, unless e says that it is refused. A request with an Idempotency-Key, or
 * for a call, is submitted anyway, because there may be a lease of an earlier one. Another with only a token
 * is not: a token is valid for seconds.
 */
static enum err enqueue(struct lease_call *call, enum err e, const struct detail *detail)
{
    struct lease_request *request = &call->request;
    request->refusal = e;
    if (e != ERR_OK && !call->has_key && !request->has_natural_key)
        return e;
    if (e != ERR_OK) {
        request->refusal_detail = *detail;
        request->named.count = 0;
    }
    return engine_submit(call->api->settings.engine, &call->ticket);
}

static void simulate(struct rpc_work *work, enum err e, struct rpc *rpc)
{
    struct lease_call *call = work->context;
    struct detail detail = {0};
    if (e == ERR_OK)
        e = prepare_simulate(&call->prepare, rpc, &detail);
    e = enqueue(call, e, &detail);
    if (e != ERR_OK)
        call->refuse(call, e, &detail);
}

/* A service that started while the RPC was unavailable. */
static enum err check_network(const struct api_settings *settings, struct detail *detail)
{
    if (settings->network_checked == NULL || settings->network_checked(settings->ingest_context))
        return ERR_OK;
    return detail_set(
        detail, ERR_GRANTS_SUSPENDED, "Stellar RPC has not answered since the start of this replica");
}

static enum err submit(struct lease_call *call, struct detail *detail)
{
    const struct api_settings *settings = &call->api->settings;
    const uint32_t tip = settings->seen_ledger == NULL ? 0 : atomic_load(settings->seen_ledger);
    enum err e = prepare_check(&call->prepare, tip, detail);
    if (e == ERR_OK)
        e = check_network(settings, detail);
    if (e == ERR_OK && call->request.envelope.soroban) {
        call->simulation = (struct rpc_work){.item.client = api_sharer(call->http),
            .run = simulate,
            .kind = RPC_WORK_SIMULATION,
            .context = call};
        e = rpc_workers_submit(call->api->rpc_workers, &call->simulation);
        if (e == ERR_OK)
            return ERR_OK;
    }
    return enqueue(call, e, detail);
}

void lease_call_begin(struct lease_call *call, const json_t *body, void (*cancel)(void *call))
{
    struct detail detail = {0};
    call->ticket.kind = TICKET_LEASE;
    call->ticket.grant.request = &call->request;
    call->prepare = (struct prepare){.request = &call->request,
        .limits = &call->api->settings.limits,
        .margin_percent = call->api->settings.resource_margin_percent};
    enum err e = read_request(call, body, &detail);
    if (e == ERR_OK) {
        http_on_client_gone(call->http, cancel, call);
        e = submit(call, &detail);
    }
    if (e != ERR_OK)
        call->refuse(call, e, &detail);
}
