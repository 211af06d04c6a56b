/* GET /v1/transactions?after=CURSOR&limit=&wait=: the client's leases that have ended, in the order of their
 * ends. A request that waits reads again whenever a ledger has ended leases, and holds no session meanwhile.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/text.h"
#include "context.h"
#include "reply.h"
#include "status.h"
#include "wait.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000
/* A page ends with the item that exceeds it: what operations return may have kilobytes. */
#define PAGE_BYTES 1000000

struct list_job {
    struct db_work work; /* first: the workers return it */
    struct watch_ticket ticket;
    struct http_request *http;
    struct api *api;
    struct api_wait wait;
    int64_t after;
    size_t limit; /* 0: after=now, only the cursor is wanted */
};

static struct list_job *job_of(struct watch_ticket *ticket)
{
    return (struct list_job *)((char *)ticket - offsetof(struct list_job, ticket));
}

static void job_cancel(void *context)
{
    struct list_job *job = context;
    watch_cancel(job->api->settings.watch, &job->ticket);
}

/* ---- the reply */

static char *page_text(const struct lease_list *list)
{
    struct json_write out = {0};
    size_t shown = 0;
    json_write_begin(&out, 64 + STATUS_ROOM * list->count);
    json_write_open(&out, "transactions", '[');
    while (shown < list->count && out.text.len < PAGE_BYTES) {
        json_write_open(&out, NULL, '{');
        api_write_status(&out, &list->items[shown++]);
        json_write_close(&out, '}');
    }
    json_write_close(&out, ']');
    json_write_decimal(&out, "next", shown < list->count ? list->items[shown - 1].ended : list->next);
    return json_write_end(&out);
}

/* Frees the job after the reply: until then job_cancel may run. text: of the page, if e is ERR_OK. */
static void job_end(struct list_job *job, enum err e, char *text, const struct detail *detail)
{
    api_wait_end(&job->wait, job->api);
    if (e == ERR_OK)
        api_reply_text(job->http, 200, text);
    else
        api_refuse_limit(job->http, e, detail, job->wait.limit, job->api->settings.ledger_ms);
    free(job);
}

/* ---- reads and waits */

static void job_submit(struct list_job *job)
{
    job->work.item.deadline_ms = clock_ms() + DB_ENDPOINT_REPLY_MS;
    enum err e = db_workers_submit(job->api->workers, &job->work);
    if (e != ERR_OK)
        job_end(job, e, NULL, NULL);
}

/* What has ended is read again, also at the deadline. */
static void job_done(struct watch_ticket *ticket)
{
    if (ticket->error == ERR_OK)
        job_submit(job_of(ticket));
    else
        job_end(job_of(ticket), ticket->error, NULL, NULL);
}

static void job_run(struct db_work *work, enum err e, struct db *db)
{
    struct list_job *job = (struct list_job *)work;
    struct lease_list list CLEANUP(lease_list_free) = {0};
    struct detail detail = {0};
    job->ticket.ends = watch_ends(job->api->settings.watch); /* before the read */
    if (e == ERR_OK)
        e = lease_list_read(db, api_client(job->http), job->after, job->limit, &list, &detail);
    const bool waits =
        e == ERR_OK && list.count == 0 && job->limit > 0 && clock_ms() < job->ticket.deadline_ms;
    if (waits)
        e = watch_submit(job->api->settings.watch, &job->ticket);
    if (!waits || e != ERR_OK)
        job_end(job, e, e == ERR_OK ? page_text(&list) : NULL, &detail);
}

/* ---- the request */

static enum err read_request(struct list_job *job, struct detail *detail)
{
    const char *limit = http_query(job->http, "limit"), *after = http_query(job->http, "after");
    uint64_t count = LIMIT_DEFAULT;
    if (limit != NULL && (text_to_u64(limit, LIMIT_MAX, &count) != ERR_OK || count == 0))
        return detail_set(
            detail, ERR_INVALID_REQUEST, "limit must be a whole number from 1 to %d.", LIMIT_MAX);
    job->limit = text_equal(after, "now") ? 0 : (size_t)count;
    if (after != NULL && job->limit > 0 && (text_to_i64(after, &job->after) != ERR_OK || job->after < 0))
        return detail_set(
            detail, ERR_INVALID_REQUEST, "after must be the next of an earlier answer, \"now\" or \"0\".");
    return api_wait_begin(&job->wait, job->api, job->http, &job->ticket.deadline_ms, detail);
}

void api_list_transactions(struct http_request *request, void *context)
{
    struct list_job *job = NEW(struct list_job);
    struct detail detail = {0};
    job->api = context;
    job->http = request;
    job->work.run = job_run;
    job->work.item.client = api_sharer(request);
    job->ticket.any = true;
    job->ticket.done = job_done;
    enum err e = read_request(job, &detail);
    if (e != ERR_OK) {
        job_end(job, e, NULL, &detail);
        return;
    }
    http_on_client_gone(request, job_cancel, job);
    job_submit(job);
}
