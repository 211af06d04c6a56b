/* Which master keys the sealed seeds of this database need: never the keys, only how each is found again. */
#ifndef FAIRWAY_POOL_MASTER_KEYS_H
#define FAIRWAY_POOL_MASTER_KEYS_H

#include "db/db.h"
#include "keys/keyd.h"

/*
 * From reading the rows to storing a new one: two first starts with one passphrase would otherwise make a
 * salt each, and seal seeds that the other's key process cannot open. Held by the session of a direct
 * connection; waits up to seconds, then ERR_NOT_YET.
 */
MUST_CHECK enum err master_keys_lock(struct db *db, unsigned seconds, struct detail *detail);
MUST_CHECK enum err master_keys_unlock(struct db *db, struct detail *detail);

/* Oldest first. ERR_CONFIG: more than MASTER_KEY_ROWS_MAX. */
MUST_CHECK enum err master_keys_read(struct db *db, struct master_key_row rows[static MASTER_KEY_ROWS_MAX],
    size_t *count, struct detail *detail);

/* Before the first seed is sealed under it: key row first, account second. The same row twice is fine. */
MUST_CHECK enum err master_key_store(struct db *db, const struct master_key_row *row, struct detail *detail);

#endif
