/* An endpoint that reads the database: suspends the request, and answers it from a worker. The HTTP thread
 * never waits. */
#include "db_endpoint.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"

static void end(struct db_query *query, enum err e, const struct db_reply *reply, const struct detail *detail)
{
    if (e != ERR_OK)
        api_refuse(query->http, e, detail);
    else if (reply->text_type != NULL)
        http_reply_text(query->http, reply->status, reply->text_type, reply->text);
    else
        api_reply_text(query->http, reply->status, reply->text);
    free(query);
}

static void run(struct worker_job *job, enum err e, struct db *db)
{
    struct db_query *query = (struct db_query *)job;
    struct db_reply reply = {.status = 200};
    struct detail detail = {0};
    if (e == ERR_OK || (query->judges && e != ERR_SHUTTING_DOWN))
        e = query->run(query, db, &reply, &detail);
    end(query, e, &reply, &detail);
}

static void begin(struct http_request *http, struct api *api, db_endpoint_run endpoint, bool judges)
{
    struct db_query *query = NEW(struct db_query);
    query->job.run = run;
    query->job.item.deadline_ms = clock_ms() + DB_ENDPOINT_REPLY_MS;
    query->job.item.client = api_sharer(http);
    query->run = endpoint;
    query->judges = judges;
    query->api = api;
    query->settings = &api->settings;
    query->http = http;
    const enum err e = workers_submit(api->workers, &query->job);
    if (e != ERR_OK)
        end(query, e, &(struct db_reply){0}, NULL);
}

void db_endpoint_begin(struct http_request *http, struct api *api, db_endpoint_run endpoint)
{
    begin(http, api, endpoint, false);
}

void db_endpoint_report(
    struct http_request *http, struct api *api, db_endpoint_run endpoint, struct last_report *last)
{
    int status;
    char *text = last == NULL || api->settings.reports_anew ? NULL : last_report_get(last, &status);
    if (text != NULL)
        http_reply_json(http, status, text);
    else
        begin(http, api, endpoint, true);
}
