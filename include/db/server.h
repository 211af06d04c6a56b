/* What is asked of the server itself, not of fairway's tables. Each is one statement or a few, on either kind
 * of connection. */
#ifndef FAIRWAY_DB_SERVER_H
#define FAIRWAY_DB_SERVER_H

#include "db/db.h"

/* Whether both connections lead to one and the same database: of one cluster or of physical copies of it. */
MUST_CHECK enum err server_same_database(struct db *a, struct db *b, bool *same, struct detail *detail);

/*
 * Whether the URL leads through a transaction pooler, which gives each transaction of a client any of its
 * server sessions. Opens two sessions under this application name and compares the server processes that they
 * get. False also for a pooler that keeps one server session for each client.
 */
MUST_CHECK enum err server_behind_pooler(const char *url, const char *name, bool *out, struct detail *detail);

/* Whether a commit waits for any standby: synchronous_standby_names is not empty. False too where the storage
 * below the server replicates, of which the server knows nothing. */
MUST_CHECK enum err server_has_synchronous_standby(struct db *db, bool *out, struct detail *detail);
/* The same as a boolean expression, for a statement that asks more. */
#define SERVER_HAS_SYNCHRONOUS_STANDBY "(current_setting('synchronous_standby_names') <> '')"

/*
 * Whether the disk of the database takes new blocks. Writes some kilobytes of temporary files there, which
 * are gone when the call returns, and nothing else: no row, no WAL, no lock. ERR_DATABASE_UNAVAILABLE when it
 * does not (SQLSTATE 53100), as a lease or a ledger would fail that needs a new page.
 */
MUST_CHECK enum err server_check_disk(struct db *db, struct detail *detail);

#endif
