/* GET /v1/transactions?after=CURSOR&limit=&wait=: the client's leases that have ended, in the order of their
 * ends. A request that waits reads again whenever a ledger has ended leases, and holds no session meanwhile.
 */
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "status.h"

#define LIMIT_MAX 1000
/* A page ends with the item that exceeds it: what operations return may have kilobytes. */
#define PAGE_BYTES 1000000

static void reply(struct call *call, const struct lease_list *list)
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
    call_reply(call, 200, &out);
}

static void submit(struct call *call)
{
    call->job.item.deadline_ms = clock_ms() + DB_ENDPOINT_REPLY_MS;
    enum err e = workers_submit(call->api->workers, &call->job);
    if (e != ERR_OK)
        call_refuse(call, e, NULL);
}

/* What has ended is read again, also at the deadline. */
static void watched(struct watch_ticket *ticket)
{
    struct call *call = call_of(ticket);
    if (ticket->error == ERR_OK)
        submit(call);
    else
        call_refuse(call, ticket->error, NULL);
}

static void run(struct worker_job *job, enum err e, struct db *db)
{
    struct call *call = call_of_job(job);
    struct watch *watch = call->api->settings.watch;
    struct lease_list list CLEANUP(lease_list_free) = {0};
    struct detail detail = {0};
    call->watch.ends = watch_ends(watch); /* before the read */
    if (e == ERR_OK)
        e = lease_list_read(db, api_client(call->http), call->after, call->limit, &list, &detail);
    const bool waits =
        e == ERR_OK && list.count == 0 && call->limit > 0 && clock_ms() < call->watch.deadline_ms;
    if (waits)
        e = watch_submit(watch, &call->watch);
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
    else if (!waits)
        reply(call, &list);
}

static enum err read_request(struct call *call, struct detail *detail)
{
    const char *after = http_query(call->http, "after");
    enum err e = api_read_limit(call->http, LIMIT_MAX, &call->limit, detail);
    if (e != ERR_OK)
        return e;
    if (text_equal(after, "now"))
        call->limit = 0;
    if (after != NULL && call->limit > 0 && (text_to_i64(after, &call->after) != ERR_OK || call->after < 0))
        return detail_set(
            detail, ERR_INVALID_REQUEST, "after must be the next of an earlier answer, \"now\" or \"0\".");
    return call_begin_wait(call, detail);
}

void api_list_transactions(struct http_request *request, void *api)
{
    struct call *call = call_new(api, request, false, NULL);
    struct detail detail = {0};
    call->job.run = run;
    call->job.item.client = api_sharer(request);
    call->watch.any = true;
    call->watch.done = watched;
    enum err e = read_request(call, &detail);
    if (e != ERR_OK) {
        call_refuse(call, e, &detail);
        return;
    }
    atomic_store(&call->watched, true);
    call_on_client_gone(call);
    submit(call);
}
