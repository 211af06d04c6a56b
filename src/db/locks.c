/* What `fairway locks` shows. It reads views, and never takes a lock or ends a session. */
#include "db/locks.h"

#include <stdio.h>

#include "base/mem.h"

/* The columns of a session, in the order of read_session. In the views they are NULL for sessions of
 * other roles, unless this role has pg_read_all_stats. */
#define SESSION(s)                                                                                           \
    " coalesce(" s ".pid, 0), coalesce(nullif(" s ".application_name, ''), " s ".backend_type, ''),"         \
    " coalesce(" s ".usename::text, ''),"                                                                    \
    " coalesce(host(" s ".client_addr) || ':' || " s ".client_port, 'local'),"                               \
    " coalesce(" s ".state, 'hidden'), coalesce(" s ".wait_event_type || ':' || " s ".wait_event, ''),"      \
    " left(regexp_replace(coalesce(" s ".query, ''), '\\s+', ' ', 'g'), 90),"                                \
    " coalesce(floor(1000 * extract(epoch FROM clock_timestamp() - " s ".xact_start)), -1)::int8"
#define SESSION_COLUMNS 8

/*
 * pg_locks shows a wait for a row as a wait for the transaction that has changed the row. The tuple lock that
 * the waiter holds gives the row's table. waitstart exists from PostgreSQL 14 on.
 */
static const char sql_waits[] = "SELECT" SESSION("w") "," SESSION(
    "b") ","
         " floor(1000 * extract(epoch FROM clock_timestamp()"
         "   - coalesce((to_jsonb(l) ->> 'waitstart')::timestamptz, w.query_start,"
         "   clock_timestamp())))::int8,"
         " CASE WHEN l.locktype = 'transactionid' AND t.relation IS NOT NULL"
         "   THEN 'row of ' || t.relation::regclass"
         "   WHEN l.locktype = 'tuple' THEN 'row of ' || l.relation::regclass"
         "   WHEN l.relation IS NOT NULL THEN l.locktype || ' ' || l.relation::regclass"
         "   ELSE l.locktype END || ' (' || l.mode || ')'"
         " FROM pg_locks l JOIN pg_stat_activity w ON w.pid = l.pid"
         " CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(l.pid)) AS pid) p"
         " LEFT JOIN pg_stat_activity b ON b.pid = p.pid"
         " LEFT JOIN LATERAL (SELECT u.relation FROM pg_locks u"
         "   WHERE u.pid = l.pid AND u.locktype = 'tuple' AND u.granted LIMIT 1) t ON true"
         " WHERE NOT l.granted AND (w.datname = current_database() OR l.database ="
         "   (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))"
         " ORDER BY 17 DESC, w.pid, p.pid LIMIT $1";

static const char sql_holders[] = "SELECT n.name, l.mode," SESSION(
    "s") " FROM (SELECT m.name, CASE m.text WHEN '' THEN m.number ELSE hashtext(m.text) END AS number"
         "   FROM unnest($1::int8[], $2::text[], $3::text[]) AS m (number, text, name)) n"
         " JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
         "   AND l.classid::int8 = (n.number >> 32) & 4294967295 AND l.objid::int8 = n.number & 4294967295"
         "   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
         " LEFT JOIN pg_stat_activity s ON s.pid = l.pid ORDER BY n.name, l.pid LIMIT $4";

static const char sql_pins[] =
    "SELECT q.what, q.name,"
    " coalesce(floor(1000 * extract(epoch FROM clock_timestamp() - q.begun)),"
    "   -1)::int8 AS age_ms, q.age," SESSION("s") " FROM " LOCKS_PINS_SQL " q"
                                                  " LEFT JOIN pg_stat_activity s ON s.pid = q.pid"
                                                  " ORDER BY q.age DESC, age_ms DESC LIMIT $1";

static const char sql_hidden[] =
    "SELECT count(*) FROM pg_stat_activity a WHERE a.query = '<insufficient privilege>'";

static void copy(char *out, size_t size, const struct db_rows *rows, size_t row, int column)
{
    const char *text = db_text(rows, row, column);
    snprintf(out, size, "%s", text != NULL ? text : "");
}
#define COPY(field, rows, row, column) copy((field), sizeof(field), (rows), (row), (column))

static void read_session(const struct db_rows *rows, size_t row, int column, struct lock_session *out)
{
    out->pid = db_i32(rows, row, column);
    COPY(out->name, rows, row, column + 1);
    COPY(out->user, rows, row, column + 2);
    COPY(out->client, rows, row, column + 3);
    COPY(out->state, rows, row, column + 4);
    COPY(out->wait, rows, row, column + 5);
    COPY(out->query, rows, row, column + 6);
    out->transaction_ms = db_i64(rows, row, column + 7);
}

static void read_report(struct db_rows *const rows[], struct locks_report *out)
{
    const struct db_rows *waits = rows[0], *holders = rows[1], *pins = rows[2];
    for (size_t i = 0; i < db_count_at_most(waits, LOCKS_MAX); i++) {
        struct lock_wait *wait = &out->waits[out->wait_count++];
        read_session(waits, i, 0, &wait->waiter);
        read_session(waits, i, SESSION_COLUMNS, &wait->blocker);
        wait->waited_ms = db_i64(waits, i, 2 * SESSION_COLUMNS);
        COPY(wait->lock, waits, i, 2 * SESSION_COLUMNS + 1);
    }
    for (size_t i = 0; i < db_count_at_most(holders, LOCKS_MAX); i++) {
        struct lock_holder *holder = &out->holders[out->holder_count++];
        COPY(holder->lock, holders, i, 0);
        COPY(holder->mode, holders, i, 1);
        read_session(holders, i, 2, &holder->session);
    }
    for (size_t i = 0; i < db_count_at_most(pins, LOCKS_MAX); i++) {
        struct lock_pin *pin = &out->pins[out->pin_count++];
        COPY(pin->what, pins, i, 0);
        COPY(pin->name, pins, i, 1);
        pin->age_ms = db_i64(pins, i, 2);
        pin->age_transactions = db_i64(pins, i, 3);
        read_session(pins, i, 4, &pin->session);
    }
    out->hidden = db_i64(rows[3], 0, 0);
}

enum err locks_read(struct db *db, const struct lock_name names[], size_t name_count,
    struct locks_report *out, struct detail *detail)
{
    int64_t *numbers AUTO_FREE = NEW_ARRAY(name_count, int64_t);
    const char **texts AUTO_FREE = NEW_ARRAY(name_count, const char *);
    const char **labels AUTO_FREE = NEW_ARRAY(name_count, const char *);
    for (size_t i = 0; i < name_count; i++) {
        numbers[i] = names[i].number;
        texts[i] = names[i].text != NULL ? names[i].text : "";
        labels[i] = names[i].name;
    }
    const struct db_statement statements[] = {
        DB_SQL(sql_waits, DB_I64(LOCKS_MAX)),
        DB_SQL(sql_holders, DB_I64S(numbers, name_count), DB_TEXTS(texts, name_count),
            DB_TEXTS(labels, name_count), DB_I64(LOCKS_MAX)),
        DB_SQL(sql_pins, DB_I64(LOCKS_MAX)),
        DB_SQL0(sql_hidden),
    };
    AUTO_ROWS_OF(rows, statements);
    *out = (struct locks_report){0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        read_report(rows, out);
    return e;
}
