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

static const char sql_backend[] = "SELECT pg_catalog.pg_backend_pid()";

static enum err read_backend(struct db *db, int32_t *pid, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_backend), &rows, detail);
    if (e == ERR_OK)
        *pid = db_i32(rows, 0, 0);
    return e;
}

/* Reads the server process of first, of second in a transaction, and of first again. *shared: they show that
 * a pooler shares sessions among its clients. When both have the same process, first is not read again: a
 * pooler with a single session would make it wait for second. */
static enum err compare_backends(struct db *first, struct db *second, bool *shared, struct detail *detail)
{
    int32_t before = 0, other = 0, after = 0;
    enum err e = read_backend(first, &before, detail);
    if (e == ERR_OK)
        e = db_begin(second, detail);
    if (e == ERR_OK)
        e = read_backend(second, &other, detail);
    after = before;
    if (e == ERR_OK && other != before)
        e = read_backend(first, &after, detail);
    db_rollback(second);
    *shared = other == before || after != before;
    return e;
}

/* A session that was lost and reopened has another process too, so one comparison is not enough. */
enum err server_behind_pooler(const char *url, const char *name, bool *out, struct detail *detail)
{
    enum {
        COMPARISONS = 3,
        PROOFS = 2
    };
    const struct db_settings settings = {.url = url, .kind = DB_POOLED, .name = name};
    struct db *first = db_new(&settings), *second = db_new(&settings);
    enum err e = ERR_OK;
    int found = 0;
    for (int i = 0; e == ERR_OK && i < COMPARISONS; i++) {
        bool shared = false;
        e = compare_backends(first, second, &shared, detail);
        found += shared;
    }
    db_free(first);
    db_free(second);
    *out = found >= PROOFS;
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

/* For this round trip only, which is one transaction. '' is the tablespace of the database. */
static const char sql_small_memory[] = "SELECT pg_catalog.set_config('work_mem', '64kB', true),"
                                       " pg_catalog.set_config('temp_tablespaces', '', true)";

/* A function's rows beyond work_mem go to a temporary file. */
static const char sql_spill[] = "SELECT count(*) FROM generate_series(1, 5000)";

enum err server_check_disk(struct db *db, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL0(sql_small_memory), DB_SQL0(sql_spill)};
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}
