/* Questions about the server: which one it is, whether it can write. No table of fairway's is read. */
#include "db/server.h"

#include "base/mem.h"

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
