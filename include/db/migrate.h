/* The schema of the database: migrations/ of the source, embedded in the binary. migrations/README.md has the
 * rules. */
#ifndef FAIRWAY_DB_MIGRATE_H
#define FAIRWAY_DB_MIGRATE_H

#include "db/db.h"

/* The key of the advisory lock is hashtext() of this. */
#define MIGRATE_LOCK_TEXT "fairway migrations"

/*
 * Applies, in one transaction, the functions whose text differs from what the database has recorded, then the
 * missing migrations, then revokes EXECUTE on all functions from PUBLIC. *applied is how many files it
 * applied; 0 on error. Two processes may run it at the same time: an advisory lock serializes them. When it
 * does not get a table lock within direct's lock_timeout, it is rolled back, so that the sessions queued
 * after it can run, and is retried for a minute (then ERR_DATABASE_UNAVAILABLE). ERR_REFUSED: the database
 * has a migration that this binary does not have, or one with another text, or the role lacks a privilege.
 */
MUST_CHECK enum err migrate(struct db *direct, size_t *applied, struct detail *detail);

/* ERR_REFUSED unless the migrations and functions of this binary are applied, and no other migrations. */
MUST_CHECK enum err migrate_check(struct db *db, struct detail *detail);

/* The same for another schema (src/db/embedded.h): for tests. */
struct embedded_schema;
MUST_CHECK enum err migrate_schema(
    struct db *direct, const struct embedded_schema *schema, size_t *applied, struct detail *detail);
MUST_CHECK enum err migrate_check_schema(
    struct db *db, const struct embedded_schema *schema, struct detail *detail);

#endif
