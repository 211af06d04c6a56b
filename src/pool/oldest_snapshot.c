/* What keeps vacuum from removing dead rows. It only looks. */
#include "pool/oldest_snapshot.h"

#include <stdio.h>

#include "db/locks.h"

/* Of several that keep the same rows, the writer is the cause: the snapshots of others are as old because it
 * has not ended. The look-up reads the ledgers since the snapshot through their primary key. */
static const char sql_oldest[] =
    "SELECT floor(extract(epoch FROM clock_timestamp() - l.committed_at))::int8, p.what,"
    " coalesce(s.application_name, p.name), coalesce(s.usename::text, ''), coalesce(p.pid, 0)"
    " FROM (SELECT * FROM " LOCKS_PINS_SQL " q ORDER BY q.age DESC, q.is_writer DESC, q.begun LIMIT 1) p"
    " CROSS JOIN LATERAL (SELECT m.committed_at FROM fairway.ledgers m WHERE m.sequence >"
    "   coalesce((SELECT n.sequence FROM fairway.ledgers n WHERE age(n.xmin) > p.age"
    "     ORDER BY n.sequence DESC LIMIT 1), 0) ORDER BY m.sequence LIMIT 1) l"
    " LEFT JOIN pg_stat_activity s ON s.pid = p.pid";

enum err oldest_snapshot_read(struct db *db, struct oldest_snapshot *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct oldest_snapshot){0};
    enum err e = db_query(db, DB_SQL0(sql_oldest), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0 || db_i64(rows, 0, 0) <= 0)
        return e;
    out->age_s = db_i64(rows, 0, 0);
    snprintf(out->what, sizeof out->what, "%s", db_text(rows, 0, 1));
    snprintf(out->name, sizeof out->name, "%s", db_text(rows, 0, 2));
    snprintf(out->user, sizeof out->user, "%s", db_text(rows, 0, 3));
    out->pid = db_i32(rows, 0, 4);
    return ERR_OK;
}
