/* struct db_rows: the result of one statement. */
#pragma once

#include <libpq-fe.h>

#include "db/db.h"

/* Takes ownership of the result. */
struct db_rows *rows_new(PGresult *result);
/* The command tag, "INSERT 0 1". */
const char *rows_tag(const struct db_rows *rows);
