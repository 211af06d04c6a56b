/* Which master keys the database knows, and the lock under which keys are loaded. No key is ever here. */
#include "pool/master_keys.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "pool/lock_numbers.h"

static const char sql_lock[] = "SELECT pg_try_advisory_lock(hashtext('" LOCK_TEXT_MASTER_KEYS "'))";

enum err master_keys_lock(struct db *db, unsigned seconds, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)seconds * 1000;
    for (;;) {
        AUTO_ROWS rows = NULL;
        enum err e = db_query(db, DB_SQL0(sql_lock), &rows, detail);
        if (e != ERR_OK || db_bool(rows, 0, 0))
            return e;
        if (clock_ms() >= deadline_ms)
            return detail_set(
                detail, ERR_NOT_YET, "another process has been loading its keys for %u s", seconds);
        clock_sleep_ms(50);
    }
}

static const char sql_read[] =
    "SELECT k.key_id, k.salt FROM fairway.master_keys k ORDER BY k.created_at, k.key_id";

enum err master_keys_read(struct db *db, struct master_key_row rows[static MASTER_KEY_ROWS_MAX],
    size_t *count, struct detail *detail)
{
    AUTO_ROWS found = NULL;
    enum err e = db_query(db, DB_SQL0(sql_read), &found, detail);
    *count = 0;
    if (e != ERR_OK)
        return e;
    if (db_count(found) > MASTER_KEY_ROWS_MAX)
        return detail_set(
            detail, ERR_CONFIG, "the database names more than %d master keys", MASTER_KEY_ROWS_MAX);
    for (; *count < db_count_at_most(found, MASTER_KEY_ROWS_MAX); (*count)++) {
        struct master_key_row *row = &rows[*count];
        *row = (struct master_key_row){.derived = !db_is_null(found, *count, 1)};
        snprintf(row->key_id, sizeof row->key_id, "%s", db_text(found, *count, 0));
        if (row->derived)
            db_copy(found, *count, 1, row->salt, sizeof row->salt);
    }
    return ERR_OK;
}

bool master_keys_have(const struct master_key_row rows[], size_t count, const char *key_id)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(rows[i].key_id, key_id))
            return true;
    return false;
}

static const char sql_store[] = "SELECT fairway.store_master_key($1, $2, $3)";

enum err master_key_store(struct db *db, const struct master_key_row *row,
    const struct master_key_row known[], size_t count, struct detail *detail)
{
    const struct db_param salt = row->derived ? DB_BYTEA(BYTES_OF(row->salt)) : DB_NONE;
    const char *ids[MASTER_KEY_ROWS_MAX + 2];
    for (size_t i = 0; i < count; i++)
        ids[i] = known[i].key_id;
    return db_query(db, DB_SQL(sql_store, DB_TEXT(row->key_id), salt, DB_TEXTS(ids, count)), NULL, detail);
}
