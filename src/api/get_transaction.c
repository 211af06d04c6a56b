/* GET /v1/transactions/{hash}?wait=SECONDS: the status of a leased transaction, at once or when it has ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "context.h"
#include "reply.h"
#include "status.h"
#include "wait.h"

struct status_job {
    struct watch_ticket ticket; /* first: the watch returns it */
    struct http_request *http;
    struct api *api;
    struct api_wait wait;
};

static void job_cancel(void *context)
{
    struct status_job *job = context;
    watch_cancel(job->api->settings.watch, &job->ticket);
}

/* Frees the job after the reply: until then job_cancel may run. */
static void job_end(struct status_job *job, enum err e, const struct detail *detail)
{
    api_wait_end(&job->wait, job->api);
    struct json_write object = {0};
    if (e == ERR_OK) {
        api_begin_status(&object, &job->ticket.status);
        api_reply(job->http, 200, &object);
    } else
        api_refuse_limit(job->http, e, detail, job->wait.limit, job->api->settings.ledger_ms);
    lease_status_free(&job->ticket.status);
    free(job);
}

static void job_done(struct watch_ticket *ticket)
{
    job_end((struct status_job *)ticket, ticket->error, NULL);
}

static enum err read_request(
    const struct http_request *request, struct status_job *job, struct detail *detail)
{
    if (hash_decode(http_path_parameter(request), &job->ticket.hash) != ERR_OK)
        return ERR_INVALID_HASH;
    snprintf(job->ticket.client, sizeof job->ticket.client, "%s", api_client(request));
    return api_wait_begin(&job->wait, job->api, request, &job->ticket.deadline_ms, detail);
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
