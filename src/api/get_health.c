/* GET /livez: the process runs. GET /readyz, /health: it can grant leases now, and if not, what is in the
 * way. */
#include <poll.h>
#include <stdlib.h>

#include "base/mem.h"
#include "context.h"

/* The same distance at which grants stop (DESIGN section 4). */
#define LAG_MAX_S 30

struct ready_job {
    struct work work; /* first: the workers give it back */
    const struct api_settings *settings;
    struct http_request *http;
};

void get_livez(struct http_request *request, void *context)
{
    (void)context;
    reply(request, 200, json_pack("{s:s}", "status", "alive"));
}

/* One more line of the answer; reasons are phrases of ours, nothing that a library said. */
static bool check(json_t *checks, const char *name, bool ok, const char *reason)
{
    json_t *line = json_pack("{s:s, s:b}", "name", name, "ok", ok);
    if (!ok)
        json_object_set_new(line, "reason", json_string(reason));
    json_array_append_new(checks, line);
    return ok;
}

static bool keyd_runs(const struct keyd *keyd)
{
    struct pollfd ended = {.fd = keyd_pidfd(keyd), .events = POLLIN};
    return ended.fd < 0 || poll(&ended, 1, 0) == 0;
}

static bool check_all(const struct api_settings *settings, struct db *db, json_t *checks)
{
    struct pool_status pool = {0};
    struct detail detail = {0};
    bool database = db != NULL && pool_status(db, &pool, &detail) == ERR_OK, ready;
    ready = check(checks, "database", database, "the database does not answer");
    ready &= check(checks, "keys", keyd_runs(settings->keyd), "the key process has ended");
    if (settings->ingest_ready != NULL) {
        detail = (struct detail){0};
        bool ok = settings->ingest_ready(settings->ingest_context, &detail);
        ready &= check(checks, "ingestion", ok, detail.text);
    }
    if (!database)
        return false;
    bool current =
        pool.cursor_sequence > 0 && pool.cursor_lag_s <= LAG_MAX_S + (int64_t)settings->ledger_seconds;
    ready &= check(checks, "ledgers", current, "the last committed ledger is too old");
    return ready & check(checks, "grants", pool.grants_allowed, "grants are suspended");
}

static void run(struct work *work, struct db *db)
{
    struct ready_job *job = (struct ready_job *)work;
    json_t *checks = json_array();
    bool ready = check_all(job->settings, db, checks);
    reply(job->http, ready ? 200 : 503,
        json_pack("{s:s, s:o}", "status", ready ? "ready" : "not ready", "checks", checks));
    free(job);
}

void get_readyz(struct http_request *request, void *context)
{
    const struct api *api = context;
    struct ready_job *job = NEW(struct ready_job);
    job->work.run = run;
    job->settings = &api->settings;
    job->http = request;
    enum err e = workers_submit(api->workers, &job->work);
    if (e != ERR_OK) {
        refuse(request, e, NULL);
        free(job);
    }
}
