/* The schema of the database: migrations/ of the source, embedded in the binary. migrations/README.md has the
 * rules. */
#pragma once

#include "db/db.h"

/* The key of the advisory lock is hashtext() of this. */
#define MIGRATE_LOCK_TEXT "fairway migrations"

/* The schema that this binary needs (src/db/embedded.h); tests have others. */
struct embedded_schema;
extern const struct embedded_schema embedded_schema;

/*
 * Applies, in one transaction, the functions whose text differs from what the database has recorded, then the
 * missing migrations, then revokes EXECUTE on all functions from PUBLIC. *applied is how many files it
 * applied; 0 on error. Two processes may run it at the same time: an advisory lock serializes them. When it
 * does not get a table lock within direct's lock_timeout, it is rolled back, so that the sessions queued
 * after it can run, and is retried for a minute (then ERR_DATABASE_UNAVAILABLE). ERR_REFUSED: the database
 * has a migration that the schema does not have, or one with another text, or the role lacks a privilege.
 */
MUST_CHECK enum err migrate(
    struct db *direct, const struct embedded_schema *schema, size_t *applied, struct detail *detail);

/* ERR_REFUSED unless the schema's migrations and functions are applied, and no other migrations. */
MUST_CHECK enum err migrate_check(struct db *db, const struct embedded_schema *schema, struct detail *detail);
