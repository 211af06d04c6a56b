/* The database session of a command: opened without a pooler, retried until a deadline. */
#ifndef FAIRWAY_DATABASE_H
#define FAIRWAY_DATABASE_H

#include "base/config.h"
#include "db/db.h"

/* DATABASE_DIRECT_URL, else DATABASE_URL, else NULL. */
const char *database_direct_url(const struct config *config);

/*
 * Connects to the direct URL, as DB_DIRECT; url and kind of settings are not read. While the database is
 * unavailable, retries until deadline_ms (clock_ms). ERR_CONFIG: no URL is set, the server refuses user,
 * password or database, or the URL leads through a transaction pooler. *out may be set after an error too;
 * db_free it.
 */
MUST_CHECK enum err database_open(const struct config *config, const struct db_settings *settings,
    int64_t deadline_ms, struct db **out, struct detail *detail);

/* Returns e, the error of a connection attempt, or ERR_CONFIG if the server refuses the URL's user, password
 * or database; detail then names the option. */
MUST_CHECK enum err database_refused(enum err e, const char *url, const char *option, struct detail *detail);

/* database_open for a command that needs the database alone: confines the process, waits for
 * START_TIMEOUT, and checks the schema. */
MUST_CHECK enum err database_open_migrated(
    const struct config *config, const char *name, struct db **out, struct detail *detail);

#endif
