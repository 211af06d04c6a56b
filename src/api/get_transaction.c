/* GET /v1/transactions/{hash}?wait=SECONDS: what became of a lease, at once or when it has ended. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "context.h"

#define WAIT_MAX_S 60

struct status_job {
    struct watch_ticket ticket; /* first: the watch gives it back */
    struct http_request *http;
};

static bool job_gone(struct watch_ticket *ticket)
{
    return http_client_gone(((struct status_job *)ticket)->http);
}

static json_t *status_json(const struct lease_status *status)
{
    json_t *object = json_pack("{s:o, s:s, s:s, s:o, s:o}", "hash", json_hash(&status->hash), "status",
        status->status, "channelAccount", status->account, "sequence", json_decimal(status->sequence),
        "maxTime", json_decimal(status->max_time_s));
    if (status->ledger > 0)
        json_object_set_new(object, "ledger", json_integer(status->ledger));
    if (status->closed_at_s > 0)
        json_object_set_new(object, "closedAt", json_decimal(status->closed_at_s));
    if (status->result_code[0] != '\0')
        json_object_set_new(object, "resultCode", json_string(status->result_code));
    return object;
}

static void job_done(struct watch_ticket *ticket)
{
    struct status_job *job = (struct status_job *)ticket;
    if (ticket->error == ERR_OK)
        reply(job->http, 200, status_json(&ticket->status));
    else
        refuse(job->http, ticket->error, NULL);
    free(job);
}

static enum err read_request(
    const struct http_request *request, struct status_job *job, struct detail *detail)
{
    const char *wait = http_query(request, "wait");
    uint64_t wait_s = 0;
    if (hash_decode(http_path_parameter(request), &job->ticket.hash) != ERR_OK)
        return ERR_INVALID_HASH;
    if (wait != NULL && text_to_u64(wait, WAIT_MAX_S, &wait_s) != ERR_OK)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "wait must be whole seconds from 0 to %d.", WAIT_MAX_S);
    job->ticket.deadline_ms = clock_ms() + (int64_t)wait_s * 1000;
    snprintf(job->ticket.client, sizeof job->ticket.client, "%s", client_of(request));
    return ERR_OK;
}

void get_transaction(struct http_request *request, void *context)
{
    const struct api *api = context;
    struct status_job *job = NEW(struct status_job);
    struct detail detail = {0};
    job->http = request;
    job->ticket.done = job_done;
    job->ticket.gone = job_gone;
    enum err e = read_request(request, job, &detail);
    if (e == ERR_OK)
        e = watch_submit(api->settings.watch, &job->ticket);
    if (e != ERR_OK) {
        refuse(request, e, &detail);
        free(job);
    }
}
