/* Queries about the server itself, and why it refuses a login. */
#pragma once

#include "db/db.h"

/* Expressions of SQL. Whether a commit waits for a standby: synchronous_standby_names is not empty; also
 * false when the storage replicates below the server. */
#define SERVER_HAS_SYNCHRONOUS_STANDBY "(current_setting('synchronous_standby_names') <> '')"
/* Whether any standby is connected, synchronous or not: which one is, only some roles may read. */
#define SERVER_HAS_CONNECTED_STANDBY "EXISTS (SELECT FROM pg_stat_replication)"

/*
 * Whether the disk of the database has space. Writes a few kilobytes of temporary files, which are removed
 * when the call returns; writes no row and no WAL, and takes no lock. ERR_DATABASE_UNAVAILABLE when the disk
 * is full (SQLSTATE 53100): a lease or ledger that needs a new page would fail too.
 */
MUST_CHECK enum err server_check_disk(struct db *db, struct detail *detail);

/*
 * Call it after a connection attempt has failed. Connects again to read the SQLSTATE of the refusal, which
 * libpq's messages do not contain. ERR_CONFIG, with the reason in detail: the server refuses the password or
 * the role (SQLSTATE class 28), or has no such database (3D000), so retrying does not help. ERR_OK in every
 * other case, also when the server is unavailable. Blocks for up to two connection attempts.
 */
MUST_CHECK enum err server_check_login(const char *url, struct detail *detail);
