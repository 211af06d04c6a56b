/*
 * GET /metrics: what an operator monitors, in Prometheus' text format (version 0.0.4). Each request reads
 * every value again. An unknown value is left out, not reported as 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/metric.h"
#include "base/process.h"
#include "base/version.h"
#include "commit.h"
#include "db_endpoint.h"
#include "api/judge.h"
#include "stellar/protocol.h"

static void put_build(FILE *out)
{
    metric_describe(out, "gauge", "fairway_build_info",
        "The version of this replica, and the commit that it was built from.");
    fprintf(out, "fairway_build_info{version=\"%s\",commit=\"%s\"} 1\n", FAIRWAY_VERSION, FAIRWAY_COMMIT);
    metric_gauge(out, "fairway_protocol_known",
        "Newest protocol of the network that this version understands.", PROTOCOL_KNOWN);
    if (protocol_noted() > 0)
        metric_gauge(out, "fairway_protocol_seen",
            "Newest protocol that this replica has seen in a ledger, in a vote, or behind RPC_URL. Above "
            "fairway_protocol_known, it is newer than this build.",
            protocol_noted());
}

static void put_accounts(FILE *out, const struct pool_counts *pool)
{
    static const char name[] = "fairway_channel_accounts";
    metric_describe(out, "gauge", name, "Channel accounts by state; idle and leased ones are active.");
    fprintf(out, "%s{state=\"idle\"} %" PRId64 "\n", name, pool->idle);
    fprintf(out, "%s{state=\"leased\"} %" PRId64 "\n", name, pool->leased);
    fprintf(out, "%s{state=\"creating\"} %" PRId64 "\n", name, pool->creating);
    fprintf(out, "%s{state=\"retiring\"} %" PRId64 "\n", name, pool->retiring);
    fprintf(out, "%s{state=\"quarantined\"} %" PRId64 "\n", name, pool->quarantined);
    metric_gauge(out, "fairway_oldest_lease_seconds", "Age of the oldest open lease; 0 when none is open.",
        pool->oldest_lease_s);
    metric_describe(out, "gauge", "fairway_submissions",
        "Open leases that fairway sends; rejected: that it has stopped sending.");
    fprintf(out, "fairway_submissions{state=\"pending\"} %" PRId64 "\n", pool->submissions_pending);
    fprintf(out, "fairway_submissions{state=\"rejected\"} %" PRId64 "\n", pool->submissions_rejected);
}

static void put_cursor(FILE *out, const struct judge_report *now)
{
    const struct pool_counts *pool = &now->pool;
    metric_gauge(out, "fairway_grants_held_until_seconds",
        "Grants are on hold until a ledger closes after this Unix time; 0: there is no hold.",
        pool->grants.held_until_s);
    metric_gauge(out, "fairway_provisioning_pending", "1: a transaction of ensure-accounts is pending.",
        pool->creations_pending + pool->merges_pending > 0);
    if (pool->cursor_sequence == 0)
        return;
    metric_gauge(
        out, "fairway_cursor_ledger", "Sequence of the last committed ledger.", pool->cursor_sequence);
    metric_gauge(out, "fairway_cursor_close_time_seconds",
        "Close time of the last committed ledger, Unix time.", pool->cursor_close_time_s);
    metric_gauge(out, "fairway_cursor_lag_seconds",
        "The database's clock minus the close time of the last committed ledger; may be negative.",
        pool->cursor_lag_s);
}

static void put_funds(FILE *out, const struct funds *funds, const struct funds_limits *limits)
{
    metric_gauge(
        out, "fairway_distribution_known", "1: the distribution account's balance is known.", funds->known);
    metric_gauge(out, "fairway_distribution_payments_low",
        "LOW_BALANCE_PAYMENTS: with fewer payments left, /readyz warns.", limits->low_payments);
    metric_gauge(out, "fairway_distribution_payments_min",
        "MIN_BALANCE_PAYMENTS: with fewer payments left, no lease is granted.", limits->min_payments);
    if (!funds->known)
        return;
    metric_gauge(out, "fairway_distribution_balance_stroops", "Balance of the distribution account.",
        funds->balance_stroops);
    metric_gauge(out, "fairway_distribution_spendable_stroops",
        "What the distribution account can spend on fees: balance minus reserves and selling liabilities.",
        funds->spendable_stroops);
    metric_gauge(out, "fairway_distribution_payments_left",
        "Fee bumps of one operation that it can pay at FEE_BUMP_BASE_FEE.", funds_payments(funds, limits));
}

static void put_database(FILE *out, const struct api_settings *settings, const struct pool_counts *pool)
{
    metric_gauge(out, "fairway_database_failover_synchronous", "1: DATABASE_FAILOVER=synchronous.",
        settings->synchronous_failover);
    metric_gauge(out, "fairway_database_synchronous_standby_configured",
        "1: synchronous_standby_names is set, so commits wait for a standby.", pool->synchronous_standby);
    metric_gauge(out, "fairway_database_standby_connected", "1: a standby is connected to the database.",
        pool->standby_connected);
}

static void put_checks(FILE *out, const struct judge_report *now)
{
    metric_describe(out, "gauge", "fairway_check",
        "The checks of /readyz, by name. 0: it passes; 1: it warns; 2: it fails.");
    for (size_t i = 0; i < CHECK_COUNT; i++)
        fprintf(out, "fairway_check{check=\"%s\"} %d\n", check_names[i], (int)now->checks[i].level);
    metric_gauge(out, "fairway_grants_allowed",
        "1: a request for a lease would be granted now, or wait for an account. 0: it would be refused.",
        now->refusal == ERR_OK);
}

static void put_all(FILE *out, const struct api_settings *settings, struct db *db)
{
    struct judge_report now;
    const struct pool_counts *pool = &now.pool;
    judge(db, settings, true, &now);
    put_build(out);
    process_write(out);
    metric_write(out);
    put_checks(out, &now);
    if (now.checks[CHECK_DATABASE].level == CHECK_FAILS)
        return;
    put_accounts(out, pool);
    put_cursor(out, &now);
    put_funds(out, &pool->funds, &settings->funds);
    put_database(out, settings, pool);
    metric_gauge(out, "fairway_oldest_snapshot_seconds",
        "Age of the oldest snapshot that keeps vacuum from removing dead rows, counted from the first "
        "ledger after it; 0 when there is none.",
        now.snapshot.age_s);
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    size_t len;
    FILE *out = open_memstream(&reply->text, &len);
    if (out == NULL)
        log_fatal(EX_OSERR, "out of memory for a reply", NULL);
    (void)detail;
    put_all(out, query->settings, db);
    if (fclose(out) != 0)
        log_fatal(EX_OSERR, "out of memory for a reply", NULL);
    reply->text_type = "text/plain; version=0.0.4; charset=utf-8";
    return ERR_OK;
}

void api_get_metrics(struct http_request *request, void *api)
{
    db_endpoint_report(request, api, run, NULL);
}
