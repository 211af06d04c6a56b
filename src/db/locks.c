/* What `fairway locks` shows. It reads views, and never takes a lock or ends a session. */
#include "db/locks.h"

#include "base/deadlines.h"
#include "base/mem.h"

/* The columns of a session, in the order of LOCKS_PID and what follows. In the views they are NULL for
 * sessions of other roles, unless this role has pg_read_all_stats. */
#define SESSION(s)                                                                                           \
    " coalesce(" s ".pid, 0), coalesce(nullif(" s ".application_name, ''), " s ".backend_type, ''),"         \
    " coalesce(" s ".usename::text, ''),"                                                                    \
    " coalesce(host(" s ".client_addr) || ':' || " s ".client_port, 'local'),"                               \
    " coalesce(" s ".state, 'hidden'), coalesce(" s ".wait_event_type || ':' || " s ".wait_event, ''),"      \
    " left(regexp_replace(coalesce(" s ".query, ''), '\\s+', ' ', 'g'), 90),"                                \
    " coalesce(floor(1000 * extract(epoch FROM clock_timestamp() - " s ".xact_start)), -1)::int8"

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

/* Who has locked rows has a lock of the table too; who reads or vacuums it hinders nobody. fairway's own
 * transactions end sooner than $5, ms; when a session of another role began its transaction is hidden. */
static const char sql_holders[] = "SELECT h.name, h.mode," SESSION(
    "s") " FROM (SELECT n.name, l.mode, l.pid"
         "   FROM (SELECT m.name, CASE m.text WHEN '' THEN m.number ELSE hashtext(m.text) END AS number"
         "     FROM unnest($1::int8[], $2::text[], $3::text[]) AS m (number, text, name)) n"
         "   JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
         "     AND l.classid::int8 = (n.number >> 32) & 4294967295 AND l.objid::int8 = n.number & 4294967295"
         "     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
         "   UNION ALL SELECT 'table ' || c.oid::regclass, l.mode, l.pid FROM pg_locks l"
         "   JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')"
         "     AND c.relnamespace = to_regnamespace('fairway')"
         "   LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
         "   WHERE l.locktype = 'relation' AND l.granted AND l.mode NOT IN ('AccessShareLock', "
         "'ShareUpdateExclusiveLock')"
         "     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
         "     AND NOT EXISTS (SELECT FROM pg_locks w WHERE w.pid = l.pid AND NOT w.granted)"
         "     AND coalesce(a.xact_start < clock_timestamp() - $5 * interval '1 ms',"
         "       a.application_name NOT LIKE 'fairway %', true)) h"
         " LEFT JOIN pg_stat_activity s ON s.pid = h.pid ORDER BY h.name, h.pid LIMIT $4";

static const char sql_pins[] =
    "SELECT q.what, q.name,"
    " coalesce(floor(1000 * extract(epoch FROM clock_timestamp() - q.begun)),"
    "   -1)::int8 AS age_ms, q.age," SESSION("s") " FROM " LOCKS_PINS_SQL " q"
                                                  " LEFT JOIN pg_stat_activity s ON s.pid = q.pid"
                                                  " ORDER BY q.age DESC, age_ms DESC LIMIT $1";

static const char sql_hidden[] =
    "SELECT count(*) FROM pg_stat_activity a WHERE a.query = '<insufficient privilege>'";

void locks_report_free(struct locks_report *report)
{
    db_rows_free(report->waits);
    db_rows_free(report->holders);
    db_rows_free(report->pins);
    db_rows_free(report->hidden);
    *report = (struct locks_report){0};
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
            DB_TEXTS(labels, name_count), DB_I64(LOCKS_MAX), DB_I64(DB_LOCK_MS)),
        DB_SQL(sql_pins, DB_I64(LOCKS_MAX)),
        DB_SQL0(sql_hidden),
    };
    struct db_rows *rows[ARRAY_LEN(statements)];
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    *out = (struct locks_report){rows[0], rows[1], rows[2], rows[3]};
    return e;
}
