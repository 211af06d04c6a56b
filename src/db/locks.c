/* What `fairway locks` shows. It reads views, and never takes a lock or ends a session. */
#include "db/locks.h"

#include "base/deadlines.h"
#include "base/mem.h"

#define LINES_MAX 100

/* Each session in words. What a session of another role does is NULL, unless this role has pg_read_all_stats.
 */
#define SESSIONS                                                                                             \
    "(SELECT a.pid, a.xact_start, format(E'%s \"%s\" (%s, %s): %s%s%s\\n      %s', a.pid,"                   \
    "   coalesce(nullif(a.application_name, ''), a.backend_type), a.usename,"                                \
    "   coalesce(host(a.client_addr) || ':' || a.client_port, 'local'), coalesce(a.state, 'hidden'),"        \
    "   ', waits for ' || a.wait_event_type || ':' || a.wait_event,"                                         \
    "   ', in a transaction for ' || extract(epoch FROM now() - a.xact_start)::numeric(12, 1) || ' s',"      \
    "   left(regexp_replace(a.query, '\\s+', ' ', 'g'), 90)) AS words FROM pg_stat_activity a)"

/*
 * pg_locks shows a wait for a row as a wait for the transaction that has changed the row. The tuple lock that
 * the waiter holds gives the row's table. waitstart exists from PostgreSQL 14 on.
 */
static const char sql_waits[] =
    "SELECT format(E'for %s s: %s (%s)\n    waiter:  %s\n    blocker: %s',"
    "   extract(epoch FROM now() - q.since)::numeric(12, 1), CASE WHEN q.row_of IS NOT NULL"
    "     THEN 'row of ' || q.row_of::regclass"
    "     ELSE q.locktype || coalesce(' ' || q.relation::regclass, '') END,"
    "   q.mode, w.words, coalesce(b.words, 'a prepared transaction')),"
    " q.since < now() - $2 * interval '1 ms'"
    " FROM (SELECT l.*, coalesce((to_jsonb(l) ->> 'waitstart')::timestamptz, a.query_start, now()) AS since,"
    "     CASE l.locktype WHEN 'tuple' THEN l.relation WHEN 'transactionid' THEN (SELECT u.relation"
    "       FROM pg_locks u WHERE u.pid = l.pid AND u.locktype = 'tuple' AND u.granted LIMIT 1) END AS row_of"
    "   FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT l.granted"
    "     AND (a.datname = current_database() OR l.database ="
    "       (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))) q"
    " JOIN " SESSIONS " w ON w.pid = q.pid"
    " CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(q.pid)) AS pid) p"
    " LEFT JOIN " SESSIONS " b ON b.pid = p.pid"
    " ORDER BY q.since, q.pid, p.pid LIMIT $1";

/* Who has locked rows has a lock of the table too; who reads or vacuums it hinders nobody. fairway's own
 * transactions end sooner than $5, ms; when a session of another role began its transaction is hidden. */
static const char sql_holders[] =
    "SELECT format('%s (%s): %s', h.name, h.mode, coalesce(s.words, 'a prepared transaction')),"
    " coalesce(s.xact_start < now() - $5 * interval '1 ms', false)"
    " FROM (SELECT n.name, l.mode, l.pid"
    "   FROM (SELECT m.name, CASE m.text WHEN '' THEN m.number ELSE hashtext(m.text) END AS number"
    "     FROM unnest($1::int8[], $2::text[], $3::text[]) AS m (number, text, name)) n"
    "   JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
    "     AND l.classid::int8 = (n.number >> 32) & 4294967295 AND l.objid::int8 = n.number & 4294967295"
    "     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
    "   UNION ALL SELECT 'table ' || c.oid::regclass, l.mode, l.pid FROM pg_locks l"
    "   JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')"
    "     AND c.relnamespace = to_regnamespace('fairway')"
    "   LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
    "   WHERE l.locktype = 'relation' AND l.granted"
    "     AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')"
    "     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
    "     AND NOT EXISTS (SELECT FROM pg_locks w WHERE w.pid = l.pid AND NOT w.granted)"
    "     AND coalesce(a.xact_start < now() - $5 * interval '1 ms',"
    "       a.application_name NOT LIKE 'fairway %', true)) h"
    " LEFT JOIN " SESSIONS " s ON s.pid = h.pid ORDER BY h.name, h.pid LIMIT $4";

static const char sql_pins[] =
    "SELECT concat(q.what, ' ' || nullif(q.name, ''),"
    "   ' for ' || extract(epoch FROM now() - q.begun)::numeric(12, 1) || ' s', ', ', q.age,"
    "   ' transactions begun since', ': ' || s.words), false"
    " FROM " LOCKS_PINS_SQL " q LEFT JOIN " SESSIONS " s ON s.pid = q.pid"
    " WHERE coalesce(q.begun < now() - $2 * interval '1 ms', true) ORDER BY q.age DESC, q.begun LIMIT $1";

static const char sql_hidden[] =
    "SELECT format('the statements of %s sessions of other roles (GRANT pg_read_all_stats to see them)',"
    "   count(*)), false"
    " FROM pg_stat_activity a WHERE a.query = '<insufficient privilege>' HAVING count(*) > 0";

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
        DB_SQL(sql_waits, DB_I64(LINES_MAX), DB_I64(DB_LOCK_MS)),
        DB_SQL(sql_holders, DB_I64S(numbers, name_count), DB_TEXTS(texts, name_count),
            DB_TEXTS(labels, name_count), DB_I64(LINES_MAX), DB_I64(DB_LOCK_MS)),
        DB_SQL(sql_pins, DB_I64(LINES_MAX), DB_I64(DB_LOCK_MS)),
        DB_SQL0(sql_hidden),
    };
    struct db_rows *rows[ARRAY_LEN(statements)];
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    *out = (struct locks_report){rows[0], rows[1], rows[2], rows[3]};
    return e;
}
