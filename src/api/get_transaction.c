/* GET /v1/transactions/{hash}?wait=SECONDS: the status of a leased transaction, at once or when it has ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/text.h"
#include "context.h"
#include "reply.h"

struct status_job {
    struct watch_ticket ticket; /* first: the watch returns it */
    struct http_request *http;
    struct api *api;
    bool waits;               /* has a share of the connections */
    struct client_load *load; /* of its client, among whose waits it is counted; NULL: it is not */
    enum limit limit;         /* that has refused it */
};

static void job_cancel(void *context)
{
    struct status_job *job = context;
    watch_cancel(job->api->settings.watch, &job->ticket);
}

static void write_status(struct json_write *out, const struct lease_status *status)
{
    json_write_begin(out, 512);
    api_write_hash(out, "hash", &status->hash);
    json_write_text(out, "status", status->status);
    json_write_text(out, "channelAccount", status->account);
    json_write_decimal(out, "sequence", status->sequence);
    json_write_decimal(out, "maxTime", status->max_time_s);
    if (status->ledger > 0)
        json_write_number(out, "ledger", status->ledger);
    if (status->closed_at_s > 0)
        json_write_decimal(out, "closedAt", status->closed_at_s);
    if (status->result_code[0] != '\0')
        json_write_text(out, "resultCode", status->result_code);
}

/* Frees the job after the reply: until then job_cancel may run. */
static void job_end(struct status_job *job, enum err e, const struct detail *detail)
{
    if (job->waits)
        connection_shares_give(&job->api->shares, SHARE_WAIT);
    if (job->load != NULL)
        client_loads_end_wait(&job->api->loads, job->load);
    struct json_write object = {0};
    if (e == ERR_OK) {
        write_status(&object, &job->ticket.status);
        api_reply(job->http, 200, &object);
    } else
        api_refuse_limit(job->http, e, detail, job->limit, job->api->settings.ledger_seconds);
    free(job);
}

static void job_done(struct watch_ticket *ticket)
{
    job_end((struct status_job *)ticket, ticket->error, NULL);
}

static enum err take_client_wait(
    const struct http_request *request, struct status_job *job, struct detail *detail)
{
    const struct api_sender *sender = http_kept(request);
    const struct limits *limits = api_limits(request);
    if (sender == NULL) /* AUTH=none */
        return ERR_OK;
    job->limit = client_loads_begin_wait(&job->api->loads, sender->load, limits);
    if (job->limit == LIMIT_NONE)
        job->load = sender->load;
    return limit_refuse(job->limit, limits, detail);
}

static enum err read_request(
    const struct http_request *request, struct status_job *job, struct detail *detail)
{
    const char *wait = http_query(request, "wait");
    uint64_t wait_s = 0;
    if (hash_decode(http_path_parameter(request), &job->ticket.hash) != ERR_OK)
        return ERR_INVALID_HASH;
    if (wait != NULL && text_to_u64(wait, TRANSACTION_WAIT_MAX_S, &wait_s) != ERR_OK)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "wait must be whole seconds from 0 to %d.", TRANSACTION_WAIT_MAX_S);
    job->ticket.deadline_ms = clock_ms() + (int64_t)wait_s * 1000;
    snprintf(job->ticket.client, sizeof job->ticket.client, "%s", api_client(request));
    if (wait_s == 0)
        return ERR_OK;
    enum err e = take_client_wait(request, job, detail);
    if (e == ERR_OK)
        e = connection_shares_take(&job->api->shares, SHARE_WAIT);
    job->waits = e == ERR_OK;
    return e;
}

void api_get_transaction(struct http_request *request, void *context)
{
    struct status_job *job = NEW(struct status_job);
    struct detail detail = {0};
    job->api = context;
    job->http = request;
    job->ticket.done = job_done;
    enum err e = read_request(request, job, &detail);
    if (e == ERR_OK) {
        http_on_client_gone(request, job_cancel, job);
        e = watch_submit(job->api->settings.watch, &job->ticket);
    }
    if (e != ERR_OK)
        job_end(job, e, &detail);
}
