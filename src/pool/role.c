/* Reads the rights of the role of this process. Grants and revokes nothing. */
#include "pool/role.h"

static const char sql_may_write[] =
    "SELECT has_table_privilege('fairway.channel_accounts', 'INSERT, UPDATE, DELETE, TRUNCATE')"
    " OR pg_has_role(n.nspowner, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'fairway'";

enum err role_may_write(struct db *db, bool *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_may_write), &rows, detail);
    *out = e == ERR_OK && db_count(rows) == 1 && db_bool(rows, 0, 0);
    return e;
}
