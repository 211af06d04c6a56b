/* migrate.h for any list of migrations; apart from it so that tests can bring their own. */
#ifndef FAIRWAY_DB_MIGRATIONS_H
#define FAIRWAY_DB_MIGRATIONS_H

#include "db/db.h"
#include "embedded.h"

MUST_CHECK enum err migrations_apply(struct db *direct, const struct embedded_migration list[], size_t count,
    size_t *applied, struct detail *detail);
MUST_CHECK enum err migrations_check(
    struct db *db, const struct embedded_migration list[], size_t count, struct detail *detail);

#endif
