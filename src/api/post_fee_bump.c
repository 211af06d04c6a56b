/* POST /v1/fee-bumps: signs a fee bump, by the distribution account, for a transaction with an open lease of
 * this client. A client may request several, up to its limits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "context.h"
#include "reply.h"
#include "rpc_checks.h"
#include "stellar/envelope_build.h"

/* A request on its way through the engine. */
struct bump_job {
    struct engine_ticket ticket; /* first: the engine returns it */
    struct rpc_work signers;
    struct api *api;
    struct http_request *http;
    struct bump_request request;
    struct buf xdr; /* the request points into it */
};

static void job_free(struct bump_job *job)
{
    bump_wipe(&job->ticket.bump);
    buf_free(&job->xdr);
    free(job);
}

static void job_cancel(void *context)
{
    struct bump_job *job = context;
    engine_cancel(job->api->settings.engine, &job->ticket);
}

/* The same request gets the same bytes each time: Ed25519 signatures are deterministic. */
static void write_bump(const struct bump_job *job, const struct bump *bump, struct json_write *out)
{
    json_write_begin(out, 512 + bump->envelope.len * 4 / 3);
    api_write_hash(out, "hash", &bump->hash);
    api_write_hash(out, "innerHash", &job->request.inner_hash);
    json_write_base64(out, "transactionXdr", buf_bytes(&bump->envelope));
    json_write_decimal(out, "fee", bump->fee_stroops);
    api_write_address(out, "feeAccount", &job->api->settings.distribution);
    json_write_text(out, "networkPassphrase", job->api->settings.passphrase);
}

/* For a refused fee: the bound, as a member of the problem. NULL: another error. */
static char *fee_bound_json(const struct bump_request *request, enum err e)
{
    int64_t least;
    if (e == ERR_FEE_EXCEEDS_MAXIMUM)
        return mem_format("{\"maximumFee\":\"%" PRId64 "\"}", bump_fee_maximum(request));
    if (e == ERR_FEE_BELOW_MINIMUM && bump_fee(request, 0, &least, NULL) == ERR_OK)
        return mem_format("{\"minimumFee\":\"%" PRId64 "\"}", least);
    return NULL;
}

/* Both free the job after the reply: until then job_cancel may run. */
static void job_reply(struct bump_job *job, const struct bump *bump)
{
    struct json_write object = {0};
    write_bump(job, bump, &object);
    api_reply(job->http, 200, &object);
    job_free(job);
}

static void job_refuse(struct bump_job *job, enum err e, const struct detail *detail)
{
    const enum limit limit = job->ticket.bump.limit;
    if (limit != LIMIT_NONE)
        api_refuse_limit(job->http, e, detail, limit, job->api->settings.ledger_seconds);
    else
        api_refuse_with(job->http, e, detail, fee_bound_json(&job->request, e));
    job_free(job);
}

static void job_done(struct engine_ticket *ticket)
{
    struct bump_job *job = (struct bump_job *)ticket;
    if (ticket->bump.state == GRANT_DONE)
        job_reply(job, &ticket->bump);
    else
        job_refuse(job, ticket->bump.error, &ticket->bump.detail);
}

static enum err read_request(struct bump_job *job, struct detail *detail)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    struct bump_request *request = &job->request;
    AUTO_JSON json_t *body = NULL;
    uint64_t max_fee = 0;
    enum err e;
    if ((e = api_read_transaction(job->http, names, ARRAY_LEN(names), &body, &job->xdr, detail)) != ERR_OK)
        return e;
    if (json_read_has(body, "maxFee") &&
        (e = json_read_decimal(body, "maxFee", 1, INT64_MAX, &max_fee, detail)) != ERR_OK)
        return e;
    request->max_fee_stroops = (int64_t)max_fee;
    request->xdr = buf_bytes(&job->xdr);
    if ((e = envelope_decode(request->xdr, &request->inner, detail)) != ERR_OK)
        return e;
    if (request->inner.form == ENVELOPE_FEE_BUMP)
        return detail_set(detail, ERR_FEE_BUMP_TX_NOT_ALLOWED,
            "transactionXdr is a fee bump. Send its inner transaction, with its signatures.");
    request->inner_hash = envelope_hash(&job->api->settings.network, &request->inner);
    request->authority = authority_of(&request->inner, &request->inner_hash);
    request->limits = &job->api->settings.limits;
    request->client_limits = *api_limits(job->http);
    snprintf(request->client, sizeof request->client, "%s", api_client(job->http));
    return ERR_OK;
}

static void read_signers(struct rpc_work *work, enum err e, struct rpc *rpc)
{
    struct bump_job *job = work->context;
    struct bump_request *request = &job->request;
    struct detail detail = {0};
    if (e == ERR_OK)
        e = rpc_checks_signers(rpc, &request->inner, &request->inner_hash, &request->authority, &detail);
    if (e == ERR_OK)
        e = engine_submit(job->api->settings.engine, &job->ticket);
    if (e != ERR_OK)
        job_refuse(job, e, &detail);
}

/* The signers of a multi-signature account are not in the transaction: the RPC is asked for them. */
static enum err submit(struct bump_job *job)
{
    http_on_client_gone(job->http, job_cancel, job);
    if (job->request.authority != AUTHORITY_UNKNOWN)
        return engine_submit(job->api->settings.engine, &job->ticket);
    job->signers =
        (struct rpc_work){.item.client = api_sharer(job->http), .run = read_signers, .context = job};
    return rpc_workers_submit(job->api->rpc_workers, &job->signers);
}

void api_post_fee_bump(struct http_request *request, void *context)
{
    struct bump_job *job = NEW(struct bump_job);
    struct detail detail = {0};
    job->api = context;
    job->http = request;
    job->ticket.kind = TICKET_BUMP;
    job->ticket.done = job_done;
    job->ticket.bump.request = &job->request;
    enum err e = read_request(job, &detail);
    if (e == ERR_OK)
        e = submit(job);
    if (e != ERR_OK)
        job_refuse(job, e, &detail);
}
