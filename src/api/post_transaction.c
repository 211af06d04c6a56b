/*
 * POST /v1/transactions: everything that can be refused is refused here, before an account is taken; then the
 * request waits in the lease engine, which gives a retry the lease that it took before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "context.h"
#include "http/json.h"

/* A request on its way to the engine. */
struct lease_job {
    struct engine_ticket ticket; /* first: the engine gives it back */
    struct api *api;
    struct http_request *http;
    struct lease_request request;
    struct buf xdr; /* what the request's envelope points into */
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

static void job_answer(struct lease_job *job, const struct lease *lease)
{
    slots_give(&job->api->slots, SLOT_LEASE);
    reply(job->http, 201,
        json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:s}", "hash", json_hash(&lease->hash), "transactionXdr",
            json_base64(buf_bytes(&lease->envelope)), "channelAccount", json_address(&lease->account),
            "sequence", json_decimal(lease->sequence), "sequenceLedger", (json_int_t)lease->sequence_ledger,
            "maxTime", json_decimal((int64_t)lease->max_time_s), "networkPassphrase",
            job->api->settings.passphrase));
    job_free(job);
}

static void job_refuse(struct lease_job *job, enum err e, const struct detail *detail)
{
    slots_give(&job->api->slots, SLOT_LEASE);
    refuse(job->http, e, detail);
    job_free(job);
}

static void job_done(struct engine_ticket *ticket)
{
    struct lease_job *job = (struct lease_job *)ticket;
    if (ticket->grant.state == GRANT_DONE)
        job_answer(job, &ticket->grant.lease);
    else
        job_refuse(job, ticket->grant.error, &ticket->grant.detail);
}

static enum err read_timeout(const json_t *body, uint32_t *timeout_s, struct detail *detail)
{
    uint64_t seconds = 0;
    enum err e = ERR_OK;
    if (json_read_has(body, "timeoutSeconds"))
        e = json_read_number(body, "timeoutSeconds", LEASE_SECONDS_MIN, LEASE_SECONDS_MAX, &seconds, detail);
    *timeout_s = (uint32_t)seconds;
    return e;
}

/* An opaque name of the client's own: printable ASCII (draft-ietf-httpapi-idempotency-key-header, as text).
 */
static enum err read_key(struct lease_job *job, struct detail *detail)
{
    const char *key = http_header(job->http, "Idempotency-Key");
    size_t len = 0;
    if (key == NULL)
        return ERR_OK;
    while (key[len] >= ' ' && key[len] <= '~')
        len++;
    if (key[len] != '\0' || len == 0 || len >= sizeof job->request.idempotency_key)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "Idempotency-Key must be 1 to %d printable ASCII characters.", IDEMPOTENCY_KEY_SIZE - 1);
    memcpy(job->request.idempotency_key, key, len + 1);
    job->request.digest = sha256(http_body(job->http));
    return ERR_OK;
}

static enum err read_request(struct lease_job *job, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "timeoutSeconds"};
    AUTO_JSON json_t *body = NULL;
    struct lease_request *request = &job->request;
    enum err e;
    if ((e = read_key(job, detail)) != ERR_OK ||
        (e = read_transaction_body(job->http, names, ARRAY_LEN(names), &body, &job->xdr, detail)) != ERR_OK ||
        (e = read_timeout(body, &request->timeout_s, detail)) != ERR_OK ||
        (e = envelope_decode(buf_bytes(&job->xdr), &request->envelope, detail)) != ERR_OK)
        return e;
    snprintf(request->client, sizeof request->client, "%s", client_of(job->http));
    snprintf(request->request_id, sizeof request->request_id, "%s", http_request_id(job->http));
    return ERR_OK;
}

/*
 * What policy refuses may still be a retry, of a lease that was granted under another configuration. Between
 * policy and engine is where a Soroban transaction is to be simulated, as a stage of its own.
 */
static enum err submit(struct lease_job *job, struct detail *detail)
{
    struct lease_request *request = &job->request;
    enum err e = policy_check(&request->envelope, &job->api->settings.limits, &request->named, detail);
    if (e != ERR_OK && request->idempotency_key[0] == '\0')
        return e;
    if (e != ERR_OK) {
        request->refusal = e;
        request->refusal_detail = *detail;
        request->named.count = 0;
    }
    http_on_client_gone(job->http, job_cancel, job);
    return engine_submit(job->api->settings.engine, &job->ticket);
}

void post_transaction(struct http_request *request, void *context)
{
    struct api *api = context;
    if (slots_take(&api->slots, SLOT_LEASE) != ERR_OK) {
        refuse(request, ERR_OVERLOADED, NULL);
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
