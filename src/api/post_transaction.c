/*
 * POST /v1/transactions: leases a channel account for a transaction. What can be refused without the database
 * is refused here; a Soroban transaction is simulated first. The rest waits in the lease engine. A retry with
 * the same Idempotency-Key gets the lease of the first request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "context.h"
#include "reply.h"
#include "rpc_checks.h"

/* A request on its way through the engine. */
struct lease_job {
    struct engine_ticket ticket; /* first: the engine returns it */
    struct rpc_work simulation;
    struct api *api;
    struct http_request *http;
    struct lease_request request;
    bool has_key;   /* an Idempotency-Key, not just a token */
    struct buf xdr; /* the request's envelope points into it */
};

static void job_free(struct lease_job *job)
{
    lease_wipe(&job->ticket.grant.lease);
    buf_free(&job->xdr);
    free(job);
}

static void job_cancel(void *context)
{
    struct lease_job *job = context;
    engine_cancel(job->api->settings.engine, &job->ticket);
}

/*
 * A retry must get the same bytes from any replica, so each member is in the lease's row or follows from it
 * and the request's body.
 */
static void write_lease(const struct lease_job *job, const struct lease *lease, struct json_write *out)
{
    const struct lease_request *request = &job->request;
    json_write_begin(out, 512 + lease->envelope.len * 4 / 3);
    api_write_hash(out, "hash", &lease->hash);
    json_write_base64(out, "transactionXdr", buf_bytes(&lease->envelope));
    api_write_address(out, "channelAccount", &lease->account);
    json_write_decimal(out, "sequence", lease->sequence);
    json_write_number(out, "sequenceLedger", lease->sequence_ledger);
    json_write_decimal(out, "maxTime", (int64_t)lease->max_time_s);
    json_write_text(out, "maxTimeSetBy",
        policy_max_time_set_by(&request->envelope.preconditions, request->timeout_s, lease->max_time_s));
    json_write_text(out, "networkPassphrase", job->api->settings.passphrase);
}

/* Both free the job after the reply: until then job_cancel may run. */
static void job_reply(struct lease_job *job, const struct lease *lease)
{
    struct json_write object = {0};
    connection_shares_give(&job->api->shares, SHARE_LEASE);
    write_lease(job, lease, &object);
    api_reply(job->http, 201, &object);
    job_free(job);
}

static void job_refuse(struct lease_job *job, enum err e, const struct detail *detail)
{
    connection_shares_give(&job->api->shares, SHARE_LEASE);
    api_refuse_limit(job->http, e, detail, job->ticket.grant.limit, job->api->settings.ledger_seconds);
    job_free(job);
}

static void job_done(struct engine_ticket *ticket)
{
    struct lease_job *job = (struct lease_job *)ticket;
    if (ticket->grant.state == GRANT_DONE)
        job_reply(job, &ticket->grant.lease);
    else
        job_refuse(job, ticket->grant.error, &ticket->grant.detail);
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

/*
 * Without an Idempotency-Key, the token's hash is the key: a request that is captured and sent again has the
 * same token. (With one, the token names it.) The token itself is neither stored nor logged.
 */
static void take_token_as_key(struct lease_job *job)
{
    const struct auth_client *client = http_kept(job->http);
    char token[HASH_HEX_SIZE];
    if (client == NULL)
        return;
    hash_encode(&client->token, token);
    snprintf(job->request.idempotency_key, sizeof job->request.idempotency_key, "token:%s", token);
}

/* The hash of a client's body has been compared with its token, so it is not computed twice. */
static struct hash body_digest(const struct http_request *request)
{
    const struct auth_client *client = http_kept(request);
    return client != NULL ? client->body_hash : sha256(http_body(request));
}

/* Printable ASCII of the client's choice (draft-ietf-httpapi-idempotency-key-header, as plain text). */
static enum err read_key(struct lease_job *job, struct detail *detail)
{
    const char *key = http_header(job->http, "Idempotency-Key");
    size_t len = 0;
    while (key != NULL && key[len] >= ' ' && key[len] <= '~')
        len++;
    if (key != NULL && (key[len] != '\0' || len == 0 || len >= sizeof job->request.idempotency_key))
        return detail_set(detail, ERR_INVALID_REQUEST,
            "Idempotency-Key must be 1 to %d printable ASCII characters.", IDEMPOTENCY_KEY_SIZE - 1);
    job->has_key = key != NULL;
    if (key != NULL)
        memcpy(job->request.idempotency_key, key, len + 1);
    else
        take_token_as_key(job);
    if (job->request.idempotency_key[0] != '\0')
        job->request.digest = body_digest(job->http);
    return ERR_OK;
}

static enum err read_request(struct lease_job *job, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "timeoutSeconds"};
    AUTO_JSON json_t *body = NULL;
    struct lease_request *request = &job->request;
    enum err e;
    if ((e = read_key(job, detail)) != ERR_OK ||
        (e = api_read_transaction(job->http, names, ARRAY_LEN(names), &body, &job->xdr, detail)) != ERR_OK ||
        (e = read_timeout(body, &request->timeout_s, detail)) != ERR_OK ||
        (e = envelope_decode(buf_bytes(&job->xdr), &request->envelope, detail)) != ERR_OK)
        return e;
    request->limits = *api_limits(job->http);
    snprintf(request->client, sizeof request->client, "%s", api_client(job->http));
    snprintf(request->request_id, sizeof request->request_id, "%s", http_request_id(job->http));
    return ERR_OK;
}

/*
 * Submits the request to the engine, unless e says that it is refused. A request with an Idempotency-Key is
 * submitted anyway, because it may be a retry of an earlier one. A request with only a token is not: a token
 * is valid for seconds.
 */
static enum err enqueue(struct lease_job *job, enum err e, const struct detail *detail)
{
    struct lease_request *request = &job->request;
    if (e != ERR_OK && !job->has_key)
        return e;
    if (e != ERR_OK) {
        request->refusal = e;
        request->refusal_detail = *detail;
        request->named.count = 0;
    }
    return engine_submit(job->api->settings.engine, &job->ticket);
}

static void simulate(struct rpc_work *work, enum err e, struct rpc *rpc)
{
    struct lease_job *job = work->context;
    struct detail detail = {0};
    if (e == ERR_OK)
        e = rpc_checks_simulate(rpc, &job->request.envelope, &detail);
    e = enqueue(job, e, &detail);
    if (e != ERR_OK)
        job_refuse(job, e, &detail);
}

static enum err submit(struct lease_job *job, struct detail *detail)
{
    struct lease_request *request = &job->request;
    enum err e = policy_check(&request->envelope, &job->api->settings.limits, &request->named, detail);
    http_on_client_gone(job->http, job_cancel, job);
    if (e == ERR_OK && request->envelope.soroban) {
        job->simulation = (struct rpc_work){.item.client = api_sharer(job->http),
            .run = simulate,
            .kind = RPC_WORK_SIMULATION,
            .context = job};
        e = rpc_workers_submit(job->api->rpc_workers, &job->simulation);
        if (e == ERR_OK)
            return ERR_OK;
    }
    return enqueue(job, e, detail);
}

void api_post_transaction(struct http_request *request, void *context)
{
    struct api *api = context;
    if (connection_shares_take(&api->shares, SHARE_LEASE) != ERR_OK) {
        api_refuse(request, ERR_OVERLOADED, NULL);
        return;
    }
    struct lease_job *job = NEW(struct lease_job);
    struct detail detail = {0};
    job->api = api;
    job->http = request;
    job->ticket.done = job_done;
    job->ticket.grant.request = &job->request;
    enum err e = read_request(job, &detail);
    if (e == ERR_OK)
        e = submit(job, &detail);
    if (e != ERR_OK)
        job_refuse(job, e, &detail);
}
