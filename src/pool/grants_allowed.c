#include "pool/grants_allowed.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/lock_numbers.h"
#include "stellar/policy.h"

const char grants_enter_sql[] = "SELECT pg_try_advisory_xact_lock_shared(hashtext('" LOCK_TEXT_GRANTS "'))";

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

/* How far clock and close time may be apart where leases are granted. */
static int64_t slack_s(unsigned ledger_seconds)
{
    return GRANTS_CLOCK_SLACK_S + (int64_t)ledger_seconds;
}

/*
 * A forgotten lease was granted before now. Its max time is at most LEASE_SECONDS_MAX after what the lost
 * database took for now, which was at most the slack ahead of a ledger that had closed. By our clock, which
 * may be the slack behind the ledgers, that is the slack twice. Where our clock is further behind, ledgers
 * that come in say so (grants_hold_after).
 */
static int64_t hold_seconds(unsigned ledger_seconds)
{
    return LEASE_SECONDS_MAX + 2 * slack_s(ledger_seconds);
}

int64_t grants_hold_after(int64_t until_s, int64_t close_time_s, int64_t clock_s, unsigned ledger_seconds)
{
    const int64_t slack = slack_s(ledger_seconds), ahead_s = close_time_s - clock_s;
    const int64_t anew_s = close_time_s + hold_seconds(ledger_seconds);
    if (ahead_s > slack)
        return anew_s > until_s ? anew_s : until_s;
    if (ahead_s >= -slack && anew_s < until_s)
        return anew_s;
    return close_time_s > until_s ? 0 : until_s;
}

#define UNTIL " greatest(floor(extract(epoch FROM clock_timestamp()))::int8, c.close_time) + $1"

static const char sql_begin[] =
    "UPDATE fairway.cursor c SET"
    " hold_reason = CASE WHEN c.held_until >=" UNTIL " THEN c.hold_reason ELSE $2 END,"
    " held_until = greatest(c.held_until," UNTIL ") RETURNING c.held_until";

enum err grants_hold_begin(
    struct db *db, const char *reason, unsigned ledger_seconds, int64_t *until_s, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_begin, DB_I64(hold_seconds(ledger_seconds)), DB_TEXT(reason)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return detail_set(
            detail, ERR_CONFIG, "no ledger was ever ingested into this database: there is nothing to hold");
    *until_s = db_i64(rows, 0, 0);
    struct detail why = {0};
    e = grants_wait_out(db, &why);
    return e == ERR_OK
               ? e
               : detail_set(detail, e,
                     "the hold is set, but grants in flight were not waited for, repeat: %.150s", why.text);
}

/* A promotion keeps identifier and home, and a synchronous one loses nothing. A copy elsewhere is not one. */
#define LOST_NOTHING " $2 AND (c.system_identifier, c.home) = (i.system_identifier, i.home)"

static const char sql_notice[] =
    "UPDATE fairway.cursor c SET system_identifier = i.system_identifier, timeline = i.timeline, home = "
    "i.home,"
    " hold_reason = CASE WHEN" LOST_NOTHING " OR c.held_until >=" UNTIL " THEN c.hold_reason"
    "   ELSE 'the database was restored or failed over' END,"
    " held_until = CASE WHEN" LOST_NOTHING " THEN c.held_until ELSE greatest(c.held_until," UNTIL ") END"
    " FROM fairway.identity() i"
    " WHERE (c.system_identifier, c.timeline, c.home) <> (i.system_identifier, i.timeline, i.home)"
    " RETURNING coalesce(c.held_until, 0), i.system_identifier, i.timeline";

enum err grants_hold_notice(
    struct db *db, bool synchronous, unsigned ledger_seconds, bool *noticed, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *noticed = false;
    enum err e = db_query(
        db, DB_SQL(sql_notice, DB_I64(hold_seconds(ledger_seconds)), DB_BOOL(synchronous)), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    *noticed = true;
    log_warn(db_i64(rows, 0, 0) == 0
                 ? "the database failed over; no commit can have been lost"
                 : "the database was restored or failed over: leases may be forgotten, none is "
                   "granted for a while",
        "system_identifier=%" PRId64 " timeline=%" PRId32 " held_until=%" PRId64, db_i64(rows, 0, 1),
        db_i32(rows, 0, 2), db_i64(rows, 0, 0));
    return ERR_OK;
}
