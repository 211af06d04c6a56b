/* Reads what has happened lately. No decision uses it. */
#include "pool/recent.h"

#include <stdio.h>

#include "base/mem.h"

static const char sql_ledgers[] =
    "SELECT l.sequence, l.close_time, (SELECT coalesce(sum(e), 0)::int8 FROM unnest(l.ends) e)"
    " FROM fairway.ledgers l ORDER BY l.sequence DESC LIMIT $1";

/* At most as many ledgers as an hour has at one a second. */
static const char sql_ends[] =
    "SELECT coalesce(sum(l.ends[1]), 0)::int8, coalesce(sum(l.ends[2]), 0)::int8, coalesce(sum(l.ends[3]), "
    "0)::int8,"
    " coalesce(sum(l.ends[4]), 0)::int8, coalesce(sum(l.ends[5]), 0)::int8,"
    " coalesce(max(l.close_time) - min(l.close_time), 0)"
    " FROM (SELECT n.ends, n.close_time FROM fairway.ledgers n ORDER BY n.sequence DESC LIMIT 3600) l"
    " WHERE l.close_time > (SELECT c.close_time - 3600 FROM fairway.cursor c)";

static const char sql_waiting[] = "SELECT coalesce(sum(w.waiting), 0)::int8 FROM fairway.waiting_now w";

/* Not those without a name: AUTH=none, and ensure-accounts. */
static const char sql_holder[] =
    "SELECT p.lease_client, count(*) FROM fairway.pool_accounts p WHERE p.lease_client <> '' GROUP BY 1"
    " ORDER BY 2 DESC, 1 LIMIT 1";

static const char sql_events[] =
    "SELECT floor(extract(epoch FROM e.happened_at))::int8, e.who, e.what, e.why FROM fairway.events e"
    " ORDER BY e.id DESC LIMIT $1";

static void read_ledgers(const struct db_rows *rows, struct recent *out)
{
    for (out->ledger_count = 0; out->ledger_count < db_count_at_most(rows, RECENT_LEDGERS);
         out->ledger_count++) {
        const size_t row = out->ledger_count;
        out->ledgers[row] = (struct recent_ledger){
            (uint32_t)db_i64(rows, row, 0), db_i64(rows, row, 1), db_i64(rows, row, 2)};
    }
}

static void read_events(const struct db_rows *rows, struct recent *out)
{
    for (out->event_count = 0; out->event_count < db_count_at_most(rows, RECENT_EVENTS); out->event_count++) {
        const size_t row = out->event_count;
        struct recent_event *event = &out->events[row];
        event->happened_s = db_i64(rows, row, 0);
        snprintf(event->who, sizeof event->who, "%s", db_text(rows, row, 1));
        snprintf(event->what, sizeof event->what, "%s", db_text(rows, row, 2));
        snprintf(event->why, sizeof event->why, "%s", db_text(rows, row, 3));
    }
}

enum err recent_read(struct db *db, struct recent *out, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL(sql_ledgers, DB_I64(RECENT_LEDGERS)), DB_SQL0(sql_ends),
        DB_SQL0(sql_waiting), DB_SQL0(sql_holder), DB_SQL(sql_events, DB_I64(RECENT_EVENTS))};
    AUTO_ROWS_OF(rows, statements);
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    *out = (struct recent){0};
    if (e != ERR_OK)
        return e;
    read_ledgers(rows[0], out);
    for (int i = 0; i < RECENT_ENDS; i++)
        out->ends[i] = db_i64(rows[1], 0, i);
    out->ends_over_s = db_i64(rows[1], 0, RECENT_ENDS);
    out->waiting = db_i64(rows[2], 0, 0);
    if (db_count(rows[3]) > 0) {
        snprintf(out->holder, sizeof out->holder, "%s", db_text(rows[3], 0, 0));
        out->holds = db_i64(rows[3], 0, 1);
    }
    read_events(rows[4], out);
    return ERR_OK;
}
