/* Judges. Whether an account is idle is no part of it: requests wait for one. */
#include "api/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "db/server.h"
#include "pool/master_keys.h"
#include "rpc/rpc.h"
#include "stellar/protocol.h"

#define CLOCK_APART_S 2 /* clocks that differ by more are wrong */

const char *const check_names[CHECK_COUNT] = {
#define X(id, name) [CHECK_##id] = (name),
    CHECKS(X)
#undef X
};

uint32_t judge_seen_ledger(const struct api_settings *settings)
{
    return settings->seen_ledger == NULL ? 0 : atomic_load(settings->seen_ledger);
}

/* A service that started while the RPC was unavailable. */
enum err judge_network(const struct api_settings *settings, struct detail *detail)
{
    if (settings->network_checked == NULL || settings->network_checked(settings->ingest_context))
        return ERR_OK;
    return detail_set(
        detail, ERR_GRANTS_SUSPENDED, "Stellar RPC has not answered since the start of this replica");
}

const char *judge_shown(const struct judge_result *result)
{
    return result->detail.text[0] != '\0' ? result->detail.text : result->text;
}

bool judge_ready(const struct judge_report *judgement)
{
    for (size_t i = 0; i < CHECK_COUNT; i++)
        if (judgement->checks[i].level == CHECK_FAILS)
            return false;
    return true;
}

/* ---- results */

/* Probes come every few seconds, so a check is logged only when it fails or warns, does so for another
 * reason, or passes again. All listeners share this state. */
static void log_change(enum judge_check check, const struct judge_result *result)
{
    static _Atomic(const char *) logged[CHECK_COUNT]; /* constants, compared as pointers */
    const char *before = atomic_exchange(&logged[check], result->level == CHECK_PASSES ? NULL : result->text);
    if (result->level == CHECK_PASSES && before != NULL)
        log_info("a check passes again", "check=%s", check_names[check]);
    else if (result->level != CHECK_PASSES && before != result->text)
        log_warn(result->level == CHECK_FAILS ? "a check fails: this replica is not ready" : "a check warns",
            "check=%s reason=\"%s\" detail=\"%s\"", check_names[check], result->text, result->detail.text);
}

/* text is a constant. detail may be NULL. */
static void set(struct judge_report *out, enum judge_check check, enum judge_level level, const char *text,
    const struct detail *detail)
{
    struct judge_result *result = &out->checks[check];
    *result = (struct judge_result){.ran = true, .level = level, .text = level == CHECK_PASSES ? "" : text};
    if (detail != NULL && level != CHECK_PASSES)
        result->detail = *detail;
    log_change(check, result);
}

/* ---- what clients have experienced */

/* Three batches in a row have failed, or one that has tried for as long as a request waits. An old outcome
 * says nothing. */
static bool is_failing(const struct engine_outcome *outcome)
{
    return (outcome->failures >= 3 || outcome->failed_for_ms >= ENGINE_BUMP_ANSWER_MS) &&
           clock_ms() - outcome->ended_ms < OUTCOME_COUNTS_MS;
}

static bool is_succeeding(const struct engine_outcome *outcome)
{
    return outcome->failures == 0 && outcome->ended_ms != 0 &&
           clock_ms() - outcome->ended_ms < OUTCOME_COUNTS_MS;
}

static struct engine_outcome outcome_of(const struct api_settings *settings, enum ticket_kind kind)
{
    return settings->engine == NULL ? (struct engine_outcome){0} : engine_outcome(settings->engine, kind);
}

static void check_outcomes(const struct api_settings *settings, struct judge_report *out)
{
    const struct engine_outcome leases = outcome_of(settings, TICKET_LEASE),
                                bids = outcome_of(settings, TICKET_BUMP);
    set(out, CHECK_LEASES, is_failing(&leases) ? CHECK_FAILS : CHECK_PASSES,
        "the last requests for leases failed", &leases.detail);
    set(out, CHECK_BIDS, is_failing(&bids) ? CHECK_FAILS : CHECK_PASSES, "the last fee bumps failed",
        &bids.detail);
    if (out->refusal == ERR_OK && is_failing(&leases))
        out->refusal = detail_set(&out->why, leases.e, "%s", leases.detail.text);
}

/* ---- this process */

/* After a rotation the database names the new master key alone. */
static void check_keys(
    struct db *db, const struct api_settings *settings, bool database, struct judge_report *out)
{
    struct master_key_row rows[MASTER_KEY_ROWS_MAX];
    size_t needed = 0, lacking = 0;
    if (!keyd_runs(settings->keyd)) {
        set(out, CHECK_KEYS, CHECK_FAILS, "the key process has ended", NULL);
        return;
    }
    struct detail detail = {0};
    if (!database || settings->key_count == 0 || master_keys_read(db, rows, &needed, &detail) != ERR_OK)
        needed = 0;
    for (size_t i = 0; i < needed; i++) {
        if (master_keys_have(settings->keys, settings->key_count, rows[i].key_id))
            continue;
        lacking++;
        detail_set(&detail, ERR_OK, "this replica lacks master key %s: restart it with MASTER_KEY_FILE",
            rows[i].key_id);
    }
    set(out, CHECK_KEYS,
        lacking == 0       ? CHECK_PASSES
        : lacking < needed ? CHECK_WARNS
                           : CHECK_FAILS,
        "this replica lacks a master key that sealed seeds need", &detail);
    if (lacking > 0 && lacking == needed && out->refusal == ERR_OK)
        out->refusal = detail_set(&out->why, ERR_GRANTS_SUSPENDED, "%s", detail.text);
}

static void check_budget(struct judge_report *out)
{
    const int64_t most = metric_read(METRIC_KEYD_BUDGET, 0, 0),
                  left = metric_read(METRIC_KEYD_BUDGET_LEFT, 0, 0);
    struct detail detail;
    detail_set(&detail, ERR_OK, "the key process may sign fee bumps for " XLM_FORMAT " more only", XLM(left));
    set(out, CHECK_BUDGET, left < most / 100 ? CHECK_WARNS : CHECK_PASSES,
        "the key process's budget of fees is nearly used up", &detail);
}

/* Leases are granted until the last ledger is too old. The detail may name the RPC's URL. */
static void check_ingestion(const struct api_settings *settings, struct judge_report *out)
{
    const struct judge_result *ledgers = &out->checks[CHECK_LEDGERS];
    struct detail why = {0};
    const bool ready =
        settings->ingest_ready == NULL || settings->ingest_ready(settings->ingest_context, &why);
    set(out, CHECK_INGESTION,
        ready                                            ? CHECK_PASSES
        : ledgers->ran && ledgers->level == CHECK_PASSES ? CHECK_WARNS
                                                         : CHECK_FAILS,
        "ledgers are not ingested; the log says why", &why);
}

static void check_clock(const struct api_settings *settings, struct judge_report *out)
{
    const struct pool_counts *pool = &out->pool;
    const int64_t theirs_s =
        pool->cursor_sequence == 0 ? (int64_t)pool->now_s : pool->cursor_close_time_s + pool->cursor_lag_s;
    const int64_t ahead_s = (int64_t)time(NULL) - theirs_s;
    const bool is_ours = llabs(pool->cursor_lag_s) <= grants_clock_slack_s(settings->ledger_ms),
               tokens = settings->auth != NULL && is_ours &&
                        (ahead_s < -AUTH_SKEW_S - 1 || ahead_s > AUTH_SKEW_S + AUTH_WINDOW_MAX_S),
               refuses = tokens || (is_ours && ahead_s < -OWN_CLOCK_AHEAD_S);
    struct detail detail;
    detail_set(&detail, ERR_OK,
        "this host's clock is %" PRId64 " s %s the database's: correct the wrong one (NTP)%s",
        ahead_s < 0 ? -ahead_s : ahead_s, ahead_s < 0 ? "behind" : "ahead of",
        tokens    ? "; clients' tokens are refused"
        : refuses ? "; the key process signs no lease"
                  : "");
    set(out, CHECK_CLOCK,
        refuses                          ? CHECK_FAILS
        : llabs(ahead_s) > CLOCK_APART_S ? CHECK_WARNS
                                         : CHECK_PASSES,
        "this host's clock is not the database's", &detail);
    if (refuses && out->refusal == ERR_OK)
        out->refusal = detail_set(&out->why, tokens ? ERR_UNAUTHORIZED : ERR_KEYD_CLOCK, "%s", detail.text);
}

static void check_protocol(struct judge_report *out)
{
    struct detail detail;
    detail_set(&detail, ERR_OK,
        "the network has or will have protocol %" PRIu32 ", newer than this build, which knows %d: install a "
        "newer one",
        protocol_noted(), PROTOCOL_KNOWN);
    set(out, CHECK_PROTOCOL, protocol_noted() > PROTOCOL_KNOWN ? CHECK_WARNS : CHECK_PASSES,
        "the network's protocol is newer than this version", &detail);
}

static void check_clients(const struct api_settings *settings, struct judge_report *out)
{
    if (settings->auth != NULL)
        set(out, CHECK_CLIENTS, auth_stale(settings->auth) ? CHECK_WARNS : CHECK_PASSES,
            "CLIENTS_FILE is wrong, so the earlier clients stay; the log says what", NULL);
}

/* ---- the RPCs. One that is sick is no reason to take the replica out of service: others serve. */

__attribute__((format(printf, 3, 4))) static void add_rpc(
    struct detail *detail, unsigned number, const char *format, ...)
{
    const struct detail before = *detail;
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    detail_set(
        detail, ERR_OK, "%s%sRPC %u: %s", before.text, before.text[0] != '\0' ? "; " : "", number, text);
}

/* At which ledger the network should be now: what the cursor's age makes of it, if any address is so far. 0:
 * not known. */
static int64_t expected_ledger(
    const struct api_settings *settings, size_t count, const struct pool_counts *pool)
{
    const int64_t lag_s = pool->cursor_lag_s > 0 ? pool->cursor_lag_s : 0;
    int64_t newest = 0;
    for (unsigned i = 0; i < count; i++)
        newest =
            metric_read(METRIC_RPC_LEDGER, i, 0) > newest ? metric_read(METRIC_RPC_LEDGER, i, 0) : newest;
    if (pool->cursor_sequence == 0 || settings->ledger_ms == 0)
        return 0;
    const int64_t expected = pool->cursor_sequence + lag_s * 1000 / settings->ledger_ms;
    return expected < newest ? expected : newest;
}

static void check_rpcs(const struct api_settings *settings, struct judge_report *out)
{
    const size_t addresses = settings->rpc_url == NULL ? 0 : rpc_address_count(settings->rpc_url),
                 count = addresses < METRIC_MAX_RPC ? addresses : METRIC_MAX_RPC;
    const struct speed *speed = &out->speed;
    /* A replica that does not lead asks them rarely. */
    const bool follows = count > 1 && metric_read(METRIC_LEADS, 0, 0) != 0;
    const int64_t expected = follows ? expected_ledger(settings, count, &out->pool) : 0;
    struct detail detail = {0};
    for (unsigned i = 0; i < count; i++) {
        const int64_t ledger = metric_read(METRIC_RPC_LEDGER, i, 0);
        if (speed->failed[i] * 2 > speed->calls[i])
            add_rpc(&detail, i + 1, "%" PRId64 " of %" PRId64 " calls of a minute failed", speed->failed[i],
                speed->calls[i]);
        if (speed->refuted[i] > 0)
            add_rpc(&detail, i + 1, "%" PRId64 " of its ledgers are not the network's: it changes them",
                speed->refuted[i]);
        else if (expected > 0 && ledger > 0 && llabs(ledger - expected) > RPC_BEHIND_LEDGERS)
            add_rpc(&detail, i + 1,
                "it is at ledger %" PRId64 ", and the network at %" PRId64 ": stuck, or of another network",
                ledger, expected);
    }
    set(out, CHECK_RPCS, detail.text[0] != '\0' ? CHECK_WARNS : CHECK_PASSES,
        "an RPC of RPC_URL is sick; the status says which", &detail);
}

/* ---- the database */

static void check_ledgers(const struct api_settings *settings, struct judge_report *out)
{
    const struct pool_counts *pool = &out->pool;
    const bool any = pool->cursor_sequence != 0,
               near = llabs(pool->cursor_lag_s) <= grants_clock_slack_s(settings->ledger_ms);
    set(out, CHECK_LEDGERS, any && near ? CHECK_PASSES : CHECK_FAILS,
        any ? "the close time of the last committed ledger is too far from the database's clock: ingestion is"
              " behind, or a clock is wrong"
            : "no ledger has been ingested yet",
        NULL);
}

/* The reason that an operator gave is for operators. */
static void check_grants(struct judge_report *out, enum err e, const struct detail *why)
{
    const struct grants_state *grants = &out->pool.grants;
    struct detail detail = *why;
    char until[CLOCK_TEXT_SIZE];
    if (grants->held_until_s > 0) {
        clock_text(grants->held_until_s, until);
        detail_set(&detail, ERR_OK, "on hold until a ledger closes after %s: %s", until, grants->reason);
    }
    set(out, CHECK_GRANTS, e == ERR_OK ? CHECK_PASSES : CHECK_FAILS,
        grants->held_until_s > 0 ? "grants are on hold"
        : grants->stopped        ? "grants are stopped"
        : grants->paused         ? "an operator has paused leases"
        : !grants->same_database ? "the database was restored or failed over"
                                 : "no lease is granted",
        &detail);
}

struct judge_result judge_funds(const struct funds *funds, const struct funds_limits *limits)
{
    static const struct {
        enum judge_level level;
        const char *text;
    } results[] = {
        [FUNDS_UNKNOWN] = {CHECK_WARNS, "the distribution account's balance is not known yet"},
        [FUNDS_OK] = {CHECK_PASSES, ""},
        [FUNDS_LOW] = {CHECK_WARNS, "the distribution account's balance is low: fund it"},
        [FUNDS_TOO_LOW] = {CHECK_FAILS, "the distribution account cannot pay for more leases: fund it"},
        [FUNDS_CANNOT_SIGN] = {CHECK_FAILS,
            "the distribution account's own key no longer reaches its thresholds: its signers were changed"},
    };
    const enum funds_level level = funds_level(funds, limits);
    return (struct judge_result){.level = results[level].level, .text = results[level].text};
}

/* Without a synchronous standby a warning only: Patroni empties the setting on purpose when no standby is
 * left, and it is always empty where the storage replicates. */
static void check_standby(
    const struct api_settings *settings, enum judge_level failing, struct judge_report *out)
{
    const struct pool_counts *pool = &out->pool;
    if (pool->synchronous_standby && !pool->standby_connected)
        set(out, CHECK_STANDBY, failing, "no standby is connected, and each commit waits for one", NULL);
    else if (settings->synchronous_failover || pool->synchronous_standby)
        set(out, CHECK_STANDBY, pool->synchronous_standby ? CHECK_PASSES : CHECK_WARNS,
            "DATABASE_FAILOVER is synchronous, but no synchronous standby is configured: a failover may lose "
            "leases",
            NULL);
}

static void check_snapshot(struct db *db, struct judge_report *out)
{
    struct oldest_snapshot *snapshot = &out->snapshot;
    struct detail detail;
    if (oldest_snapshot_read(db, snapshot, &detail) != ERR_OK)
        return;
    detail_set(&detail, ERR_OK, "%s %s (pid %d) keeps dead rows since %" PRId64 " s", snapshot->what,
        snapshot->name, snapshot->pid, snapshot->age_s);
    set(out, CHECK_SNAPSHOT, snapshot->age_s > SNAPSHOT_OLD_S ? CHECK_WARNS : CHECK_PASSES,
        "an old snapshot keeps dead rows", &detail);
}

/* In the order of grants. */
static void check_database(
    struct db *db, const struct api_settings *settings, bool counted, uint32_t seen, struct judge_report *out)
{
    const struct engine_outcome leases = outcome_of(settings, TICKET_LEASE);
    const enum judge_level failing = is_succeeding(&leases) ? CHECK_WARNS : CHECK_FAILS;
    const struct pool_counts *pool = &out->pool;
    struct detail detail = {0}, why = {0};
    set(out, CHECK_DATABASE, pool->partition_days > 0 ? CHECK_PASSES : CHECK_WARNS,
        "there is no partition for the leases of tomorrow: housekeeping fails, and the leader's log says why",
        NULL);
    enum err e = judge_network(settings, &why);
    if (e == ERR_OK)
        e = grants_check(&pool->grants, settings->ledger_ms, seen, &why);
    check_ledgers(settings, out);
    check_grants(out, e, &why);
    set(out, CHECK_ACCOUNTS, pool->active > 0 ? CHECK_PASSES : CHECK_FAILS,
        "no channel account is active: run fairway ensure-accounts", NULL);
    const struct judge_result funds = judge_funds(&pool->funds, &settings->funds);
    set(out, CHECK_FUNDS, funds.level, funds.text, NULL);
    if (e == ERR_OK)
        e = funds_check_lease(funds_spendable(&pool->funds), &settings->funds, &why);
    if (e == ERR_OK && pool->active == 0)
        e = detail_set(&why, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, "%s", out->checks[CHECK_ACCOUNTS].text);
    out->refusal = e;
    out->why = why;
    const bool disk = server_check_disk(db, &detail) == ERR_OK;
    const struct detail cause = detail;
    detail_set(&detail, ERR_OK, "the database cannot write: is its disk full? (%.120s)", cause.text);
    set(out, CHECK_DISK, disk ? CHECK_PASSES : failing, "the database cannot write: is its disk full?",
        &detail);
    check_standby(settings, failing, out);
    check_clock(settings, out);
    if (counted)
        check_snapshot(db, out);
    for (enum judge_check check = CHECK_DISK; out->refusal == ERR_OK && check <= CHECK_STANDBY; check++)
        if (out->checks[check].level == CHECK_FAILS)
            out->refusal =
                detail_set(&out->why, ERR_DATABASE_UNAVAILABLE, "%s", judge_shown(&out->checks[check]));
}

void judge_database_lost(struct judge_report *out, const struct detail *why)
{
    const struct detail cause = *why;
    struct detail detail;
    out->refusal = ERR_DATABASE_UNAVAILABLE;
    out->why = cause;
    detail_set(&detail, ERR_OK, "the database does not answer: %.150s", cause.text);
    set(out, CHECK_DATABASE, CHECK_FAILS, "the database is unavailable", &detail);
}

void judge(struct db *db, const struct api_settings *settings, bool counted, struct judge_report *out)
{
    const uint32_t seen = judge_seen_ledger(settings);
    *out = (struct judge_report){0};
    enum err e = db == NULL ? detail_set(&out->why, ERR_DATABASE_UNAVAILABLE, "other reads take too long")
                            : pool_counts_read(db, counted, &out->pool, &out->why);
    if (e == ERR_OK)
        check_database(db, settings, counted, seen, out);
    else
        judge_database_lost(out, &out->why);
    check_keys(db, settings, e == ERR_OK, out);
    check_budget(out);
    check_clients(settings, out);
    check_ingestion(settings, out);
    check_outcomes(settings, out);
    out->speed = recent_speed_read();
    check_rpcs(settings, out);
    check_protocol(out);
}

void api_write_accounts(struct json_write *out, const struct pool_counts *pool)
{
    json_write_open(out, "accounts", '{');
    json_write_number(out, "idle", pool->idle);
    json_write_number(out, "leased", pool->leased);
    json_write_number(out, "creating", pool->creating);
    json_write_number(out, "retiring", pool->retiring);
    json_write_number(out, "quarantined", pool->quarantined);
    json_write_close(out, '}');
}
