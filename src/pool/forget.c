#include "base/mem.h"
#include "pool/settle.h"

static const char sql_forget[] = "DELETE FROM fairway.leases WHERE hash = ANY (ARRAY("
                                 " SELECT l.hash FROM fairway.leases l WHERE l.settled_at < "
                                 "clock_timestamp() - make_interval(secs => $1::int8)"
                                 " ORDER BY l.settled_at LIMIT $2))";

enum err pool_forget(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *deleted, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_forget, DB_I64(keep_seconds), DB_I64(limit)), &rows, detail);
    *deleted = e == ERR_OK ? db_affected(rows) : 0;
    return e;
}
