#include "pool/retention.h"

#include "base/mem.h"

static const char sql_row[] =
    "INSERT INTO fairway.housekeeping (only_row) SELECT true"
    " WHERE NOT EXISTS (SELECT FROM fairway.housekeeping) ON CONFLICT (only_row) DO NOTHING";

/* The mark: where the last step stopped. The row lock excludes the steps of other replicas. The planner does
 * not know the mark's values, so it assumes that a fixed share of the table matches, whatever the statistics
 * say: it reads the index in its order and stops at the LIMIT. */
#define MARK                                                                                                 \
    "WITH mark AS MATERIALIZED ("                                                                            \
    " SELECT h.leases_to, h.keys_to FROM fairway.housekeeping h FOR UPDATE SKIP LOCKED)"

/* statement_timestamp() is the same for the whole statement, so it can be a bound of an index scan;
 * clock_timestamp() would be compared with each row. */
#define CUTOFF " statement_timestamp() - make_interval(secs => $1::int8)"

/* Moves the mark `to` to the last of the old rows, by their column `age`. */
#define MOVE_MARK(to, age)                                                                                   \
    " moved AS (UPDATE fairway.housekeeping h SET " to " = o.last"                                           \
    "   FROM (SELECT max(" age ") AS last FROM old) o WHERE o.last IS NOT NULL)"
#define MOVE_LEASES MOVE_MARK("leases_to", "settled_at")
#define MOVE_KEYS MOVE_MARK("keys_to", "granted_at")

/* By ctid: by hash, each row would cost a read of a random page of the primary key. */
static const char sql_leases[] =
    MARK ", old AS MATERIALIZED (SELECT l.ctid AS place, l.settled_at FROM fairway.leases l"
         "   WHERE l.settled_at >= (SELECT m.leases_to FROM mark m) AND l.settled_at <" CUTOFF
         "   ORDER BY l.settled_at LIMIT $2)," MOVE_LEASES
         " DELETE FROM fairway.leases WHERE ctid = ANY (ARRAY(SELECT o.place FROM old o))";

/* A ledger closes every few seconds: the rows are so few that each step begins at the first one. */
static const char sql_ledgers[] =
    MARK ", old AS MATERIALIZED (SELECT l.sequence, l.committed_at FROM fairway.ledgers l"
         "   WHERE EXISTS (SELECT FROM mark) ORDER BY l.sequence LIMIT $2)"
         " DELETE FROM fairway.ledgers WHERE sequence = ANY (ARRAY(SELECT o.sequence FROM old o"
         "   WHERE o.committed_at <" CUTOFF " AND o.sequence < (SELECT c.sequence FROM fairway.cursor c)))";

/* By hash: a ledger may settle such a lease at the same time, which moves its row. A key and its digest are
 * both set or both NULL (CHECK of 0001), but each index that can serve this has only one of the two
 * conditions. */
static const char sql_keys[] =
    MARK ", old AS MATERIALIZED (SELECT l.hash, l.granted_at FROM fairway.leases l"
         "   WHERE l.idempotency_key IS NOT NULL AND l.request_digest IS NOT NULL"
         "   AND l.granted_at >= (SELECT m.keys_to FROM mark m) AND l.granted_at <" CUTOFF
         "   ORDER BY l.granted_at LIMIT $2)," MOVE_KEYS
         " UPDATE fairway.leases SET idempotency_key = NULL, request_digest = NULL"
         " WHERE hash = ANY (ARRAY(SELECT o.hash FROM old o))";

static const char *const steps[] = {
    [RETENTION_LEASES] = sql_leases,
    [RETENTION_LEDGERS] = sql_ledgers,
    [RETENTION_KEYS] = sql_keys,
};

enum err retention_step(struct db *db, enum retention what, int64_t keep_seconds, int64_t limit, size_t *rows,
    struct detail *detail)
{
    const struct db_statement statements[] = {
        DB_SQL0(sql_row), DB_SQL(steps[what], DB_I64(keep_seconds), DB_I64(limit))};
    struct db_rows *results[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), results, detail);
    *rows = e == ERR_OK ? db_affected(results[1]) : 0;
    for (size_t i = 0; i < ARRAY_LEN(statements); i++)
        db_rows_free(results[i]);
    return e;
}
