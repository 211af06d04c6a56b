/* The schema of the database, embedded in the binary (migrations/NNNN_name.sql), applied in order under an
 * advisory lock. */
#ifndef FAIRWAY_DB_MIGRATE_H
#define FAIRWAY_DB_MIGRATE_H

#include "db/db.h"

/* The number of the advisory lock is hashtext() of this. */
#define MIGRATE_LOCK_TEXT "fairway migrations"

/* Applies what is missing, one transaction a file; *applied says how many. Safe to run twice at the same
   time. A file that does not get its locks within direct's lock_timeout is rolled back, so that what queued
   behind it gets through, and tried again for a minute (then ERR_DATABASE_UNAVAILABLE). ERR_REFUSED when the
   database has a migration that this binary does not know, or one whose text differs. */
MUST_CHECK enum err migrate(struct db *direct, size_t *applied, struct detail *detail);

/* ERR_REFUSED unless exactly the migrations of this binary are applied. */
MUST_CHECK enum err migrate_check(struct db *db, struct detail *detail);

#endif
