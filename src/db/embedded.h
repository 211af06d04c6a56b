/* The migrations in this binary, in order. embed.sh generates the table. */
#ifndef FAIRWAY_DB_EMBEDDED_H
#define FAIRWAY_DB_EMBEDDED_H

#include <stddef.h>

struct embedded_migration {
    int number;       /* 1, 2, ... without gaps */
    const char *name; /* "0001_pool" */
    const char *sql;  /* NUL-terminated */
};

extern const struct embedded_migration embedded_migrations[];
extern const size_t embedded_migration_count;

#endif
