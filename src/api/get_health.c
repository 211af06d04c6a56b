/* GET /livez: the process runs, and its key process. GET /readyz, /health: leases can be granted now, and if
 * not, what is in the way. Served by both listeners. Nobody is authenticated here, so reasons are phrases of
 * this file. */
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/server.h"
#include "pool/grants_allowed.h"
#include "pool/pool_counts.h"
#include "db_endpoint.h"

#define COMPLAIN_EVERY_MS 60000

static bool keyd_runs(const struct keyd *keyd)
{
    struct pollfd lost = {.fd = keyd_lost_fd(keyd), .events = POLLIN};
    return poll(&lost, 1, 0) == 0;
}

void get_livez(struct http_request *request, void *context)
{
    const struct api *api = context;
    bool alive = keyd_runs(api->settings.keyd);
    reply(request, alive ? 200 : 503, json_pack("{s:s}", "status", alive ? "alive" : "not alive"));
}

/* Adds one line to the answer. */
static bool check(json_t *checks, const char *name, bool ok, const char *reason)
{
    json_t *line = json_pack("{s:s, s:b}", "name", name, "ok", ok);
    if (!ok)
        json_object_set_new(line, "reason", json_string(reason));
    json_array_append_new(checks, line);
    return ok;
}

/* Adds one line with a warning, which does not make the replica unready. */
static void warn(json_t *checks, const char *name, const char *warning)
{
    json_array_append_new(checks, json_pack("{s:s, s:b, s:s}", "name", name, "ok", true, "warning", warning));
}

/* Why, stands in the log of ingestion. */
static bool ingestion_well(const struct api_settings *settings)
{
    struct detail why;
    return settings->ingest_ready == NULL || settings->ingest_ready(settings->ingest_context, &why);
}

static bool check_pool(const struct api_settings *settings, const struct pool_counts *pool, json_t *checks)
{
    int64_t apart_s = pool->cursor_lag_s < 0 ? -pool->cursor_lag_s : pool->cursor_lag_s;
    bool current = pool->cursor_sequence > 0 && apart_s <= grants_clock_slack_s(settings->ledger_seconds);
    bool ready = check(checks, "ledgers", current,
        "the close time of the last committed ledger is too far from the database's clock");
    ready &= check(checks, "grants", pool->grants_allowed,
        pool->grants_on_hold
            ? "the database was restored or failed over: grants are held until no lease that it "
              "forgot can be live"
            : "grants are suspended");
    return ready & check(checks, "accounts", pool->idle + pool->leased > 0, "no channel account is active");
}

static bool check_funds(const struct api_settings *settings, const struct funds *funds, json_t *checks)
{
    switch (funds_level(funds, &settings->funds)) {
    case FUNDS_UNKNOWN:
        warn(checks, "funds", "the distribution account's balance is not known yet");
        return true;
    case FUNDS_LOW:
        warn(checks, "funds", "the distribution account runs low: fund it");
        return true;
    case FUNDS_TOO_LOW:
        return check(checks, "funds", false, "the distribution account cannot pay for more leases: fund it");
    case FUNDS_OK:
    default:
        return check(checks, "funds", true, NULL);
    }
}

/*
 * Only a warning: it holds for all replicas at once, and taking all of them out of service would turn the
 * loss of a standby into an outage. Patroni empties the setting on purpose when it has no standby left, and
 * where the storage replicates it is empty always. The alert belongs to the metric.
 */
static void check_standby(const struct api_settings *settings, const struct pool_counts *pool, json_t *checks)
{
    if (settings->synchronous_failover && !pool->synchronous_standby)
        warn(checks, "standby",
            "DATABASE_FAILOVER is synchronous, but no synchronous standby is configured: a failover may lose "
            "leases");
    else if (settings->synchronous_failover)
        check(checks, "standby", true, NULL);
}

/* Probes come every few seconds: the reason is logged once a minute. */
static bool check_disk(struct db *db, json_t *checks)
{
    static _Atomic int64_t next_ms;
    struct detail detail = {0};
    const bool ok = server_check_disk(db, &detail) == ERR_OK;
    if (!ok && clock_left_ms(next_ms) == 0) {
        next_ms = clock_ms() + COMPLAIN_EVERY_MS;
        log_error("the database cannot write", "detail=\"%s\"", detail.text);
    }
    return check(checks, "disk", ok, "the database cannot write: is its disk full?");
}

/*
 * Every line is looked up anew: a replica that is taken out of service gets no requests from which it could
 * learn that all is well again.
 */
static enum err ask(struct db_query *question, struct db *db, struct answer *answer, struct detail *detail)
{
    const struct api_settings *settings = question->settings;
    struct pool_counts pool;
    json_t *checks = json_array();
    bool database = pool_counts_read(db, &pool, detail) == ERR_OK;
    bool ready = check(checks, "database", database, "the database does not answer");
    ready &= check(checks, "keys", keyd_runs(settings->keyd), "the key process has ended");
    ready &= check(
        checks, "ingestion", ingestion_well(settings), "ledgers do not come in as they should; see the log");
    if (database) {
        ready &= check_pool(settings, &pool, checks);
        ready &= check_funds(settings, &pool.funds, checks);
        ready &= check_disk(db, checks);
        check_standby(settings, &pool, checks);
    }
    answer->status = ready ? 200 : 503;
    answer->body = json_pack("{s:s, s:o}", "status", ready ? "ready" : "not ready", "checks", checks);
    return ERR_OK;
}

void get_readyz(struct http_request *request, void *context)
{
    static const struct db_endpoint kind = {
        .answer_ms = DB_ENDPOINT_READ_MS, .size = sizeof(struct db_query), .ask = ask};
    struct api *api = context;
    if (atomic_load(&api->stopping)) {
        json_t *checks = json_array();
        check(checks, "service", false, "it is stopping");
        reply(request, 503, json_pack("{s:s, s:o}", "status", "not ready", "checks", checks));
        return;
    }
    db_endpoint_begin(request, api, &kind);
}
