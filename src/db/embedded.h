/* The SQL files in this binary: migrations in the order of their numbers (the first is number 1), and
 * functions. embed.sh generates the tables. */
#ifndef FAIRWAY_DB_EMBEDDED_H
#define FAIRWAY_DB_EMBEDDED_H

#include <stddef.h>

struct embedded_sql {
    const char *name; /* of the file: "0001_pool", "claim_accounts" */
    const char *sql;  /* NUL-terminated */
};

extern const struct embedded_sql embedded_migrations[], embedded_functions[];
extern const size_t embedded_migrations_count, embedded_functions_count;

/* A schema; the embedded one, or another one in tests. */
struct embedded_schema {
    const struct embedded_sql *migrations;
    size_t migration_count;
    const struct embedded_sql *functions;
    size_t function_count;
};

#endif
