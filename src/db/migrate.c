#include "db/migrate.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "connection.h"
#include "embedded.h"
#include "session.h"

#define FILE_TIMEOUT_MS 600000 /* how long one migration may run */
#define RETRY_MS 60000         /* how long to retry when another process migrates or holds a table lock */
#define OTHER_PROCESS_PAUSE_MS 100
#define LOCK_PAUSE_MS 1000 /* lets queued sessions run before the next try */

/* A transaction lock: a session lock could be lost unnoticed when the connection is reopened. */
static const char sql_lock[] = "SELECT pg_try_advisory_xact_lock(hashtext('" MIGRATE_LOCK_TEXT "'))";

/* Checked first because CREATE SCHEMA IF NOT EXISTS needs the privilege even when the schema exists. */
static const char sql_present[] = "SELECT to_regclass('fairway.migrations') IS NOT NULL";

static const char script_table[] =
    "CREATE SCHEMA IF NOT EXISTS fairway;"
    "CREATE TABLE fairway.migrations (number integer PRIMARY KEY CHECK (number > 0), name text NOT NULL,"
    " digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())";

/* The first difference: a migration that is not applied (a.name NULL), that this binary does not have (k.name
 * NULL), or whose text differs. */
static const char sql_compare[] =
    "SELECT coalesce(a.number, k.number::int4), a.name, k.name"
    " FROM fairway.migrations a FULL JOIN unnest($1, $2) WITH ORDINALITY AS k (name, sql, number)"
    " ON a.number = k.number"
    " WHERE (a.name, a.digest) IS DISTINCT FROM (k.name, encode(sha256(k.sql), 'hex'))"
    " ORDER BY 1 LIMIT 1";

static const char sql_record[] =
    "INSERT INTO fairway.migrations (number, name, digest) VALUES ($1, $2, encode(sha256($3), 'hex'))";

static const char sql_timeout[] = "SELECT set_config('statement_timeout', $1, true)";

struct difference {
    bool any;
    int32_t number;
    bool applied, known;
};

static struct bytes sql_bytes(const struct embedded_migration *migration)
{
    return (struct bytes){(const uint8_t *)migration->sql, strlen(migration->sql)};
}

static enum err compare(struct db *db, const struct embedded_migration list[], size_t count,
    struct difference *difference, struct detail *detail)
{
    AUTO_FREE const char **names = NEW_ARRAY(count, const char *);
    AUTO_FREE struct bytes *texts = NEW_ARRAY(count, struct bytes);
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        names[i] = list[i].name;
        texts[i] = sql_bytes(&list[i]);
    }
    enum err e =
        db_query(db, DB_SQL(sql_compare, DB_TEXTS(names, count), DB_BYTEAS(texts, count)), &rows, detail);
    if (e != ERR_OK)
        return e;
    *difference = (struct difference){.any = db_count(rows) != 0};
    if (difference->any) {
        difference->number = db_i32(rows, 0, 0);
        difference->applied = !db_is_null(rows, 0, 1);
        difference->known = !db_is_null(rows, 0, 2);
    }
    return ERR_OK;
}

static enum err refuse(const struct difference *difference, struct detail *detail)
{
    if (!difference->known)
        return detail_set(detail, ERR_REFUSED,
            "the database has migration %" PRId32 ", which this fairway does not have: run a newer fairway",
            difference->number);
    return detail_set(detail, ERR_REFUSED,
        "migration %" PRId32
        " was applied with a text that differs from this fairway's: use the build that applied it",
        difference->number);
}

static enum err table_present(struct db *db, bool *present, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_present), &rows, detail);
    if (e == ERR_OK)
        *present = db_bool(rows, 0, 0);
    return e;
}

static enum err apply(struct db *db, const struct embedded_migration *migration, struct detail *detail)
{
    AUTO_FREE char *limit_ms = mem_format("%d", FILE_TIMEOUT_MS);
    struct detail why = {""};
    enum err e = db_query(db, DB_SQL(sql_timeout, DB_TEXT(limit_ms)), NULL, &why);
    if (e == ERR_OK)
        e = session_run_script(db, migration->sql, FILE_TIMEOUT_MS, &why);
    if (e == ERR_OK && !db->in_transaction)
        e = detail_set(&why, ERR_INTERNAL, "it ends the transaction that it runs in");
    if (e == ERR_OK)
        e = db_query(db,
            DB_SQL(sql_record, DB_I32(migration->number), DB_TEXT(migration->name),
                DB_BYTEA(sql_bytes(migration))),
            NULL, &why);
    return e == ERR_OK ? e : detail_set(detail, e, "migration %s: %s", migration->name, why.text);
}

struct work {
    const struct embedded_migration *list;
    size_t count;
    struct detail *detail;
    bool locked;  /* it has the advisory lock; false: another process migrates */
    bool blocked; /* lock_timeout ended it */
    int32_t done; /* the number of the migration that was applied; 0: none was missing */
};

/* Takes the lock, creates the table and applies the first missing migration. */
static enum err apply_missing(struct db *db, struct work *work)
{
    struct difference difference;
    bool present = false;
    AUTO_ROWS locked = NULL;
    enum err e = db_query(db, DB_SQL0(sql_lock), &locked, work->detail);
    if (e != ERR_OK)
        return e;
    work->locked = db_bool(locked, 0, 0);
    if (!work->locked)
        return ERR_OK;
    e = table_present(db, &present, work->detail);
    if (e == ERR_OK && !present)
        e = session_run_script(db, script_table, FILE_TIMEOUT_MS, work->detail);
    if (e == ERR_OK)
        e = compare(db, work->list, work->count, &difference, work->detail);
    if (e != ERR_OK || !difference.any)
        return e;
    if (difference.applied)
        return refuse(&difference, work->detail);
    work->done = difference.number;
    return apply(db, &work->list[difference.number - 1], work->detail);
}

static enum err apply_next(struct db *db, void *context)
{
    struct work *work = context;
    work->done = 0;
    db->lock_refused = false;
    enum err e = apply_missing(db, work);
    work->blocked = e == ERR_DATABASE_UNAVAILABLE && db->lock_refused;
    return e;
}

/* The error after the last retry. */
static enum err give_up(const struct work *work)
{
    const struct detail why = *work->detail;
    if (!work->blocked)
        return detail_set(work->detail, ERR_DATABASE_UNAVAILABLE,
            "another process is migrating this database: wait until it has ended, and run fairway migrate "
            "again");
    return detail_set(work->detail, ERR_DATABASE_UNAVAILABLE,
        "%s (tried for %d s). End the transaction that holds the lock; fairway locks shows it", why.text,
        RETRY_MS / 1000);
}

enum err migrate_list(struct db *direct, const struct embedded_migration *list, size_t count, size_t *applied,
    struct detail *detail)
{
    struct detail own = {""};
    struct work work = {.list = list, .count = count, .detail = detail != NULL ? detail : &own};
    int64_t deadline_ms = clock_ms() + RETRY_MS;
    *applied = 0;
    for (;;) {
        work.blocked = false;
        enum err e = db_transaction(direct, apply_next, &work, work.detail);
        if (e != ERR_OK && !work.blocked)
            return e;
        if (e == ERR_OK && work.locked && work.done == 0)
            return ERR_OK;
        if (e == ERR_OK && work.locked) {
            log_info("migration applied", "name=%s", list[work.done - 1].name);
            (*applied)++;
            deadline_ms = clock_ms() + RETRY_MS;
            continue;
        }
        if (clock_left_ms(deadline_ms) == 0)
            return give_up(&work);
        if (work.blocked)
            log_warn("migration waits for a table lock; retrying", "detail=\"%s\"", work.detail->text);
        clock_sleep_ms(work.blocked ? LOCK_PAUSE_MS : OTHER_PROCESS_PAUSE_MS);
    }
}

enum err migrate_check_list(
    struct db *db, const struct embedded_migration *list, size_t count, struct detail *detail)
{
    struct difference difference = {.any = count != 0, .number = 1, .known = true};
    bool present = false;
    enum err e = table_present(db, &present, detail);
    if (e == ERR_OK && present)
        e = compare(db, list, count, &difference, detail);
    if (e != ERR_OK || !difference.any)
        return e;
    if (!difference.applied)
        return detail_set(detail, ERR_REFUSED, "migration %" PRId32 " is not applied: run fairway migrate",
            difference.number);
    return refuse(&difference, detail);
}

enum err migrate(struct db *direct, size_t *applied, struct detail *detail)
{
    return migrate_list(direct, embedded_migrations, embedded_migration_count, applied, detail);
}

enum err migrate_check(struct db *db, struct detail *detail)
{
    return migrate_check_list(db, embedded_migrations, embedded_migration_count, detail);
}
