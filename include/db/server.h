/* Queries about the server itself, on either kind of connection. */
#ifndef FAIRWAY_DB_SERVER_H
#define FAIRWAY_DB_SERVER_H

#include "db/db.h"

/* Whether both connections lead to the same database, either on one cluster or on physical copies of it. */
MUST_CHECK enum err server_same_database(struct db *a, struct db *b, bool *same, struct detail *detail);

/*
 * Whether the URL leads through a transaction pooler, which may run each transaction of a client in another
 * server session. Opens two sessions under this application name and compares their server processes. Also
 * false for a pooler that keeps one server session for each client.
 */
MUST_CHECK enum err server_behind_pooler(const char *url, const char *name, bool *out, struct detail *detail);

/* Whether a commit waits for a standby: synchronous_standby_names is not empty. Also false when the storage
 * replicates below the server. */
MUST_CHECK enum err server_has_synchronous_standby(struct db *db, bool *out, struct detail *detail);
/* The same as a boolean expression of SQL. */
#define SERVER_HAS_SYNCHRONOUS_STANDBY "(current_setting('synchronous_standby_names') <> '')"

/*
 * Whether the disk of the database has space. Writes a few kilobytes of temporary files, which are removed
 * when the call returns; writes no row and no WAL, and takes no lock. ERR_DATABASE_UNAVAILABLE when the disk
 * is full (SQLSTATE 53100): a lease or ledger that needs a new page would fail too.
 */
MUST_CHECK enum err server_check_disk(struct db *db, struct detail *detail);

#endif
