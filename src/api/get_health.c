/*
 * GET /livez: the process and its key process run. GET /readyz, /health: leases can be granted now, or which
 * checks fail and why. Served on both listeners. Anyone may read the replies, so they have only constant
 * texts of this file, the reason why no lease is granted, and the reason that an operator gave for a hold.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/server.h"
#include "db_endpoint.h"
#include "pool_now.h"

void api_get_livez(struct http_request *request, void *context)
{
    const struct api *api = context;
    const bool alive = keyd_runs(api->settings.keyd);
    struct json_write object = {0};
    json_write_begin(&object, 32);
    json_write_text(&object, "status", alive ? "alive" : "not alive");
    api_reply(request, alive ? 200 : 503, &object);
}

enum check {
    CHECK_SERVICE,
    CHECK_DATABASE,
    CHECK_KEYS,
    CHECK_INGESTION,
    CHECK_LEDGERS,
    CHECK_GRANTS,
    CHECK_ACCOUNTS,
    CHECK_FUNDS,
    CHECK_DISK,
    CHECK_STANDBY,
    CHECK_COUNT
};

static const char *const names[CHECK_COUNT] = {
    "service", "database", "keys", "ingestion", "ledgers", "grants", "accounts", "funds", "disk", "standby"};

/* The checks of one request. */
struct report {
    struct {
        bool ran, failed;
        const char *text; /* the reason, or a warning; NULL: none */
    } checks[CHECK_COUNT];
    bool failed;
    char grants[300]; /* what the check of grants shows */
};

/* Probes come every few seconds, so a check is logged only when it fails, fails for another reason, or passes
 * again. Both listeners share this state. reason NULL: the check passes. */
static void log_change(enum check check, const char *reason, const char *detail)
{
    static _Atomic(const char *) logged[CHECK_COUNT]; /* constants, compared as pointers */
    const char *before = atomic_exchange(&logged[check], reason);
    if (before == reason)
        return;
    if (reason == NULL)
        log_info("readiness check passes again", "check=%s", names[check]);
    else
        log_warn("readiness check failed", "check=%s reason=\"%s\" detail=\"%s\"", names[check], reason,
            detail == NULL ? "" : detail);
}

static void pass(struct report *report, enum check check)
{
    log_change(check, NULL, NULL);
    report->checks[check].ran = true;
}

/* reason is a constant; shown (NULL: reason) is what the reply says, and stays; detail is for the log, may be
 * NULL. */
static void fail(
    struct report *report, enum check check, const char *reason, const char *shown, const char *detail)
{
    log_change(check, reason, shown != NULL ? shown : detail);
    report->checks[check].ran = report->checks[check].failed = report->failed = true;
    report->checks[check].text = shown != NULL ? shown : reason;
}

static void judge(struct report *report, enum check check, bool passes, const char *reason)
{
    if (passes)
        pass(report, check);
    else
        fail(report, check, reason, NULL, NULL);
}

/* A check that has passed has a warning: the replica stays ready. */
static void warn(struct report *report, enum check check, const char *warning)
{
    report->checks[check].text = warning;
}

/* A warning: the first lease of a day makes its partition if housekeeping did not. */
static void check_database(const struct pool_counts *pool, struct report *report)
{
    pass(report, CHECK_DATABASE);
    if (pool->partition_days <= 0)
        warn(report, CHECK_DATABASE,
            "there is no partition for the leases of tomorrow: housekeeping fails, and the leader's log says "
            "why");
}

/* The detail may name the RPC's URL, so it is only logged. */
static void check_ingestion(const struct api_settings *settings, struct report *report)
{
    struct detail why = {0};
    if (settings->ingest_ready(settings->ingest_context, &why))
        pass(report, CHECK_INGESTION);
    else
        fail(report, CHECK_INGESTION, "ledgers are not ingested; the log says why", NULL, why.text);
}

static void check_ledgers(
    const struct api_settings *settings, const struct pool_counts *pool, struct report *report)
{
    int64_t apart_s = pool->cursor_lag_s < 0 ? -pool->cursor_lag_s : pool->cursor_lag_s;
    if (pool->cursor_sequence == 0)
        fail(report, CHECK_LEDGERS, "no ledger has been ingested yet", NULL, NULL);
    else
        judge(report, CHECK_LEDGERS, apart_s <= grants_clock_slack_s(settings->ledger_ms),
            "the close time of the last committed ledger is too far from the database's clock: ingestion is"
            " behind, or a clock is wrong");
}

static void check_grants(const struct pool_now *now, struct report *report)
{
    const struct grants_state *grants = &now->pool.grants;
    char until[CLOCK_TEXT_SIZE], *shown = report->grants;
    const size_t size = sizeof report->grants;
    if (now->refusal != ERR_GRANTS_SUSPENDED) {
        pass(report, CHECK_GRANTS); /* funds have a check of their own */
    } else if (grants->held_until_s > 0) {
        clock_text(grants->held_until_s, until);
        snprintf(
            shown, size, "grants are on hold until a ledger has closed after %s: %s", until, grants->reason);
        fail(report, CHECK_GRANTS, "grants are on hold", shown, NULL);
    } else if (grants->stopped) {
        snprintf(shown, size, "grants are stopped: %s", grants->reason);
        fail(report, CHECK_GRANTS, "grants are stopped", shown, NULL);
    } else {
        snprintf(shown, size, "%s", now->why.text);
        fail(report, CHECK_GRANTS, "no lease is granted", shown, NULL);
    }
}

static void check_funds(const struct api_settings *settings, const struct funds *funds, struct report *report)
{
    const enum funds_level level = funds_level(funds, &settings->funds);
    judge(report, CHECK_FUNDS, level != FUNDS_TOO_LOW,
        "the distribution account cannot pay for more leases: fund it");
    if (level == FUNDS_UNKNOWN)
        warn(report, CHECK_FUNDS, "the distribution account's balance is not known yet");
    else if (level == FUNDS_LOW)
        warn(report, CHECK_FUNDS, "the distribution account's balance is low: fund it");
}

static void check_disk(struct db *db, struct report *report)
{
    struct detail detail = {0};
    if (server_check_disk(db, &detail) == ERR_OK)
        pass(report, CHECK_DISK);
    else
        fail(report, CHECK_DISK, "the database cannot write: is its disk full?", NULL, detail.text);
}

/*
 * Only a warning: it would hold for all replicas at once, and taking all of them out of service would turn
 * the loss of a standby into an outage. Patroni empties the setting on purpose when no standby is left, and
 * it is always empty where the storage replicates. Alert on the metric.
 */
static void check_standby(
    const struct api_settings *settings, const struct pool_counts *pool, struct report *report)
{
    if (!settings->synchronous_failover)
        return;
    pass(report, CHECK_STANDBY);
    if (!pool->synchronous_standby)
        warn(report, CHECK_STANDBY,
            "DATABASE_FAILOVER is synchronous, but no synchronous standby is configured: a failover may lose "
            "leases");
}

static char *report_text(const struct report *report)
{
    struct json_write out = {0};
    json_write_begin(&out, 1024);
    json_write_text(&out, "status", report->failed ? "not ready" : "ready");
    json_write_open(&out, "checks", '[');
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        if (!report->checks[i].ran)
            continue;
        json_write_open(&out, NULL, '{');
        json_write_text(&out, "name", names[i]);
        json_write_bool(&out, "ok", !report->checks[i].failed);
        if (report->checks[i].text != NULL)
            json_write_text(&out, report->checks[i].failed ? "reason" : "warning", report->checks[i].text);
        json_write_close(&out, '}');
    }
    json_write_close(&out, ']');
    return json_write_end(&out);
}

/* All checks run again, not only those that failed: a replica that is out of service gets no other requests
 * that would show that it has recovered. */
static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    const struct api_settings *settings = query->settings;
    struct report report = {0};
    struct pool_now now;
    const struct pool_counts *pool = &now.pool;
    const bool database = pool_now_read(db, settings, false, &now, detail) == ERR_OK;
    if (database)
        check_database(pool, &report);
    else
        fail(&report, CHECK_DATABASE, "the database is unavailable", NULL, detail->text);
    judge(&report, CHECK_KEYS, keyd_runs(settings->keyd), "the key process has ended");
    check_ingestion(settings, &report);
    if (database) {
        check_ledgers(settings, pool, &report);
        check_grants(&now, &report);
        judge(&report, CHECK_ACCOUNTS, pool->active > 0,
            "no channel account is active: run fairway ensure-accounts");
        check_funds(settings, &pool->funds, &report);
        check_disk(db, &report);
        check_standby(settings, pool, &report);
    }
    reply->status = report.failed ? 503 : 200;
    reply->text = report_text(&report);
    last_report_set(&query->api->last_readyz, reply->status, reply->text, 0);
    return ERR_OK;
}

void api_get_readyz(struct http_request *request, void *context)
{
    static const struct db_endpoint endpoint = {.query_size = sizeof(struct db_query), .run = run};
    struct api *api = context;
    if (atomic_load(&api->stopping)) {
        struct report report = {0};
        fail(&report, CHECK_SERVICE, "the service is stopping", NULL, NULL);
        api_reply_text(request, 503, report_text(&report));
        return;
    }
    db_endpoint_report(request, api, &endpoint, &api->last_readyz);
}
