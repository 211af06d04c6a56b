/*
 * GET /livez: the process and its key process run. GET /readyz, /health: the checks of judge.c; the status is
 * 503 when one fails. Served on both listeners. Anyone may read the replies, so they have only constant
 * texts.
 */
#include "db_endpoint.h"
#include "api/judge.h"

void api_get_livez(struct http_request *request, void *context)
{
    const struct api *api = context;
    const bool alive = keyd_runs(api->settings.keyd);
    struct json_write object = {0};
    json_write_begin(&object, 32);
    json_write_text(&object, "status", alive ? "alive" : "not alive");
    api_reply(request, alive ? 200 : 503, &object);
}

static void write_check(struct json_write *out, const char *name, enum judge_level level, const char *text)
{
    json_write_open(out, NULL, '{');
    json_write_text(out, "name", name);
    json_write_bool(out, "ok", level != CHECK_FAILS);
    if (level != CHECK_PASSES)
        json_write_text(out, level == CHECK_FAILS ? "reason" : "warning", text);
    json_write_close(out, '}');
}

static char *report_text(bool ready, const struct judge_result results[static CHECK_COUNT])
{
    struct json_write out = {0};
    json_write_begin(&out, 1024);
    json_write_text(&out, "status", ready ? "ready" : "not ready");
    json_write_open(&out, "checks", '[');
    for (size_t i = 0; i < CHECK_COUNT; i++)
        if (results[i].ran)
            write_check(&out, check_names[i], results[i].level, results[i].text);
    json_write_close(&out, ']');
    return json_write_end(&out);
}

/* All checks run again, not only those that failed: a replica that is out of service gets no other requests
 * that would show that it has recovered. */
static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    struct judge_report judgement;
    (void)detail;
    judge(db, query->settings, false, &judgement);
    const bool ready = judge_ready(&judgement);
    reply->status = ready ? 200 : 503;
    reply->text = report_text(ready, judgement.checks);
    last_report_set(&query->api->last_readyz, reply->status, reply->text, 0);
    return ERR_OK;
}

static void reply_stopping(struct http_request *request)
{
    struct json_write out = {0};
    json_write_begin(&out, 128);
    json_write_text(&out, "status", "not ready");
    json_write_open(&out, "checks", '[');
    write_check(&out, "service", CHECK_FAILS, "the service is stopping");
    json_write_close(&out, ']');
    api_reply(request, 503, &out);
}

void api_get_readyz(struct http_request *request, void *context)
{
    struct api *api = context;
    if (atomic_load(&api->stopping))
        reply_stopping(request);
    else
        db_endpoint_report(request, api, run, &api->last_readyz);
}
