/*
 * POST /v1/transactions: everything that can be refused is refused here, before an account is taken; then the
 * request waits in the lease engine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "context.h"
#include "http/json.h"

/* A request on its way through the engine. */
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

static bool job_gone(struct engine_ticket *ticket)
{
    return http_client_gone(((struct lease_job *)ticket)->http);
}

static void job_done(struct engine_ticket *ticket)
{
    struct lease_job *job = (struct lease_job *)ticket;
    const struct lease *lease = &ticket->grant.lease;
    if (ticket->grant.state == GRANT_DONE)
        reply(job->http, 201,
            json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:s}", "hash", json_hash(&lease->hash),
                "transactionXdr", json_base64(buf_bytes(&lease->envelope)), "channelAccount",
                json_address(&lease->account), "sequence", json_decimal(lease->sequence), "sequenceLedger",
                (json_int_t)lease->sequence_ledger, "maxTime", json_decimal((int64_t)lease->max_time_s),
                "networkPassphrase", job->api->settings.passphrase));
    else
        refuse(job->http, ticket->grant.error, &ticket->grant.detail);
    job_free(job);
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

static enum err read_request(struct lease_job *job, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "timeoutSeconds"};
    AUTO_JSON json_t *body = NULL;
    struct lease_request *request = &job->request;
    enum err e;
    /* a client that sends the header counts on it: taking a second lease for a retry would be worse than
     * refusing */
    if (http_header(job->http, "Idempotency-Key") != NULL)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "Idempotency-Key is not supported yet; without it each request takes a lease of its own.");
    if ((e = read_transaction_body(job->http, names, ARRAY_LEN(names), &body, &job->xdr, detail)) != ERR_OK ||
        (e = read_timeout(body, &request->timeout_s, detail)) != ERR_OK ||
        (e = envelope_decode(buf_bytes(&job->xdr), &request->envelope, detail)) != ERR_OK)
        return e;
    snprintf(request->client, sizeof request->client, "%s", client_of(job->http));
    snprintf(request->request_id, sizeof request->request_id, "%s", http_request_id(job->http));
    return policy_check(&request->envelope, &job->api->settings.limits, &request->named, detail);
}

/* Behind policy and in front of the engine: where a Soroban transaction is to be simulated, as a stage of its
   own that ends in this call. */
static void lease(struct lease_job *job)
{
    struct http_request *http = job->http;
    enum err e = engine_submit(job->api->settings.engine, &job->ticket);
    if (e != ERR_OK) {
        refuse(http, e, NULL);
        job_free(job);
    }
}

void post_transaction(struct http_request *request, void *context)
{
    struct lease_job *job = NEW(struct lease_job);
    struct detail detail = {0};
    job->api = context;
    job->http = request;
    job->ticket.done = job_done;
    job->ticket.gone = job_gone;
    job->ticket.grant.request = &job->request;
    enum err e = read_request(job, &detail);
    if (e == ERR_OK) {
        lease(job);
        return;
    }
    refuse(request, e, &detail);
    job_free(job);
}
