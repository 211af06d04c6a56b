/* Applies and checks the schema. What it has applied is recorded with digests in fairway.migrations and
 * fairway.functions; nothing else of the program reads or writes these two tables. */
#include "db/migrate.h"

#include <string.h>

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "connection.h"
#include "embedded.h"
#include "session.h"

#define OTHER_PROCESS_PAUSE_MS 100
#define LOCK_PAUSE_MS 1000 /* lets queued sessions run before the next try */

/* A transaction lock: a session lock could be lost unnoticed when the connection is reopened. */
static const char sql_lock[] = "SELECT pg_try_advisory_xact_lock(hashtext('" MIGRATE_LOCK_TEXT "'))";

/* Checked first because CREATE SCHEMA IF NOT EXISTS needs the privilege even when the schema exists. */
static const char sql_present[] = "SELECT to_regclass('fairway.migrations') IS NOT NULL";

/* For the rest of the transaction: bodies of functions are checked when they run, because a file may name
 * what a later one makes. */
static const char sql_settings[] = "SELECT set_config('statement_timeout', $1, true),"
                                   " set_config('check_function_bodies', 'off', true)";

static const char script_tables[] =
    "CREATE SCHEMA IF NOT EXISTS fairway;"
    "CREATE TABLE fairway.migrations (number integer PRIMARY KEY CHECK (number > 0), name text NOT NULL,"
    " digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "CREATE TABLE fairway.functions (name text PRIMARY KEY, digest text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT clock_timestamp())";

static const char script_revoke[] = "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fairway FROM PUBLIC";

/* The migrations that differ: not applied (a.name NULL), not in this binary (k.name NULL), or with another
 * text. */
static const char sql_migrations[] =
    "SELECT coalesce(a.number, k.number::int4), a.name, k.name"
    " FROM fairway.migrations a FULL JOIN unnest($1, $2) WITH ORDINALITY AS k (name, sql, number)"
    " ON a.number = k.number"
    " WHERE (a.name, a.digest) IS DISTINCT FROM (k.name, encode(sha256(k.sql), 'hex')) ORDER BY 1";

/* The functions of this binary that are not applied with their present text, by place in its list. */
static const char sql_functions[] =
    "SELECT k.number FROM unnest($1, $2) WITH ORDINALITY AS k (name, sql, number)"
    " LEFT JOIN fairway.functions a ON a.name = k.name"
    " WHERE a.digest IS DISTINCT FROM encode(sha256(k.sql), 'hex') ORDER BY 1";

static const char sql_record_migration[] =
    "INSERT INTO fairway.migrations (number, name, digest) VALUES ($1, $2, encode(sha256($3), 'hex'))";

static const char sql_record_function[] =
    "INSERT INTO fairway.functions (name, digest) VALUES ($1, encode(sha256($2), 'hex')) ON CONFLICT (name)"
    " DO UPDATE SET digest = EXCLUDED.digest, applied_at = clock_timestamp()";

static struct bytes text_of(const struct embedded_sql *file)
{
    return (struct bytes){(const uint8_t *)file->sql, strlen(file->sql)};
}

/* Runs a query whose two parameters are the names and the texts of the files. */
static enum err query_files(struct db *db, const char *sql, const struct embedded_sql *files, size_t count,
    struct db_rows **rows, struct detail *detail)
{
    AUTO_FREE const char **names = NEW_ARRAY(count, const char *);
    AUTO_FREE struct bytes *texts = NEW_ARRAY(count, struct bytes);
    for (size_t i = 0; i < count; i++) {
        names[i] = files[i].name;
        texts[i] = text_of(&files[i]);
    }
    return db_query(db,
        (struct db_statement){sql, (struct db_param[]){DB_TEXTS(names, count), DB_BYTEAS(texts, count)}, 2},
        rows, detail);
}

/* Whether the row of sql_migrations is a migration that can be applied. */
static enum err check_missing(const struct db_rows *rows, size_t row, struct detail *detail)
{
    const int number = (int)db_i32(rows, row, 0);
    if (db_is_null(rows, row, 2))
        return detail_set(detail, ERR_REFUSED,
            "the database has migration %d, which this fairway does not have: run a newer fairway", number);
    if (!db_is_null(rows, row, 1))
        return detail_set(detail, ERR_REFUSED,
            "migration %d was applied with a text that differs from this fairway's: use the build that "
            "applied "
            "it. A database of a build before the first release cannot be updated; use a new database",
            number);
    return ERR_OK;
}

struct work {
    const struct embedded_schema *schema;
    struct detail *detail;
    bool locked;  /* it has the advisory lock; false: another process migrates */
    bool blocked; /* lock_timeout ended it */
    size_t applied;
};

static enum err run_file(struct db *db, const struct embedded_sql *file, struct detail *detail)
{
    struct detail why = {""};
    enum err e = session_run_script(db, file->sql, MIGRATE_FILE_MS, &why);
    if (e == ERR_OK && !db->in_transaction)
        e = detail_set(&why, ERR_INTERNAL, "it ends the transaction that it runs in");
    return e == ERR_OK ? e : detail_set(detail, e, "%s: %s", file->name, why.text);
}

static enum err apply_functions(struct db *db, struct work *work)
{
    const struct embedded_schema *schema = work->schema;
    AUTO_ROWS changed = NULL;
    enum err e =
        query_files(db, sql_functions, schema->functions, schema->function_count, &changed, work->detail);
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(changed, schema->function_count); row++) {
        const struct embedded_sql *file =
            &schema->functions[db_ordinal(changed, row, 0, schema->function_count)];
        e = run_file(db, file, work->detail);
        if (e == ERR_OK)
            e = db_query(db, DB_SQL(sql_record_function, DB_TEXT(file->name), DB_BYTEA(text_of(file))), NULL,
                work->detail);
        work->applied += e == ERR_OK;
    }
    return e;
}

static enum err apply_migrations(struct db *db, struct work *work, const struct db_rows *missing)
{
    enum err e = ERR_OK;
    for (size_t row = 0; e == ERR_OK && row < db_count_at_most(missing, work->schema->migration_count);
         row++) {
        const int32_t number = db_i32(missing, row, 0);
        const struct embedded_sql *file = &work->schema->migrations[number - 1];
        e = run_file(db, file, work->detail);
        if (e == ERR_OK)
            e = db_query(db,
                DB_SQL(sql_record_migration, DB_I32(number), DB_TEXT(file->name), DB_BYTEA(text_of(file))),
                NULL, work->detail);
        work->applied += e == ERR_OK;
    }
    return e;
}

static enum err tables_present(struct db *db, bool *present, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_present), &rows, detail);
    *present = e == ERR_OK && db_bool(rows, 0, 0);
    return e;
}

static enum err apply_all(struct db *db, struct work *work)
{
    const struct embedded_schema *schema = work->schema;
    AUTO_FREE char *limit_ms = mem_format("%d", MIGRATE_FILE_MS);
    AUTO_ROWS locked = NULL;
    AUTO_ROWS missing = NULL;
    bool present = false;
    enum err e = db_query(db, DB_SQL0(sql_lock), &locked, work->detail);
    if (e != ERR_OK)
        return e;
    work->locked = db_bool(locked, 0, 0);
    if (!work->locked)
        return ERR_OK;
    if ((e = tables_present(db, &present, work->detail)) != ERR_OK ||
        (e = db_query(db, DB_SQL(sql_settings, DB_TEXT(limit_ms)), NULL, work->detail)) != ERR_OK ||
        (!present && (e = session_run_script(db, script_tables, MIGRATE_FILE_MS, work->detail)) != ERR_OK) ||
        (e = query_files(db, sql_migrations, schema->migrations, schema->migration_count, &missing,
             work->detail)) != ERR_OK)
        return e;
    for (size_t row = 0; row < db_count_at_most(missing, DB_ANY_COUNT); row++)
        if ((e = check_missing(missing, row, work->detail)) != ERR_OK)
            return e;
    if ((e = apply_functions(db, work)) == ERR_OK && (e = apply_migrations(db, work, missing)) == ERR_OK &&
        work->applied > 0)
        e = session_run_script(db, script_revoke, MIGRATE_FILE_MS, work->detail);
    return e;
}

static enum err refuse_role(const struct db *db, struct detail *detail)
{
    const struct detail why = *detail;
    return detail_set(detail, ERR_REFUSED,
        "fairway migrate needs the owner's role (fairway_owner in docker/roles.sql), not %.40s: %s",
        PQuser(db->conn), why.text);
}

static enum err try_once(struct db *db, void *context)
{
    struct work *work = context;
    work->applied = 0;
    db->lock_refused = db->role_refused = false;
    enum err e = apply_all(db, work);
    if (e == ERR_INTERNAL && db->role_refused)
        e = refuse_role(db, work->detail);
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
        MIGRATE_RETRY_MS / 1000);
}

enum err migrate(
    struct db *direct, const struct embedded_schema *schema, size_t *applied, struct detail *detail)
{
    struct detail own = {""};
    struct work work = {.schema = schema, .detail = detail != NULL ? detail : &own};
    const int64_t deadline_ms = clock_ms() + MIGRATE_RETRY_MS;
    *applied = 0;
    for (;;) {
        work.blocked = false;
        enum err e = db_transaction(direct, try_once, &work, work.detail);
        if (e != ERR_OK && !work.blocked)
            return e;
        if (e == ERR_OK && work.locked) {
            *applied = work.applied;
            return ERR_OK;
        }
        if (clock_left_ms(deadline_ms) == 0)
            return give_up(&work);
        if (work.blocked)
            log_warn("the migration waits for a table lock; retrying", "detail=\"%s\"", work.detail->text);
        clock_sleep_ms(work.blocked ? LOCK_PAUSE_MS : OTHER_PROCESS_PAUSE_MS);
    }
}

enum err migrate_check(struct db *db, const struct embedded_schema *schema, struct detail *detail)
{
    AUTO_ROWS migrations = NULL;
    AUTO_ROWS functions = NULL;
    bool present = false;
    enum err e = tables_present(db, &present, detail);
    if (e != ERR_OK)
        return e;
    if (!present)
        return detail_set(detail, ERR_REFUSED, "the database has no schema: run fairway migrate");
    e = query_files(db, sql_migrations, schema->migrations, schema->migration_count, &migrations, detail);
    if (e == ERR_OK && db_count(migrations) > 0)
        e = check_missing(migrations, 0, detail);
    if (e == ERR_OK && db_count(migrations) > 0)
        return detail_set(detail, ERR_REFUSED, "migration %d is not applied: run fairway migrate",
            (int)db_i32(migrations, 0, 0));
    if (e == ERR_OK)
        e = query_files(db, sql_functions, schema->functions, schema->function_count, &functions, detail);
    if (e == ERR_OK && db_count(functions) > 0)
        return detail_set(detail, ERR_REFUSED,
            "the database's function %s is not that of this fairway: run fairway migrate of the newest "
            "version that uses this database",
            schema->functions[db_ordinal(functions, 0, 0, schema->function_count)].name);
    return e;
}
