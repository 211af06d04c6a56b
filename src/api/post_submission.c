/* POST /v1/submissions?wait=SECONDS: fairway sends a transaction until a ledger ends its lease: a leased one
 * that the user has signed, or, in one call, one that authorization entries alone ask for, which is prepared,
 * leased and sent. The reply is its status. An end is never an HTTP error. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bump_call.h"
#include "lease_call.h"
#include "status.h"
#include "submit/submitter.h"
#include "wait.h"

/* First the engine has it, then the watch. */
struct submission_job {
    union { /* first: see their headers */
        struct engine_ticket engine;
        struct bump_call bump;
        struct lease_call lease;
    };
    bool leases; /* which of them */
    bool first;
    struct api *api;
    struct http_request *http;
    struct job_ticket {
        struct watch_ticket watch; /* first: the watch returns it */
        struct submission_job *job;
    } ticket;
    struct api_wait wait;
    atomic_bool watched, gone; /* it is the watch's; the client has left */
};

static void job_cancel(void *context)
{
    struct submission_job *job = context;
    atomic_store(&job->gone, true);
    if (atomic_load(&job->watched))
        watch_cancel(job->api->settings.watch, &job->ticket.watch);
    else
        engine_cancel(job->api->settings.engine, &job->engine);
}

/* All free the job after the reply: until then job_cancel may run. */
static void job_free(struct submission_job *job)
{
    if (job->leases)
        lease_call_wipe(&job->lease);
    else
        bump_call_wipe(&job->bump);
    lease_status_free(&job->ticket.watch.status);
    free(job);
}

static void job_refuse(struct submission_job *job, enum err e, const struct detail *detail)
{
    const enum limit limit = job->wait.limit;
    api_wait_end(&job->wait, job->api);
    if (limit != LIMIT_NONE)
        api_refuse_limit(job->http, e, detail, limit, job->api->settings.ledger_ms);
    else if (job->leases)
        lease_call_reply_error(&job->lease, e, detail);
    else
        bump_call_reply_error(&job->bump, e, detail);
    job_free(job);
}

static void bump_refuse(struct bump_call *call, enum err e, const struct detail *detail)
{
    job_refuse((struct submission_job *)call, e, detail);
}

static void lease_refuse(struct lease_call *call, enum err e, const struct detail *detail)
{
    connection_shares_give(&call->api->shares, SHARE_LEASE);
    job_refuse((struct submission_job *)call, e, detail);
}

/* A node replaces a queued fee bump only by one of ten times its rate. It takes a lower one when it has
 * dropped the queued one: with the next round. */
#define REPLACES 10

static bool waits_for_next_round(const struct bump *bump)
{
    return bump->sent_ledger != 0 && bump->fee_stroops > bump->highest_stroops &&
           bump->fee_stroops / REPLACES < bump->highest_stroops;
}

static void job_reply(struct submission_job *job, const struct lease_status *status)
{
    struct json_write object = {0};
    api_begin_status(&object, status);
    json_write_bool(&object, "first", job->first);
    const bool pending = strcmp(status->status, "pending") == 0;
    if (pending && !job->leases && waits_for_next_round(&job->engine.bump))
        json_write_decimal(&object, "nextBid", job->engine.bump.fee_stroops);
    api_wait_end(&job->wait, job->api);
    api_reply(job->http, pending ? 202 : 200, &object);
    job_free(job);
}

static void wait_done(struct watch_ticket *ticket)
{
    struct submission_job *job = ((struct job_ticket *)ticket)->job;
    if (ticket->error == ERR_OK)
        job_reply(job, &ticket->status);
    else
        job_refuse(job, ticket->error, NULL);
}

/* The bid is committed, or the lease has ended: replies with the status. */
static void watch(struct submission_job *job, const struct hash *hash, bool first)
{
    struct watch_ticket *ticket = &job->ticket.watch;
    job->first = first;
    ticket->hash = *hash;
    snprintf(ticket->client, sizeof ticket->client, "%s", api_client(job->http));
    ticket->done = wait_done;
    atomic_store(&job->watched, true);
    if (atomic_load(&job->gone)) /* job_cancel may not have seen it */
        ticket->deadline_ms = 0;
    enum err e = watch_submit(job->api->settings.watch, ticket);
    if (e != ERR_OK)
        job_refuse(job, e, NULL);
}

static void bump_done(struct engine_ticket *ticket)
{
    struct submission_job *job = (struct submission_job *)ticket;
    const struct bump *bump = &ticket->bump;
    if (bump->state == GRANT_DONE)
        submitter_send(job->api->settings.submitter, &job->bump.request.inner_hash, bump);
    if (bump->state == GRANT_DONE || bump->error == ERR_LEASE_SETTLED || bump->error == ERR_LEASE_EXPIRED)
        watch(job, &job->bump.request.inner_hash, bump->first);
    else
        job_refuse(job, bump->error, &bump->detail);
}

/* A retry under the key that took the lease is the first request again. */
static void lease_done(struct engine_ticket *ticket)
{
    struct submission_job *job = (struct submission_job *)ticket;
    const struct grant *grant = &ticket->grant;
    const struct lease *lease = &grant->lease;
    if (grant->state != GRANT_DONE) {
        lease_refuse(&job->lease, grant->error, &grant->detail);
        return;
    }
    connection_shares_give(&job->api->shares, SHARE_LEASE);
    if (lease->bid_stroops != 0)
        submitter_send(job->api->settings.submitter, &lease->hash,
            &(struct bump){.hash = lease->bid_hash,
                .fee_stroops = lease->bid_stroops,
                .envelope = lease->bid,
                .sent_ledger = lease->sent_ledger});
    watch(job, &lease->hash, !grant->is_of_another);
}

/* Whether the body is a call that nobody but the user's authorization entries has to sign. */
static bool is_one_call(const json_t *body)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    struct envelope envelope;
    if (json_read_has(body, "func") || json_read_has(body, "auth"))
        return true;
    return api_read_envelope(body, &xdr, NULL) == ERR_OK &&
           envelope_decode(buf_bytes(&xdr), &envelope, NULL) == ERR_OK &&
           envelope.form != ENVELOPE_FEE_BUMP && envelope.signature_count == 0 &&
           envelope.preconditions.extra_signer_count == 0 && policy_invokes_for_entries(&envelope);
}

static void begin_lease(struct submission_job *job, const json_t *body)
{
    job->engine.done = lease_done;
    job->lease.refuse = lease_refuse;
    job->lease.request.submits = true;
    if (connection_shares_take(&job->api->shares, SHARE_LEASE) == ERR_OK)
        lease_call_begin(&job->lease, body, job_cancel);
    else
        job_refuse(job, ERR_OVERLOADED, NULL);
}

static void begin_bump(struct submission_job *job, const json_t *body)
{
    static const char *const names[] = {"transactionXdr", "maxFee"};
    struct detail detail = {0};
    job->leases = false;
    job->bump = (struct bump_call){.api = job->api, .http = job->http, .refuse = bump_refuse};
    job->engine.done = bump_done;
    job->bump.request.submits = true;
    enum err e = json_read_only(body, names, ARRAY_LEN(names), &detail);
    if (e == ERR_OK)
        bump_call_begin(&job->bump, body, job_cancel);
    else
        job_refuse(job, e, &detail);
}

void api_post_submission(struct http_request *request, void *context)
{
    static const char *const names[] = {
        "transactionXdr", "func", "auth", "maxFee", "timeoutSeconds", "reference"};
    struct submission_job *job = NEW(struct submission_job);
    AUTO_JSON json_t *body = NULL;
    struct detail detail = {0};
    job->ticket.job = job;
    job->leases = true; /* until it is known */
    job->api = job->lease.api = context;
    job->http = job->lease.http = request;
    enum err e = api_wait_begin(&job->wait, context, request, &job->ticket.watch.deadline_ms, &detail);
    if (e == ERR_OK)
        e = lease_call_take_key(&job->lease, &detail);
    if (e == ERR_OK)
        e = api_read_body(request, names, ARRAY_LEN(names), &body, &detail);
    if (e != ERR_OK)
        job_refuse(job, e, &detail);
    else if (is_one_call(body))
        begin_lease(job, body);
    else
        begin_bump(job, body);
}
