/* Which master keys the sealed seeds of this database need. The rows have key ids and salts, never keys. */
#pragma once

#include "db/db.h"
#include "keys/keyd.h"

/*
 * Locks the rows' advisory lock for the session of a direct connection, from reading the rows to storing a
 * new one. Without it, two processes that start at the same time with one passphrase would each make a salt,
 * and only one could store its own. Waits up to seconds, then ERR_NOT_YET. db_disconnect unlocks.
 */
MUST_CHECK enum err master_keys_lock(struct db *db, unsigned seconds, struct detail *detail);

/* The name of the session of each replica that tells, behind it, which master keys the replica has: the first
 * digits of each id. Rotation reads it. */
#define MASTER_KEYS_SESSION "fairway watch"
#define MASTER_KEYS_DIGITS 8
#define MASTER_KEYS_NAMED 5 /* PostgreSQL cuts names at 63 bytes */

/* Reads the rows, oldest first. ERR_CONFIG: there are more than MASTER_KEY_ROWS_MAX. */
MUST_CHECK enum err master_keys_read(struct db *db, struct master_key_row rows[static MASTER_KEY_ROWS_MAX],
    size_t *count, struct detail *detail);

/* Whether one of the rows is of this key. */
bool master_keys_have(const struct master_key_row rows[], size_t count, const char *key_id);

/* Stores a row; an existing row stays as it is. Call it before the first seed is sealed under the key, so
 * that no account is stored whose master key cannot be found again. known: all keys that this process has.
 * ERR_CONSTRAINT: a key is stored that is not among them, or two others are. */
MUST_CHECK enum err master_key_store(struct db *db, const struct master_key_row *row,
    const struct master_key_row known[], size_t count, struct detail *detail);
