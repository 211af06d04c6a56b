/* Rules of db/migrate.h, with migrations of the test, and once with those of this binary. */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "../src/db/embedded.h"
#include "base/clock.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "support/pg.h"
#include "slowness.h"

static const struct embedded_sql two[] = {
    {"0001_first", "CREATE TABLE fairway.first (n integer); INSERT INTO fairway.first VALUES (1), (2);"},
    {"0002_second", "-- a comment; with a semicolon\nCREATE TABLE fairway.second (n integer);"},
};

/* A schema of these migrations, without functions. */
static struct embedded_schema schema_of(const struct embedded_sql *migrations, size_t count)
{
    return (struct embedded_schema){.migrations = migrations, .migration_count = count};
}

static enum err migrate_list(
    struct db *to, const struct embedded_sql *list, size_t count, size_t *out, struct detail *why)
{
    const struct embedded_schema schema = schema_of(list, count);
    return migrate(to, &schema, out, why);
}

static enum err migrate_check_list(
    struct db *of, const struct embedded_sql *list, size_t count, struct detail *why)
{
    const struct embedded_schema schema = schema_of(list, count);
    return migrate_check(of, &schema, why);
}

static struct test_db database;
static struct db *db;
static struct detail detail;
static size_t applied;

static int open_database(void **state)
{
    database = test_db_new(TEST_DB_EMPTY);
    db = test_db_open(&database);
    memset(&detail, 0, sizeof detail);
    return 0;
}

static int close_database(void **state)
{
    db_free(db);
    test_db_drop(&database);
    return 0;
}

TEST(each_migration_is_applied_once)
{
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 2);
    assert_int_equal(test_db_number(&database, "SELECT count(*) FROM fairway.first, fairway.migrations"), 4);
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 0);
    assert_int_equal(test_db_number(&database, "SELECT count(*) FROM fairway.first"), 2);
}

TEST(only_missing_migrations_are_applied)
{
    assert_int_equal(migrate_list(db, two, 1, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 1);
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 1);
}

TEST(a_failed_migration_leaves_nothing)
{
    const struct embedded_sql list[] = {two[0],
        {"0002_broken", "CREATE TABLE fairway.half (n integer); SELECT 1 / 0; CREATE TABLE fairway.rest ()"}};
    assert_int_equal(migrate_list(db, list, 2, &applied, &detail), ERR_INTERNAL);
    assert_int_equal(applied, 0);
    assert_non_null(strstr(detail.text, "0002_broken"));
    assert_non_null(strstr(detail.text, "division by zero"));
    assert_int_equal(
        test_db_number(&database, "SELECT (to_regclass('fairway.first') IS NULL)::int::int8"), 1);
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 2);
}

TEST(a_migration_that_ends_its_transaction_is_refused)
{
    const struct embedded_sql list[] = {{"0001_commits", "CREATE TABLE fairway.t (); COMMIT"}};
    assert_int_equal(migrate_list(db, list, 1, &applied, &detail), ERR_INTERNAL);
    assert_int_equal(applied, 0);
    assert_non_null(strstr(detail.text, "0001_commits"));
}

TEST(a_migration_whose_text_changed_is_refused)
{
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    const struct embedded_sql changed[] = {{"0001_first", "CREATE TABLE fairway.other ()"}, two[1]};
    assert_int_equal(migrate_list(db, changed, 2, &applied, &detail), ERR_REFUSED);
    assert_int_equal(migrate_check_list(db, changed, 2, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "migration 1"));
    const struct embedded_sql renamed[] = {two[0], {"0002_other", two[1].sql}};
    assert_int_equal(migrate_check_list(db, renamed, 2, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "migration 2"));
}

TEST(an_older_program_refuses_a_newer_database)
{
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(migrate_list(db, two, 1, &applied, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "migration 2"));
    assert_int_equal(migrate_check_list(db, two, 1, &detail), ERR_REFUSED);
    assert_int_equal(migrate_check_list(db, two, 0, &detail), ERR_REFUSED);
}

TEST(a_database_of_a_build_without_functions_is_refused)
{
    test_db_exec(&database,
        "CREATE SCHEMA fairway; CREATE TABLE fairway.migrations (number integer, name text,"
        " digest text); INSERT INTO fairway.migrations VALUES (1, '0001_first', 'other')");
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "use a new database"));
    assert_int_equal(migrate_check_list(db, two, 2, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "use a new database"));
}

#define SECRET(name, number)                                                                                 \
    "CREATE OR REPLACE FUNCTION fairway." name "() RETURNS int8 LANGUAGE sql SECURITY DEFINER"               \
    " SET search_path = pg_catalog, pg_temp AS 'SELECT count(*) + " number " FROM fairway.first'"

TEST(functions_are_applied_again_when_their_text_has_changed)
{
    const struct embedded_sql functions[] = {{"added", SECRET("added", "10")},
        {"other", SECRET("other", "20")}},
                              changed[] = {{"added", SECRET("added", "30")}, functions[1]};
    struct embedded_schema schema = {two, 2, functions, 2};
    assert_int_equal(migrate(db, &schema, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 4);
    assert_int_equal(migrate_check(db, &schema, &detail), ERR_OK);
    assert_int_equal(test_db_number(&database, "SELECT fairway.added()"), 12);
    schema.functions = changed;
    assert_int_equal(migrate_check(db, &schema, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "function added"));
    assert_int_equal(migrate(db, &schema, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 1);
    assert_int_equal(migrate_check(db, &schema, &detail), ERR_OK);
    assert_int_equal(test_db_number(&database, "SELECT fairway.added() + fairway.other()"), 54);
}

TEST(functions_are_not_for_everyone)
{
    static const char allowed[] = "SELECT count(*) FROM pg_proc p, aclexplode(coalesce(p.proacl,"
                                  " acldefault('f', p.proowner))) a WHERE p.pronamespace ="
                                  " 'fairway'::regnamespace AND a.grantee = 0";
    const struct embedded_sql functions[] = {{"added", SECRET("added", "10")}};
    const struct embedded_schema schema = {two, 2, functions, 1};
    assert_int_equal(migrate(db, &schema, &applied, &detail), ERR_OK);
    assert_int_equal(test_db_number(&database, allowed), 0);
    assert_int_equal(
        test_db_number(&database, "SELECT count(*) FROM pg_proc p WHERE p.proname = 'added'"), 1);
}

TEST(check_requires_exactly_the_migrations_of_this_binary)
{
    AUTO_DB pooled = test_db_open(&database);
    assert_int_equal(migrate_check_list(pooled, two, 2, &detail), ERR_REFUSED); /* never migrated */
    assert_non_null(strstr(detail.text, "fairway migrate"));
    assert_int_equal(migrate_list(db, two, 1, &applied, &detail), ERR_OK);
    assert_int_equal(migrate_check_list(pooled, two, 2, &detail), ERR_REFUSED);
    assert_non_null(strstr(detail.text, "migration 2 is not applied"));
    assert_int_equal(migrate_list(db, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(migrate_check_list(pooled, two, 2, &detail), ERR_OK);
}

struct runner {
    pthread_t thread;
    struct db *db;
    const struct embedded_sql *list; /* of two */
    enum err e;
    size_t applied;
};

static void *run_migrations(void *context)
{
    struct runner *runner = context;
    runner->e = migrate_list(runner->db, runner->list, 2, &runner->applied, NULL);
    return NULL;
}

TEST(several_processes_may_migrate_at_the_same_time)
{
    struct runner runners[8];
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(runners); i++) {
        runners[i] = (struct runner){.db = test_db_open(&database), .list = two};
        assert_int_equal(db_connect(runners[i].db, &detail), ERR_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(runners); i++)
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run_migrations, &runners[i]), 0);
    for (size_t i = 0; i < ARRAY_LEN(runners); i++) {
        pthread_join(runners[i].thread, NULL);
        assert_int_equal(runners[i].e, ERR_OK);
        total += runners[i].applied;
        db_free(runners[i].db);
    }
    assert_int_equal(total, 2);
}

static enum err read_first(struct db *reader)
{
    return db_query(reader, DB_SQL0("SELECT count(*) FROM fairway.first"), NULL, &detail);
}

TEST(a_migration_that_waits_for_a_lock_does_not_block_readers_and_is_retried)
{
    const struct embedded_sql list[] = {
        two[0], {"0002_alter", "ALTER TABLE fairway.first ADD COLUMN more integer"}};
    AUTO_DB reader = test_db_open(&database);
    AUTO_DB holder = db_new(
        &(struct db_settings){.url = database.url, .name = "holder", .idle_transaction_timeout_ms = 60000});
    struct runner runner = {.list = list,
        .db = db_new(&(struct db_settings){.url = database.url, .name = "migrate", .lock_timeout_ms = 300})};
    assert_int_equal(migrate_list(db, list, 1, &applied, &detail), ERR_OK);
    assert_int_equal(db_begin(holder, &detail), ERR_OK);
    assert_int_equal(read_first(holder), ERR_OK);
    assert_int_equal(pthread_create(&runner.thread, NULL, run_migrations, &runner), 0);
    for (int reads = 0; reads < 2; reads++) {
        const int64_t deadline_ms = clock_ms() + slower(10000);
        while (test_db_number(&database, "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation ="
                                         " 'fairway.first'::regclass") == 0 &&
               clock_left_ms(deadline_ms) > 0)
            clock_sleep_ms(20);
        assert_true(clock_left_ms(deadline_ms) > 0); /* it retries */
        assert_int_equal(read_first(reader), ERR_OK);
    }
    db_rollback(holder);
    pthread_join(runner.thread, NULL);
    assert_int_equal(runner.e, ERR_OK);
    assert_int_equal(runner.applied, 1);
    db_free(runner.db);
}

TEST(a_role_that_may_not_create_schemas_can_migrate_what_exists)
{
    assert_int_equal(migrate_list(db, two, 1, &applied, &detail), ERR_OK);
    test_db_exec(&database, "DROP ROLE IF EXISTS fairway_small; CREATE ROLE fairway_small LOGIN PASSWORD 'p';"
                            "GRANT ALL ON SCHEMA fairway TO fairway_small;"
                            "GRANT ALL ON ALL TABLES IN SCHEMA fairway TO fairway_small");
    AUTO_FREE char *url =
        mem_format("postgresql://fairway_small:p@127.0.0.1:%u/%s", test_pg_port(), database.name);
    struct db *small = db_new(&(struct db_settings){.url = url, .name = "small"});
    assert_int_equal(migrate_list(small, two, 2, &applied, &detail), ERR_OK);
    assert_int_equal(applied, 1);
    db_free(small);
    test_db_exec(&database, "DROP OWNED BY fairway_small; DROP ROLE fairway_small");
}

TEST(the_migrations_of_this_binary_are_applied_once)
{
    assert_true(embedded_schema.migration_count > 0 && embedded_schema.function_count > 0);
    assert_int_equal(migrate_check(db, &embedded_schema, &detail), ERR_REFUSED);
    assert_int_equal(migrate(db, &embedded_schema, &applied, &detail), ERR_OK);
    assert_int_equal(applied, embedded_schema.migration_count + embedded_schema.function_count);
    assert_int_equal(migrate_check(db, &embedded_schema, &detail), ERR_OK);
    struct test_db copy = test_db_new(TEST_DB_MIGRATED);
    struct db *other = test_db_open(&copy);
    assert_int_equal(migrate_check(other, &embedded_schema, &detail), ERR_OK);
    db_free(other);
    test_db_drop(&copy);
}

TEST_FIXTURE(open_database, close_database)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
