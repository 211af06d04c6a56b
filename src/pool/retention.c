#include "pool/retention.h"

#include "base/mem.h"

static const char sql_row[] =
    "INSERT INTO fairway.housekeeping (only_row) SELECT true"
    " WHERE NOT EXISTS (SELECT FROM fairway.housekeeping) ON CONFLICT (only_row) DO NOTHING";

/* Where the last step stopped. The lock is what makes one replica's step exclude another's. The planner does
 * not know these values, so it takes a fixed share of the table for what matches, whatever the statistics
 * say: it reads the index in its order and stops at the LIMIT. */
#define MARK                                                                                                 \
    "WITH mark AS MATERIALIZED ("                                                                            \
    " SELECT h.leases_to, h.keys_to FROM fairway.housekeeping h FOR UPDATE SKIP LOCKED)"

/* statement_timestamp() is the same for the whole statement, so it can be a bound of an index scan;
 * clock_timestamp() would be compared with each row. */
#define CUTOFF " statement_timestamp() - make_interval(secs => $1::int8)"

static enum err step(
    struct db *db, const char *sql, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail)
{
    const struct db_statement statements[] = {
        DB_SQL0(sql_row), DB_SQL(sql, DB_I64(keep_seconds), DB_I64(limit))};
    struct db_rows *answers[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), answers, detail);
    *rows = e == ERR_OK ? db_affected(answers[1]) : 0;
    for (size_t i = 0; i < ARRAY_LEN(statements); i++)
        db_rows_free(answers[i]);
    return e;
}

/* By ctid: by hash, each row is worth a read of a random page of the primary key. */
static const char sql_delete_leases[] =
    MARK ", old AS MATERIALIZED (SELECT l.ctid AS place, l.settled_at FROM fairway.leases l"
         "   WHERE l.settled_at >= (SELECT m.leases_to FROM mark m) AND l.settled_at <" CUTOFF
         "   ORDER BY l.settled_at LIMIT $2),"
         " moved AS (UPDATE fairway.housekeeping h SET leases_to = o.last"
         "   FROM (SELECT max(settled_at) AS last FROM old) o WHERE o.last IS NOT NULL)"
         " DELETE FROM fairway.leases WHERE ctid = ANY (ARRAY(SELECT o.place FROM old o))";

enum err retention_delete_leases(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail)
{
    return step(db, sql_delete_leases, keep_seconds, limit, rows, detail);
}

/* One ledger each few seconds: so few rows that the steps begin at the first one. */
static const char sql_delete_ledgers[] =
    MARK ", old AS MATERIALIZED (SELECT l.sequence, l.committed_at FROM fairway.ledgers l"
         "   WHERE EXISTS (SELECT FROM mark) ORDER BY l.sequence LIMIT $2)"
         " DELETE FROM fairway.ledgers WHERE sequence = ANY (ARRAY(SELECT o.sequence FROM old o"
         "   WHERE o.committed_at <" CUTOFF " AND o.sequence < (SELECT c.sequence FROM fairway.cursor c)))";

enum err retention_delete_ledgers(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail)
{
    return step(db, sql_delete_ledgers, keep_seconds, limit, rows, detail);
}

/* By hash: a ledger may settle such a lease at the same time, which moves its row. Both conditions on the key
 * hold together (CHECK of 0001); the indexes that can serve this have the one or the other. */
static const char sql_remove_keys[] =
    MARK ", old AS MATERIALIZED (SELECT l.hash, l.granted_at FROM fairway.leases l"
         "   WHERE l.idempotency_key IS NOT NULL AND l.request_digest IS NOT NULL"
         "   AND l.granted_at >= (SELECT m.keys_to FROM mark m) AND l.granted_at <" CUTOFF
         "   ORDER BY l.granted_at LIMIT $2),"
         " moved AS (UPDATE fairway.housekeeping h SET keys_to = o.last"
         "   FROM (SELECT max(granted_at) AS last FROM old) o WHERE o.last IS NOT NULL)"
         " UPDATE fairway.leases SET idempotency_key = NULL, request_digest = NULL"
         " WHERE hash = ANY (ARRAY(SELECT o.hash FROM old o))";

enum err retention_remove_keys(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *rows, struct detail *detail)
{
    return step(db, sql_remove_keys, keep_seconds, limit, rows, detail);
}
