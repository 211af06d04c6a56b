/*
 * GET /status.json and the page /status, for the admin listener: what an operator asks first, one line a
 * question, in words. The page /status and `fairway status` show these lines and do not judge again. Without
 * the database it tells what this replica knows by itself.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/version.h"
#include "commit.h"
#include "embedded.h"
#include "db_endpoint.h"
#include "api/judge.h"
#include "pool/account_read.h"
#include "pool/recent.h"
#include "stellar/account.h"

#define EXPIRED_SICK 10 /* one in so many leases of the last hour: a client has stopped submitting */
#define IDLE_LOW 10     /* one in so many accounts */
#define QUARANTINED_SHOWN 3
#define LATE_S 5    /* and two ledgers: then one should have come */
#define HOUR_S 3540 /* and at most a minute between ledgers */

/* The code of a question, for scripts, and its words. */
#define LEASES "leases", "May I lease?"
#define ROOM "room", "Is there room?"
#define LEDGERS "ledgers", "Do leases end?"
#define ENDS "ends", "How do they end?"
#define SPEED "speed", "Is it fast?"
#define MONEY "money", "Is there money?"
#define PARTS "parts", "Which part is sick?"
#define LEADER "leader", "Who leads?"

/* What one reply is made of. */
struct screen {
    const struct api_settings *settings;
    struct judge_report now;
    struct recent recent;
    struct account_shown quarantined[QUARANTINED_SHOWN];
    size_t quarantined_count;
    struct json_write out;
};

__attribute__((format(printf, 5, 6))) static void answer(struct screen *screen, enum judge_level level,
    const char *code, const char *question, const char *format, ...)
{
    static const char *const levels[] = {
        [CHECK_PASSES] = "ok", [CHECK_WARNS] = "warn", [CHECK_FAILS] = "bad"};
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_write_open(&screen->out, NULL, '{');
    json_write_text(&screen->out, "code", code);
    json_write_text(&screen->out, "question", question);
    json_write_text(&screen->out, "level", levels[level]);
    json_write_bytes(&screen->out, "answer", text);
    json_write_close(&screen->out, '}');
}

/* Then this is the cause, and not a clock. */
static bool no_ledgers_come(const struct screen *screen)
{
    const struct grants_state *grants = &screen->now.pool.grants;
    return grants->known && !grants->stopped && !grants->paused &&
           screen->now.checks[CHECK_INGESTION].level == CHECK_FAILS &&
           screen->now.checks[CHECK_LEDGERS].level == CHECK_FAILS && screen->now.pool.cursor_lag_s > 0;
}

static bool has_database(const struct screen *screen)
{
    return screen->now.checks[CHECK_DATABASE].level != CHECK_FAILS;
}

static void answer_leases(struct screen *screen)
{
    const struct judge_report *now = &screen->now;
    if (now->refusal == ERR_OK)
        answer(screen, CHECK_PASSES, LEASES, "yes");
    else if (!has_database(screen))
        answer(screen, CHECK_FAILS, LEASES, "no: the database does not answer");
    else if (now->pool.grants.held_until_s > 0)
        answer(screen, CHECK_FAILS, LEASES, "no, %s", now->checks[CHECK_GRANTS].detail.text);
    else if (now->checks[CHECK_STANDBY].level == CHECK_FAILS) /* so no ledger is committed either */
        answer(screen, CHECK_FAILS, LEASES, "no: %s", judge_shown(&now->checks[CHECK_STANDBY]));
    else if (no_ledgers_come(screen))
        answer(screen, CHECK_FAILS, LEASES,
            "no: the last ledger closed %" PRId64
            " s ago and no later one is ingested; the sick part says why",
            now->pool.cursor_lag_s);
    else
        answer(screen, CHECK_FAILS, LEASES, "no: %s", now->why.text);
}

/* The quarantined accounts that are shown, each with its reason; out is '' when there are none. */
static void say_why_quarantined(const struct screen *screen, char out[], size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < screen->quarantined_count && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%.8s... %s", i == 0 ? " (" : "; ",
            screen->quarantined[i].public_key, screen->quarantined[i].reason);
    if (len > 0 && len < size)
        snprintf(out + len, size - len, ")");
}

static void answer_room(struct screen *screen)
{
    const struct pool_counts *pool = &screen->now.pool;
    const bool low = pool->idle * IDLE_LOW < pool->active || pool->active == 0;
    const enum judge_level level = pool->idle == 0                ? CHECK_FAILS
                                   : low || pool->quarantined > 0 ? CHECK_WARNS
                                                                  : CHECK_PASSES;
    char why[420], holder[80] = "";
    say_why_quarantined(screen, why, sizeof why);
    if (screen->recent.holds > 0)
        snprintf(holder, sizeof holder, "; client %.24s%s holds %" PRId64, screen->recent.holder,
            strlen(screen->recent.holder) > 24 ? "..." : "", screen->recent.holds);
    answer(screen, level, ROOM,
        "%" PRId64 " idle of %" PRId64 " active accounts; %" PRId64 " quarantined%s, %" PRId64
        " retiring, %" PRId64 " creating; oldest lease %" PRId64 " s; %" PRId64 " requests wait%s",
        pool->idle, pool->active, pool->quarantined, why, pool->retiring, pool->creating,
        pool->oldest_lease_s, screen->recent.waiting, holder);
}

static void answer_ledgers(struct screen *screen)
{
    const struct pool_counts *pool = &screen->now.pool;
    const int64_t apart_s = pool->cursor_lag_s < 0 ? -pool->cursor_lag_s : pool->cursor_lag_s;
    const bool apart = screen->now.checks[CHECK_LEDGERS].level == CHECK_FAILS;
    const struct recent *recent = &screen->recent;
    const size_t count = recent->ledger_count;
    const int64_t span_s =
        count == 0 ? 0 : recent->ledgers[0].close_time_s - recent->ledgers[count - 1].close_time_s;
    int64_t ended = 0;
    for (size_t i = 0; i < count; i++)
        ended += recent->ledgers[i].ended;
    const bool late = pool->cursor_lag_s > LATE_S + 2 * (int64_t)screen->settings->ledger_ms / 1000;
    const bool unsubmitted = !late && ended == 0 && pool->idle == 0 && pool->oldest_lease_s > span_s;
    if (pool->cursor_sequence == 0)
        answer(screen, CHECK_FAILS, LEDGERS, "no ledger is committed yet");
    else
        answer(screen,
            apart                 ? CHECK_FAILS
            : late || unsubmitted ? CHECK_WARNS
                                  : CHECK_PASSES,
            LEDGERS,
            "ledger %" PRIu32 "%s closed %" PRId64 " s %s the database's clock%s; the last %zu ledgers ended "
            "%" PRId64 " leases%s",
            pool->cursor_sequence,
            screen->settings->signatures ? "" : " (its RPC is believed, without signatures)", apart_s,
            pool->cursor_lag_s < 0 ? "after" : "before",
            apart && screen->now.checks[CHECK_INGESTION].level == CHECK_PASSES && pool->cursor_lag_s > 0
                ? ", and ledgers come in: that clock is fast, or ingestion catches up"
            : late ? ", so the next one is late"
                   : "",
            count, ended, unsubmitted ? ", and no account is idle: are the leases submitted?" : "");
}

static void answer_ends(struct screen *screen)
{
    const int64_t *ends = screen->recent.ends;
    int64_t all = 0;
    for (size_t i = 0; i < RECENT_ENDS; i++)
        all += ends[i];
    const bool sick = ends[METRIC_CONSUMED] + ends[METRIC_SUPERSEDED] > 0 ||
                      (all > 0 && ends[METRIC_EXPIRED] * EXPIRED_SICK > all);
    answer(screen, sick ? CHECK_WARNS : CHECK_PASSES, ENDS,
        "in the last hour %" PRId64 " confirmed, %" PRId64 " failed, %" PRId64 " expired, %" PRId64
        " superseded, %" PRId64 " consumed",
        ends[METRIC_CONFIRMED], ends[METRIC_FAILED], ends[METRIC_EXPIRED], ends[METRIC_SUPERSEDED],
        ends[METRIC_CONSUMED]);
}

static void answer_speed(struct screen *screen)
{
    const struct speed *speed = &screen->now.speed;
    const double seconds = (double)speed->over_ms / 1000;
    if (speed->p50_us < 0)
        answer(screen, CHECK_PASSES, SPEED, "no request for a lease in the last %.0f s", seconds);
    else
        answer(screen, speed->p99_us > 1000000 ? CHECK_WARNS : CHECK_PASSES, SPEED,
            "%.1f leases a second; half of the requests wait at most %" PRId64 " ms, 99 %% at most %" PRId64
            " ms; this replica, last %.0f s",
            seconds > 0 ? (double)speed->granted / seconds : 0, (speed->p50_us + 999) / 1000,
            (speed->p99_us == INT64_MAX ? 60000000 : speed->p99_us + 999) / 1000, seconds);
}

static void answer_money(struct screen *screen)
{
    const struct funds *funds = &screen->now.pool.funds;
    const struct judge_result *check = &screen->now.checks[CHECK_FUNDS];
    const int64_t payments = funds_payments(funds, &screen->settings->funds);
    const int64_t paid = screen->recent.ends[METRIC_CONFIRMED] + screen->recent.ends[METRIC_FAILED];
    char hours[60] = "";
    if (!funds->known || funds->cannot_sign) {
        answer(screen, check->level, MONEY, "%s", check->text);
        return;
    }
    if (paid > 0 && screen->recent.ends_over_s >= HOUR_S)
        snprintf(hours, sizeof hours, ", at the rate of the last hour %.1f hours",
            (double)payments / (double)paid);
    answer(screen, check->level, MONEY, XLM_FORMAT ", for %" PRId64 " payments%s",
        XLM(funds->spendable_stroops), payments, hours);
}

/* The checks that no other line is about. */
static void answer_parts(struct screen *screen)
{
    static const enum judge_check parts[] = {CHECK_DATABASE, CHECK_DISK, CHECK_STANDBY, CHECK_SNAPSHOT,
        CHECK_RPCS, CHECK_KEYS, CHECK_BUDGET, CHECK_CLOCK, CHECK_CLIENTS, CHECK_LEASES, CHECK_BIDS,
        CHECK_INGESTION, CHECK_PROTOCOL};
    char sick[600] = "";
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const struct judge_result *result = &screen->now.checks[parts[i]];
        if (result->level != CHECK_PASSES && len < sizeof sick)
            len += (size_t)snprintf(
                sick + len, sizeof sick - len, "%s%s", len > 0 ? "; " : "", judge_shown(result));
    }
    answer(screen, len == 0 ? CHECK_PASSES : CHECK_FAILS, PARTS, "%s", len == 0 ? "none" : sick);
}

static void write_recent(struct json_write *out, const struct recent *recent)
{
    json_write_open(out, "ledgers", '[');
    for (size_t i = 0; i < recent->ledger_count; i++) {
        json_write_open(out, NULL, '{');
        json_write_number(out, "sequence", recent->ledgers[i].sequence);
        json_write_decimal(out, "closeTime", recent->ledgers[i].close_time_s);
        json_write_number(out, "ended", recent->ledgers[i].ended);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
    json_write_open(out, "events", '[');
    for (size_t i = 0; i < recent->event_count; i++) {
        const struct recent_event *event = &recent->events[i];
        char at[CLOCK_TEXT_SIZE];
        clock_text(event->happened_s, at);
        json_write_open(out, NULL, '{');
        json_write_text(out, "at", at);
        json_write_bytes(out, "what", event->what);
        json_write_bytes(out, "why", event->why);
        json_write_bytes(out, "who", event->who);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static char *screen_text(struct screen *screen)
{
    struct json_write *out = &screen->out;
    char at[CLOCK_TEXT_SIZE];
    clock_text(time(NULL), at);
    json_write_begin(out, 8192);
    json_write_text(out, "at", at);
    json_write_text(out, "version", FAIRWAY_VERSION);
    json_write_text(out, "commit", FAIRWAY_COMMIT);
    json_write_text(out, "network", screen->settings->passphrase);
    json_write_bool(out, "leases", screen->now.refusal == ERR_OK);
    json_write_open(out, "answers", '[');
    answer_leases(screen);
    if (has_database(screen)) {
        answer_room(screen);
        answer_ledgers(screen);
        answer_ends(screen);
    }
    answer_speed(screen);
    if (has_database(screen))
        answer_money(screen);
    answer_parts(screen);
    answer(screen, CHECK_PASSES, LEADER, "%s",
        metric_read(METRIC_LEADS, 0, 0) != 0 ? "this replica"
                                             : "another replica or command; the events below name it");
    json_write_close(out, ']');
    if (has_database(screen)) {
        api_write_accounts(out, &screen->now.pool);
        write_recent(out, &screen->recent);
    }
    return json_write_end(out);
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    struct screen *screen AUTO_FREE = NEW(struct screen);
    screen->settings = query->settings;
    judge(db, query->settings, true, &screen->now);
    enum err e = has_database(screen) ? recent_read(db, &screen->recent, detail) : ERR_OK;
    if (e == ERR_OK && screen->now.pool.quarantined > 0)
        e = account_read_page(db, "quarantined", NULL, "", QUARANTINED_SHOWN, screen->quarantined,
            &screen->quarantined_count, detail);
    if (e != ERR_OK)
        judge_database_lost(&screen->now, detail);
    reply->text = screen_text(screen);
    return ERR_OK;
}

void api_get_status_json(struct http_request *request, void *api)
{
    db_endpoint_report(request, api, run, NULL);
}

void api_get_status(struct http_request *request, void *api)
{
    (void)api;
    http_reply_text(request, 200, "text/html; charset=utf-8", mem_copy_text(status_html));
}
