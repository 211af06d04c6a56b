/* The database session of a command. */
#ifndef FAIRWAY_DATABASE_H
#define FAIRWAY_DATABASE_H

#include "base/config.h"
#include "db/db.h"

/*
 * Connects to DATABASE_URL; the url of settings is not read. While the database is unavailable, retries until
 * deadline_ms (clock_ms). ERR_CONFIG: no URL is set, it leads through a pooler, or the server refuses user,
 * password or database. *out may be set after an error too; db_free it.
 */
MUST_CHECK enum err database_open(const struct config *config, const struct db_settings *settings,
    int64_t deadline_ms, struct db **out, struct detail *detail);

/* database_open for a command that needs the database alone: confines the process, waits for START_TIMEOUT,
 * and checks the schema. */
MUST_CHECK enum err database_open_migrated(
    const struct config *config, const char *name, struct db **out, struct detail *detail);

/* database_open for a command that works on the pool: checks the schema, and warns when DATABASE_FAILOVER is
 * synchronous but no standby is configured. Retries all of it. */
MUST_CHECK enum err database_open_pool(
    const struct config *config, int64_t deadline_ms, struct db **out, struct detail *detail);

#endif
