/* Plain scripts in the session of a struct db. */
#pragma once

#include "db/db.h"

/*
 * Runs SQL text of any number of statements without parameters, in one simple query: for migrations and
 * tests. Rows are discarded. Errors: those of db_query; ERR_DATABASE_UNAVAILABLE also when it takes longer
 * than timeout_ms.
 */
MUST_CHECK enum err session_run_script(
    struct db *db, const char *text, int timeout_ms, struct detail *detail);
