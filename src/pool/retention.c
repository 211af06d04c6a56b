/* The steps of housekeeping. Nothing that is needed is dropped, whatever a step is asked: the functions check
 * it. */
#include "pool/retention.h"

#include "pool/lock_numbers.h"

/* Empty while another replica runs a step. */
#define ALONE                                                                                                \
    "WITH alone AS MATERIALIZED (SELECT FROM (VALUES (1)) one"                                               \
    " WHERE pg_try_advisory_xact_lock(hashtext('" LOCK_TEXT_HOUSEKEEPING "')))"

/* Extends them by one day: all days after a long pause could take longer than statement_timeout. */
static const char sql_partitions[] =
    ALONE " SELECT fairway.add_partitions(current_date, least(current_date + $1::int4, greatest(current_date,"
          "   (SELECT max(p.day) + 1 FROM fairway.partitions p WHERE p.parent = 'leases')))) FROM alone";

static const char sql_history[] =
    ALONE " SELECT fairway.drop_history(make_interval(secs => $1::int8)) FROM alone";

static const char sql_ledgers[] =
    ALONE " SELECT fairway.drop_ledgers(make_interval(secs => $1::int8), $2) FROM alone";

static const char sql_forget[] = ALONE " SELECT fairway.forget($1) FROM alone";

enum err retention_step(struct db *db, enum retention what, int64_t keep_seconds, int64_t limit,
    size_t *changed, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const struct db_statement statement =
        what == RETENTION_PARTITIONS ? DB_SQL(sql_partitions, DB_I32(RETENTION_DAYS_AHEAD))
        : what == RETENTION_HISTORY  ? DB_SQL(sql_history, DB_I64(keep_seconds))
        : what == RETENTION_FORGET   ? DB_SQL(sql_forget, DB_I64(limit))
                                     : DB_SQL(sql_ledgers, DB_I64(keep_seconds), DB_I64(limit));
    enum err e = db_query(db, statement, &rows, detail);
    *changed = 0;
    if (e == ERR_OK && db_count(rows) > 0)
        *changed = (size_t)db_i64(rows, 0, 0);
    return e;
}
