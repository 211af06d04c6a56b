/* Whether leases may be granted: gaps, holds, another database, clocks apart. Only a ledger ends a hold or a
 * gap. */
#include "pool/grants_allowed.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/deadlines.h"
#include "base/log.h"
#include "pool/lock_numbers.h"
#include "stellar/policy.h"

int64_t grants_clock_slack_s(unsigned ledger_ms)
{
    return GRANTS_CLOCK_SLACK_S + ((int64_t)ledger_ms + 999) / 1000;
}

/* ---- the decision */

/* Columns of GRANTS_COLUMNS. */
enum {
    ALLOWED,
    REASON,
    SEQUENCE,
    CLOSE_TIME,
    CLOCK,
    SAME_DATABASE,
    HELD_UNTIL,
    HOLD_REASON,
    PAUSED,
    HELD_SINCE
};

struct grants_state grants_state_read(const struct db_rows *rows, int column)
{
    struct grants_state state = {.known = db_count(rows) > 0 && !db_is_null(rows, 0, column + SEQUENCE)};
    if (!state.known)
        return state;
    state.stopped = !db_bool(rows, 0, column + ALLOWED);
    state.same_database = db_bool(rows, 0, column + SAME_DATABASE);
    state.ledger = (uint32_t)db_i64(rows, 0, column + SEQUENCE);
    state.close_time_s = db_i64(rows, 0, column + CLOSE_TIME);
    state.clock_s = db_i64(rows, 0, column + CLOCK);
    const bool held = !db_is_null(rows, 0, column + HELD_UNTIL);
    state.held_until_s = held ? db_i64(rows, 0, column + HELD_UNTIL) : 0;
    state.held_since = db_is_null(rows, 0, column + HELD_SINCE) ? 0 : db_i64(rows, 0, column + HELD_SINCE);
    state.paused = !db_is_null(rows, 0, column + PAUSED);
    if (state.stopped || held || state.paused)
        snprintf(state.reason, sizeof state.reason, "%s",
            db_text(rows, 0,
                column + (state.stopped ? REASON
                             : held     ? HOLD_REASON
                                        : PAUSED)));
    return state;
}

static enum err check_clock(const struct grants_state *state, unsigned ledger_ms, struct detail *detail)
{
    const int64_t lag_s = state->clock_s - state->close_time_s, apart_s = lag_s < 0 ? -lag_s : lag_s;
    if (apart_s <= grants_clock_slack_s(ledger_ms))
        return ERR_OK;
    return detail_set(detail, ERR_GRANTS_SUSPENDED,
        "the database's clock and the last committed ledger's close time are %" PRId64 " s apart"
        ": ingestion is behind, or a clock is wrong",
        apart_s);
}

static _Atomic int64_t forgotten_since;

int64_t grants_forgotten_since(void)
{
    return atomic_load(&forgotten_since);
}

/* Until ingestion has put grants on hold, the check of `seen` is what stops them. */
enum err grants_check(
    const struct grants_state *state, unsigned ledger_ms, uint32_t seen, struct detail *detail)
{
    const bool set_back = state->known && (!state->same_database || state->ledger < seen);
    atomic_store(&forgotten_since, state->held_since == 0 && set_back ? state->ledger : state->held_since);
    if (!state->known)
        return detail_set(detail, ERR_GRANTS_SUSPENDED, "no ledger has been ingested yet");
    if (state->stopped)
        return detail_set(detail, ERR_GRANTS_SUSPENDED, "%s", state->reason);
    if (!state->same_database)
        return detail_set(detail, ERR_GRANTS_SUSPENDED,
            "the database was restored or failed over, and ingestion has not noticed it yet");
    if (state->held_until_s != 0)
        return detail_set(detail, ERR_GRANTS_SUSPENDED,
            "grants are on hold until a ledger closes after %" PRId64 " (Unix seconds): %.80s",
            state->held_until_s, state->reason);
    if (state->paused)
        return detail_set(detail, ERR_GRANTS_SUSPENDED, "an operator has paused leases: %s", state->reason);
    enum err e = check_clock(state, ledger_ms, detail);
    if (e == ERR_OK && state->ledger < seen)
        e = detail_set(detail, ERR_GRANTS_SUSPENDED,
            "the database was set back: it is at ledger %" PRIu32 ", and was at ledger %" PRIu32,
            state->ledger, seen);
    return e;
}

/* ---- for a grant transaction */

const char grants_enter_sql[] = "SELECT pg_try_advisory_xact_lock_shared(hashtext('" LOCK_TEXT_GRANTS "'))";

enum err grants_read(const struct db_rows *entered, const struct db_rows *rows, unsigned ledger_ms,
    uint32_t seen, struct grants_time *out, struct detail *detail)
{
    if (!db_bool(entered, 0, 0))
        return detail_set(detail, ERR_GRANTS_SUSPENDED, "grants are being stopped");
    const struct grants_state state = grants_state_read(rows, 0);
    enum err e = grants_check(&state, ledger_ms, seen, detail);
    if (e != ERR_OK)
        return e;
    out->ledger = state.ledger;
    out->now_s = (uint64_t)(state.clock_s > state.close_time_s ? state.clock_s : state.close_time_s);
    return ERR_OK;
}

static const char sql_enter_terms[] = "SELECT " GRANTS_COLUMNS GRANTS_FROM;

enum err grants_enter(struct db *db, unsigned ledger_ms, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL0(grants_enter_sql), DB_SQL0(sql_enter_terms)};
    AUTO_ROWS_OF(rows, statements);
    struct grants_time time;
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    return e == ERR_OK ? grants_read(rows[0], rows[1], ledger_ms, 0, &time, detail) : e;
}

/* ---- for ingestion */

static const char sql_stop[] = "SELECT fairway.stop_grants($1, '" GRANTS_GAP_REASON "')";

enum err grants_stop_for_gap(struct db *db, int64_t term, struct detail *detail)
{
    return db_query(db, DB_SQL(sql_stop, DB_I64(term)), NULL, detail);
}

static const char sql_wait_out[] = "SELECT pg_advisory_xact_lock(hashtext('" LOCK_TEXT_GRANTS "'))";

enum err grants_wait_out(struct db *db, struct detail *detail)
{
    enum err e = db_begin(db, detail);
    if (e == ERR_OK)
        e = db_query(db, DB_SQL0(sql_wait_out), NULL, detail);
    if (e == ERR_OK)
        return db_commit(db, detail);
    db_rollback(db);
    return e;
}

/*
 * A forgotten lease was granted before now. Its max time is at most LEASE_SECONDS_MAX after the time that the
 * lost database took for now, and that time was at most the slack ahead of a ledger that had closed. Our
 * clock may be slow by the slack too, so the slack counts twice. If our clock is slower than that,
 * grants_hold_after notices it when the next ledger comes in.
 */
static int64_t hold_seconds(unsigned ledger_ms)
{
    return LEASE_SECONDS_MAX + 2 * grants_clock_slack_s(ledger_ms);
}

int64_t grants_hold_after(int64_t until_s, int64_t close_time_s, int64_t clock_s, unsigned ledger_ms)
{
    const int64_t slack_s = grants_clock_slack_s(ledger_ms), ahead_s = close_time_s - clock_s;
    const int64_t anew_s = close_time_s + hold_seconds(ledger_ms);
    if (ahead_s > slack_s)
        return anew_s > until_s ? anew_s : until_s;
    if (ahead_s >= -slack_s && anew_s < until_s)
        return anew_s;
    return close_time_s > until_s ? 0 : until_s;
}

static const char sql_adopt[] =
    "SELECT a.held_until, a.system_identifier, a.timeline FROM fairway.adopt_database($1, $2) a";

enum err grants_adopt_database(struct db *db, bool synchronous, unsigned ledger_ms, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_adopt, DB_I64(hold_seconds(ledger_ms)), DB_BOOL(synchronous)), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    log_warn(db_i64(rows, 0, 0) == 0
                 ? "the database failed over; no commit can have been lost"
                 : "the database was restored or failed over and may have forgotten leases; grants are on "
                   "hold",
        "system_identifier=%" PRId64 " timeline=%" PRId32 " held_until=%" PRId64, db_i64(rows, 0, 1),
        db_i32(rows, 0, 2), db_i64(rows, 0, 0));
    return ERR_OK;
}

static const char sql_hold[] = "SELECT fairway.hold_grants($1, $2)";

enum err grants_hold(
    struct db *db, const char *reason, unsigned ledger_ms, int64_t *until_s, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_hold, DB_I64(hold_seconds(ledger_ms)), DB_TEXT(reason)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_is_null(rows, 0, 0))
        return detail_set(detail, ERR_CONFIG,
            "no ledger has been ingested into this database, so it cannot have forgotten a lease");
    *until_s = db_i64(rows, 0, 0);
    return ERR_OK;
}

/* ---- for an operator */

/* What is set has stopped new grants. */
static enum err wait_for_grants(struct db *db, const char *what, struct detail *detail)
{
    struct detail why = {0};
    enum err e = grants_wait_out(db, &why);
    return e == ERR_OK ? e
                       : detail_set(detail, e,
                             "grants are %s, but the wait for grants in flight failed; repeat the"
                             " command: %.150s",
                             what, why.text);
}

enum err grants_hold_begin(
    struct db *db, const char *reason, unsigned ledger_ms, int64_t *until_s, struct detail *detail)
{
    enum err e = grants_hold(db, reason, ledger_ms, until_s, detail);
    return e != ERR_OK ? e : wait_for_grants(db, "on hold", detail);
}

static const char sql_pause[] = "SELECT p.was_paused FROM fairway.pause_grants($1) p";

enum err grants_pause(struct db *db, const char *reason, bool *was, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_pause, DB_TEXT(reason)), &rows, detail);
    if (e == ERR_OK && db_count(rows) == 0)
        e = detail_set(detail, ERR_CONFIG, "no ledger has been ingested into this database yet");
    if (e != ERR_OK)
        return e;
    *was = db_bool(rows, 0, 0);
    return reason == NULL ? ERR_OK : wait_for_grants(db, "paused", detail);
}
