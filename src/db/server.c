#include "db/server.h"

#include "base/mem.h"

/* Physical copies of a cluster share its system identifier. The oid distinguishes the databases of a cluster.
 */
static const char sql_database[] =
    "SELECT s.system_identifier, d.oid::int8 FROM pg_catalog.pg_control_system() s, pg_catalog.pg_database d"
    " WHERE d.datname = pg_catalog.current_database()";

enum err server_same_database(struct db *a, struct db *b, bool *same, struct detail *detail)
{
    AUTO_ROWS left = NULL;
    AUTO_ROWS right = NULL;
    enum err e = db_query(a, DB_SQL0(sql_database), &left, detail);
    if (e == ERR_OK)
        e = db_query(b, DB_SQL0(sql_database), &right, detail);
    if (e == ERR_OK)
        *same = db_i64(left, 0, 0) == db_i64(right, 0, 0) && db_i64(left, 0, 1) == db_i64(right, 0, 1);
    return e;
}

static const char sql_standby[] = "SELECT " SERVER_HAS_SYNCHRONOUS_STANDBY;

enum err server_has_synchronous_standby(struct db *db, bool *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_standby), &rows, detail);
    if (e == ERR_OK)
        *out = db_bool(rows, 0, 0);
    return e;
}

/* Until the end of the round trip, which is one transaction. '' is the tablespace of the database. */
static const char sql_small_memory[] = "SELECT pg_catalog.set_config('work_mem', '64kB', true),"
                                       " pg_catalog.set_config('temp_tablespaces', '', true)";

/* A function's rows beyond work_mem go to a temporary file. */
static const char sql_spill[] = "SELECT count(*) FROM generate_series(1, 5000)";

enum err server_check_disk(struct db *db, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL0(sql_small_memory), DB_SQL0(sql_spill)};
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}
