/* The SQL files in this binary: migrations in the order of their numbers (the first is number 1), and
 * functions. embed.sh generates them. */
#pragma once

#include <stddef.h>

struct embedded_sql {
    const char *name; /* of the file: "0001_pool", "claim_accounts" */
    const char *sql;  /* NUL-terminated */
};

/* embedded_schema (db/migrate.h) is the one of this binary. */
struct embedded_schema {
    const struct embedded_sql *migrations;
    size_t migration_count;
    const struct embedded_sql *functions;
    size_t function_count;
};
