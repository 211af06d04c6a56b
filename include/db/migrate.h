/* The schema of the database: migrations/NNNN_name.sql, embedded in the binary and applied in order. */
#ifndef FAIRWAY_DB_MIGRATE_H
#define FAIRWAY_DB_MIGRATE_H

#include "db/db.h"

/* The key of the advisory lock is hashtext() of this. */
#define MIGRATE_LOCK_TEXT "fairway migrations"

/*
 * Applies the missing migrations, one transaction each; *applied is how many it applied, also on error. Two
 * processes may run it at the same time: an advisory lock serializes them. When a migration does not get its
 * table locks within direct's lock_timeout it is rolled back, so that the sessions queued after it can run,
 * and is retried for a minute (then ERR_DATABASE_UNAVAILABLE). ERR_REFUSED: the database has a migration that
 * this binary does not have, or one with another text.
 */
MUST_CHECK enum err migrate(struct db *direct, size_t *applied, struct detail *detail);

/* ERR_REFUSED unless the migrations of this binary are applied, and no others. */
MUST_CHECK enum err migrate_check(struct db *db, struct detail *detail);

/* The same for another list of migrations (src/db/embedded.h): for tests. */
struct embedded_migration;
MUST_CHECK enum err migrate_list(struct db *direct, const struct embedded_migration *list, size_t count,
    size_t *applied, struct detail *detail);
MUST_CHECK enum err migrate_check_list(
    struct db *db, const struct embedded_migration *list, size_t count, struct detail *detail);

#endif
