/* Sessions of db.h: settings whatever the role's defaults, prepared statements, reconnecting. */
#include <signal.h>
#include <string.h>

#include "check.h"
#include "../src/db/session.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/pg.h"
#include "slowness.h"

static struct test_db database;
static struct detail detail;

/* A role with hostile defaults, and a schema that shadows unqualified names. */
static int open_database(void **state)
{
    test_pg_start(state);
    database = test_db_new(TEST_DB_EMPTY);
    test_db_exec(&database,
        "DROP ROLE IF EXISTS fairway_hostile; CREATE ROLE fairway_hostile SUPERUSER LOGIN PASSWORD 'p';"
        "ALTER ROLE fairway_hostile SET default_transaction_isolation = 'serializable';"
        "ALTER ROLE fairway_hostile SET synchronous_commit = 'off';"
        "ALTER ROLE fairway_hostile SET search_path = evil, public, pg_catalog;"
        "ALTER ROLE fairway_hostile SET DateStyle = 'SQL, DMY';"
        "ALTER ROLE fairway_hostile SET TimeZone = 'America/New_York';"
        "ALTER ROLE fairway_hostile SET statement_timeout = 1000;"
        "ALTER ROLE fairway_hostile SET lock_timeout = 10;"
        "ALTER ROLE fairway_hostile SET idle_in_transaction_session_timeout = 1000;"
        "ALTER ROLE fairway_hostile SET bytea_output = 'escape';"
        "ALTER ROLE fairway_hostile SET jit = 'on';"
        "CREATE SCHEMA evil;"
        "CREATE FUNCTION evil.wrong(int8, int8) RETURNS bool LANGUAGE sql AS 'SELECT false';"
        "CREATE OPERATOR evil.= (LEFTARG = int8, RIGHTARG = int8, FUNCTION = evil.wrong);"
        "CREATE FUNCTION evil.set_config(text, text, bool) RETURNS text LANGUAGE sql AS 'SELECT $2';"
        "CREATE TABLE public.t (n int8)");
    return 0;
}

static int close_database(void **state)
{
    test_db_exec(&database, "DROP ROLE fairway_hostile");
    test_db_drop(&database);
    return test_pg_stop(state);
}

#define WITH_CONNECTION(db) for (struct db *db = test_db_open(&database); db != NULL; db_free(db), db = NULL)

static struct db *open_as(const char *user)
{
    AUTO_FREE char *url =
        mem_format("postgresql://%s:p@127.0.0.1:%u/%s", user, test_pg_port(), database.name);
    return db_new(&(struct db_settings){.url = url, .name = "fairway hostile"});
}

static const char sql_settings[] =
    "SELECT current_setting('search_path'), current_setting('synchronous_commit'), current_setting('jit'),"
    " current_setting('TimeZone'), current_setting('statement_timeout'), current_setting('lock_timeout'),"
    " current_setting('idle_in_transaction_session_timeout'), current_setting('transaction_isolation'),"
    " 1::int8 = 1::int8";

static void check_settings(struct db *db)
{
    const char *const expected[] = {
        "pg_catalog, pg_temp", "on", "off", "UTC", "5s", "2s", "5s", "read committed"};
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db, DB_SQL0(sql_settings), &rows, &detail), ERR_OK);
    for (int i = 0; i < (int)ARRAY_LEN(expected); i++)
        assert_string_equal(db_text(rows, 0, i), expected[i]);
    assert_true(db_bool(rows, 0, 8)); /* '=' is the built-in operator */
}

TEST(DL12_a_transaction_has_its_settings_whatever_the_role_defaults)
{
    AUTO_DB db = open_as("fairway_hostile");
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    check_settings(db);
    assert_int_equal(db_commit(db, &detail), ERR_OK);
}

/* The server also sends keepalives, so that locks of a dead host are released in half a minute. */
TEST(DL12_the_server_ends_a_direct_session_of_a_dead_host)
{
    static const char sql[] = "SELECT string_agg(concat_ws(' ', name, setting), ', ' ORDER BY name)"
                              " FROM pg_settings WHERE name LIKE 'tcp!_%' ESCAPE '!'";
    AUTO_DB db = open_as("fairway_hostile");
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db, DB_SQL0(sql), &rows, &detail), ERR_OK);
    assert_string_equal(db_text(rows, 0, 0), "tcp_keepalives_count 3, tcp_keepalives_idle 10,"
                                             " tcp_keepalives_interval 5, tcp_user_timeout 15000");
}

TEST(DL12_a_single_statement_has_the_settings_whatever_the_role_defaults)
{
    AUTO_DB db = open_as("fairway_hostile");
    check_settings(db);
}

TEST(DX10_no_plan_of_a_session_depends_on_statistics)
{
    static const char sql[] =
        "SELECT concat_ws(' ', current_setting('plan_cache_mode'), current_setting('enable_seqscan'),"
        " current_setting('enable_bitmapscan'), current_setting('enable_sort'),"
        " current_setting('enable_hashjoin'), current_setting('enable_mergejoin'),"
        " current_setting('max_parallel_workers_per_gather'))";
    AUTO_FREE char *url =
        mem_format("postgresql://fairway_hostile:p@127.0.0.1:%u/%s", test_pg_port(), database.name);
    AUTO_ROWS rows = NULL;
    AUTO_DB db = db_new(&(struct db_settings){.url = url, .name = "fairway hostile"});
    assert_int_equal(db_query(db, DB_SQL0(sql), &rows, &detail), ERR_OK);
    assert_string_equal(db_text(rows, 0, 0), "force_generic_plan off off off off off 0");
}

TEST(DL12_values_are_the_same_under_hostile_defaults)
{
    static const uint8_t bytes[] = {0, 0xff, '\\'};
    AUTO_DB db = open_as("fairway_hostile");
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db,
                         DB_SQL("SELECT $1, extract(epoch FROM date_trunc('day', to_timestamp($2)))::int8",
                             DB_BYTEA(BYTES_OF(bytes)), DB_I64(1700000000)),
                         &rows, &detail),
        ERR_OK);
    assert_true(bytes_equal(db_bytea(rows, 0, 0), BYTES_OF(bytes)));
    assert_int_equal(db_i64(rows, 0, 1), 1699920000); /* midnight in UTC */
}

static int64_t prepared_count(struct db *db)
{
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db,
                         DB_SQL0("SELECT count(*) FROM pg_prepared_statements"
                                 " WHERE statement LIKE 'SELECT \\$1 + 1%'"),
                         &rows, &detail),
        ERR_OK);
    return db_i64(rows, 0, 0);
}

static int64_t backend(struct db *db)
{
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db, DB_SQL0("SELECT pg_backend_pid()::int8"), &rows, &detail), ERR_OK);
    return db_i64(rows, 0, 0);
}

static void add_one(struct db *db, int64_t n, enum err expected)
{
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db, DB_SQL("SELECT $1 + 1", DB_I64(n)), &rows, &detail), expected);
    if (expected == ERR_OK)
        assert_true(db_i64(rows, 0, 0) == n + 1);
}

TEST(a_direct_connection_prepares_each_statement_once)
{
    AUTO_DB db = test_db_open(&database);
    for (int n = 0; n < 5; n++)
        add_one(db, n, ERR_OK);
    assert_int_equal(prepared_count(db), 1);
    db_disconnect(db);
    add_one(db, 7, ERR_OK); /* prepared again in the new session */
    assert_int_equal(prepared_count(db), 1);
}

TEST(the_same_statement_twice_in_one_run_is_prepared_once)
{
    AUTO_DB db = test_db_open(&database);
    const struct db_param one = DB_I64(1);
    const struct db_statement statement = {"SELECT $1 + 1 -- twice", &one, 1};
    struct db_rows *rows[2];
    assert_int_equal(
        db_run(db, (const struct db_statement[]){statement, statement}, 2, rows, &detail), ERR_OK);
    assert_true(db_i64(rows[1], 0, 0) == 2);
    db_rows_free(rows[0]);
    db_rows_free(rows[1]);
    assert_int_equal(prepared_count(db), 1);
}

TEST(a_statement_after_a_failed_one_can_be_prepared_later)
{
    AUTO_DB db = test_db_open(&database);
    const struct db_param one = DB_I64(1);
    const struct db_statement later = {"SELECT $1 + 1 -- later", &one, 1};
    const struct db_statement statements[] = {DB_SQL0("SELECT 1 / 0"), later};
    assert_int_equal(db_run(db, statements, 2, NULL, &detail), ERR_INTERNAL);
    assert_int_equal(db_query(db, later, NULL, &detail), ERR_OK);
    assert_int_equal(db_query(db, later, NULL, &detail), ERR_OK);
}

TEST(deallocated_statements_are_prepared_again)
{
    AUTO_DB db = test_db_open(&database);
    add_one(db, 1, ERR_OK);
    assert_int_equal(session_run_script(db, "DEALLOCATE ALL", 5000, &detail), ERR_OK);
    add_one(db, 1, ERR_SERIALIZATION);
    add_one(db, 1, ERR_OK);
}

static enum err select_all(struct db *db, void *context)
{
    AUTO_ROWS rows = NULL;
    (*(int *)context)++;
    return db_query(db, DB_SQL0("SELECT * FROM public.t LIMIT 0"), &rows, &detail);
}

TEST(a_plan_that_a_migration_invalidated_is_replanned)
{
    AUTO_DB db = test_db_open(&database);
    int tries = 0;
    assert_int_equal(db_transaction(db, select_all, &tries, &detail), ERR_OK);
    test_db_exec(&database, "ALTER TABLE public.t ADD COLUMN more int8");
    assert_int_equal(db_transaction(db, select_all, &tries, &detail), ERR_OK);
    assert_int_equal(tries, 3);
}

TEST(a_connection_closed_while_idle_is_reopened_without_an_error)
{
    WITH_CONNECTION(db)
    {
        int64_t before = backend(db);
        AUTO_FREE char *terminate = mem_format("SELECT pg_terminate_backend(%d)", (int)before);
        AUTO_FREE char *left =
            mem_format("SELECT count(*) FROM pg_stat_activity WHERE pid = %d", (int)before);
        test_db_exec(&database, terminate);
        /* its socket closes with the process, which may end a little later than it leaves the view */
        for (int64_t deadline_ms = clock_ms() + slower(5000);
             test_db_number(&database, left) != 0 || kill((pid_t)before, 0) == 0;)
            assert_true(clock_left_ms(deadline_ms) > 0);
        assert_true(backend(db) != before);
    }
}

TEST(a_server_that_takes_no_writes_is_unavailable)
{
    test_db_exec(&database,
        "DROP ROLE IF EXISTS fairway_reader; CREATE ROLE fairway_reader LOGIN PASSWORD 'p';"
        "ALTER ROLE fairway_reader SET default_transaction_read_only = on");
    struct db *db = open_as("fairway_reader");
    assert_int_equal(db_connect(db, &detail), ERR_DATABASE_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "read-only"));
    db_free(db);
    test_db_exec(&database, "DROP ROLE fairway_reader");
}

TEST(a_session_that_became_read_only_is_closed)
{
    WITH_CONNECTION(db)
    {
        int64_t before = backend(db);
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(db_query(db, DB_SQL0("SET TRANSACTION READ ONLY"), NULL, &detail), ERR_OK);
        assert_int_equal(db_query(db, DB_SQL0("INSERT INTO public.t VALUES (1)"), NULL, &detail),
            ERR_DATABASE_UNAVAILABLE);
        db_rollback(db);
        assert_true(backend(db) != before);
    }
}

/* Every command connects first. A client's reference in another script could not be stored, or would be cut
 * apart. */
TEST(a_database_that_does_not_store_UTF8_is_refused)
{
    test_db_exec(&database, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    AUTO_FREE char *url =
        mem_format("%.*s/latin", (int)(strrchr(database.url, '/') - database.url), database.url);
    struct db *db = db_new(&(struct db_settings){.url = url, .name = "latin"});
    assert_int_equal(db_connect(db, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "encoding is LATIN1: make one with ENCODING 'UTF8'"));
    db_free(db);
    test_db_exec(&database, "DROP DATABASE latin");
}

TEST(no_detail_contains_the_password)
{
    static const char *const urls[] = {
        "postgresql://fairway:S3cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3/cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:/S3cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3@S3cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3?cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3#cret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3%%zzcret@127.0.0.1:%u/postgres",
        "postgresql://fairway:S3[cret@127.0.0.1:%u/postgres",
        "postgresql://127.0.0.1:%u/postgres?user=fairway&password=S3cret",
        "postgresql://127.0.0.1:%u/postgres?user=fairway&passwort=S3cret",
        "host=127.0.0.1 port=%u user=fairway dbname=postgres password=S3cret",
        "host=127.0.0.1 port=%u user=fairway dbname=postgres password=S3 cret",
        "host=127.0.0.1 port=%u user=fairway dbname=postgres password='S3cret",
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        AUTO_FREE char *url = mem_format(urls[i], test_pg_port());
#pragma GCC diagnostic pop
        AUTO_DB db = db_new(&(struct db_settings){.url = url, .name = "leaky"});
        enum err e = db_connect(db, &detail);
        assert_true(e == ERR_DATABASE_UNAVAILABLE || e == ERR_CONFIG);
        assert_true(strlen(detail.text) > 20);
        assert_null(strstr(detail.text, "S3"));
        assert_null(strstr(detail.text, "cret"));
    }
}

TEST(a_malformed_url_is_a_configuration_error)
{
    AUTO_DB db = db_new(&(struct db_settings){.url = "postgresql://host:5432/x?nonsense=1", .name = "bad"});
    assert_int_equal(db_connect(db, &detail), ERR_CONFIG);
}

GROUP_FIXTURE(open_database, close_database)
