#include "ingest/hold.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/lease.h"

/*
 * The longest max time is LEASE_SECONDS_MAX after the moment of a grant, as the lost database's clock had it;
 * that clock was no further ahead of the ledgers than grants allow.
 */
static int64_t hold_seconds(unsigned ledger_seconds)
{
    return LEASE_SECONDS_MAX + GRANT_CLOCK_SLACK_S + (int64_t)ledger_seconds;
}

#define UNTIL " greatest(floor(extract(epoch FROM clock_timestamp()))::int8, c.close_time) + $1"

static const char sql_begin[] =
    "UPDATE fairway.cursor c SET"
    " hold_reason = CASE WHEN c.held_until >=" UNTIL " THEN c.hold_reason ELSE $2 END,"
    " held_until = greatest(c.held_until," UNTIL ") RETURNING c.held_until";

enum err hold_begin(
    struct db *db, const char *reason, unsigned ledger_seconds, int64_t *until_s, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(db, DB_SQL(sql_begin, DB_I64(hold_seconds(ledger_seconds)), DB_TEXT(reason)), &rows, detail);
    if (e == ERR_OK && db_count(rows) == 0)
        return detail_set(
            detail, ERR_CONFIG, "no ledger was ever ingested into this database: there is nothing to hold");
    if (e == ERR_OK)
        *until_s = db_i64(rows, 0, 0);
    return e;
}

static const char sql_notice[] =
    "UPDATE fairway.cursor c SET system_identifier = i.system_identifier, timeline = i.timeline,"
    " hold_reason = CASE WHEN $2 OR c.held_until >=" UNTIL " THEN c.hold_reason"
    "   ELSE 'the database was restored or failed over' END,"
    " held_until = CASE WHEN $2 THEN c.held_until ELSE greatest(c.held_until," UNTIL ") END"
    " FROM fairway.identity() i WHERE (c.system_identifier, c.timeline) <> (i.system_identifier, i.timeline)"
    " RETURNING coalesce(c.held_until, 0), i.system_identifier, i.timeline";

enum err hold_notice(
    struct db *db, bool synchronous, unsigned ledger_seconds, bool *noticed, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *noticed = false;
    enum err e = db_query(
        db, DB_SQL(sql_notice, DB_I64(hold_seconds(ledger_seconds)), DB_BOOL(synchronous)), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    *noticed = true;
    log_warn(synchronous ? "the database failed over; no commit can have been lost"
                         : "the database was restored or failed over: leases may be forgotten, none is "
                           "granted for a while",
        "system_identifier=%" PRId64 " timeline=%" PRId32 " held_until=%" PRId64, db_i64(rows, 0, 1),
        db_i32(rows, 0, 2), db_i64(rows, 0, 0));
    return ERR_OK;
}
