/* Parameters and columns of db.h on a real server: every type in both directions. */
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "support/pg.h"

static struct test_db database;
static struct detail detail;

static int open_database(void **state)
{
    test_pg_start(state);
    database = test_db_new(TEST_DB_EMPTY);
    return 0;
}

static int close_database(void **state)
{
    test_db_drop(&database);
    return test_pg_stop(state);
}

#define WITH_CONNECTION(db) for (struct db *db = test_db_open(&database); db != NULL; db_free(db), db = NULL)

TEST(single_values_are_returned_unchanged)
{
    static const uint8_t bytes[] = {0, 1, 0xff, '\\', '\''};
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        assert_int_equal(db_query(db,
                             DB_SQL("SELECT $1, $2, $3, $4, $5, $6, $7", DB_I64(INT64_MIN), DB_I64(INT64_MAX),
                                 DB_I32(INT32_MIN), DB_BOOL(true), DB_BOOL(false),
                                 DB_TEXT("g\xc3\xa4 'x' \\"), DB_BYTEA(BYTES_OF(bytes))),
                             &rows, &detail),
            ERR_OK);
        assert_int_equal(db_count(rows), 1);
        assert_true(db_i64(rows, 0, 0) == INT64_MIN);
        assert_true(db_i64(rows, 0, 1) == INT64_MAX);
        assert_true(db_i32(rows, 0, 2) == INT32_MIN);
        assert_true(db_bool(rows, 0, 3));
        assert_false(db_bool(rows, 0, 4));
        assert_string_equal(db_text(rows, 0, 5), "g\xc3\xa4 'x' \\");
        assert_true(bytes_equal(db_bytea(rows, 0, 6), BYTES_OF(bytes)));
    }
}

TEST(empty_is_not_null)
{
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        const struct bytes empty = {(const uint8_t *)"", 0};
        assert_int_equal(db_query(db,
                             DB_SQL("SELECT $1, $2, $3, $4, $5::int8, $1 = '', $2 = ''::bytea", DB_TEXT(""),
                                 DB_BYTEA(empty), DB_TEXT(NULL), DB_BYTEA((struct bytes){0}), DB_NONE),
                             &rows, &detail),
            ERR_OK);
        assert_string_equal(db_text(rows, 0, 0), "");
        assert_int_equal(db_bytea(rows, 0, 1).len, 0);
        assert_non_null(db_bytea(rows, 0, 1).data);
        for (int column = 0; column < 5; column++)
            assert_int_equal(db_is_null(rows, 0, column), column >= 2);
        assert_null(db_text(rows, 0, 2));
        assert_null(db_bytea(rows, 0, 3).data);
        assert_true(db_bool(rows, 0, 5));
        assert_true(db_bool(rows, 0, 6));
    }
}

TEST(arrays_keep_order_and_nulls)
{
    const int64_t longs[] = {INT64_MIN, 0, INT64_MAX};
    const char *const texts[] = {"a", NULL, ""};
    const struct bytes byteas[] = {{(const uint8_t *)"\0z", 2}, {NULL, 0}, {(const uint8_t *)"", 0}};
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        assert_int_equal(db_query(db,
                             DB_SQL("SELECT l, t, y FROM unnest($1, $2, $3)"
                                    " WITH ORDINALITY AS u (l, t, y, n) ORDER BY n",
                                 DB_I64S(longs, 3), DB_TEXTS(texts, 3), DB_BYTEAS(byteas, 3)),
                             &rows, &detail),
            ERR_OK);
        assert_int_equal(db_count(rows), 3);
        for (size_t i = 0; i < 3; i++) {
            assert_true(db_i64(rows, i, 0) == longs[i]);
            assert_int_equal(db_is_null(rows, i, 1), texts[i] == NULL);
            assert_int_equal(db_is_null(rows, i, 2), byteas[i].data == NULL);
            assert_true(bytes_equal(db_bytea(rows, i, 2), byteas[i]));
        }
        assert_string_equal(db_text(rows, 0, 1), "a");
        assert_string_equal(db_text(rows, 2, 1), "");
    }
}

TEST(empty_arrays_are_empty_and_typed)
{
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        assert_int_equal(
            db_query(db,
                DB_SQL("SELECT $1 = '{}', $2 = '{}', $3 = '{}', pg_typeof($1) = 'int8[]'::regtype,"
                       " pg_typeof($2) = 'text[]'::regtype, pg_typeof($3) = 'bytea[]'::regtype",
                    DB_I64S(NULL, 0), DB_TEXTS(NULL, 0), DB_BYTEAS(NULL, 0)),
                &rows, &detail),
            ERR_OK);
        for (int column = 0; column < 6; column++)
            assert_true(db_bool(rows, 0, column));
    }
}

TEST(a_null_may_stand_where_a_value_stood_before)
{
    static const char sql[] = "SELECT coalesce($1, 7::int8)";
    const struct db_param params[] = {DB_I64(3), DB_NONE, DB_I64(4)};
    const int64_t expected[] = {3, 7, 4};
    WITH_CONNECTION(db)
    {
        for (size_t i = 0; i < 3; i++) {
            AUTO_ROWS rows = NULL;
            assert_int_equal(db_query(db, (struct db_statement){sql, &params[i], 1}, &rows, &detail), ERR_OK);
            assert_int_equal(db_i64(rows, 0, 0), expected[i]);
        }
    }
}

TEST(the_affected_rows_are_counted)
{
    test_db_exec(&database, "CREATE TABLE public.counted (n int8)");
    WITH_CONNECTION(db)
    {
        AUTO_ROWS inserted = NULL;
        AUTO_ROWS deleted = NULL;
        AUTO_ROWS none = NULL;
        assert_int_equal(db_query(db, DB_SQL0("INSERT INTO public.counted SELECT generate_series(1, 1000)"),
                             &inserted, &detail),
            ERR_OK);
        assert_int_equal(db_count(inserted), 0);
        assert_int_equal(
            db_query(db, DB_SQL0("DELETE FROM public.counted WHERE n <= 10 RETURNING n"), &deleted, &detail),
            ERR_OK);
        assert_int_equal(db_count(deleted), 10);
        assert_int_equal(db_query(db, DB_SQL0("TRUNCATE public.counted"), &none, &detail), ERR_OK);
    }
}

TEST(large_values_are_sent_and_returned)
{
    const size_t len = 8 << 20;
    AUTO_FREE uint8_t *data = NEW_ARRAY(len, uint8_t);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    WITH_CONNECTION(db)
    {
        struct db_param param = DB_BYTEA(((struct bytes){data, len}));
        const struct db_statement one = {"SELECT $1", &param, 1};
        struct db_rows *rows[3];
        assert_int_equal(db_run(db, (const struct db_statement[]){one, one, one}, 3, rows, &detail), ERR_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_true(bytes_equal(db_bytea(rows[i], 0, 0), (struct bytes){data, len}));
            db_rows_free(rows[i]);
        }
    }
}

/* Runs read in a child and returns the exit status. */
static int exit_code_of(void (*read)(const struct db_rows *rows), const struct db_rows *rows)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        read(rows);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void read_int4_as_int8(const struct db_rows *rows)
{
    (void)db_i64(rows, 0, 0);
}

static void read_int4(const struct db_rows *rows)
{
    (void)db_i32(rows, 0, 0);
}

static void read_null(const struct db_rows *rows)
{
    (void)db_i32(rows, 0, 1);
}

static void read_next_row(const struct db_rows *rows)
{
    (void)db_i32(rows, 1, 0);
}

static void read_next_column(const struct db_rows *rows)
{
    (void)db_is_null(rows, 0, 2);
}

TEST(reading_a_column_of_another_type_ends_the_process)
{
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        assert_int_equal(db_query(db, DB_SQL0("SELECT 1::int4, NULL::int4"), &rows, &detail), ERR_OK);
        assert_int_equal(exit_code_of(read_int4, rows), 0);
        assert_int_equal(exit_code_of(read_int4_as_int8, rows), EX_SOFTWARE);
        assert_int_equal(exit_code_of(read_null, rows), EX_SOFTWARE);
        assert_int_equal(exit_code_of(read_next_row, rows), EX_SOFTWARE);
        assert_int_equal(exit_code_of(read_next_column, rows), EX_SOFTWARE);
    }
}

static void count_two(const struct db_rows *rows)
{
    (void)db_count_at_most(rows, 2);
}

static void index_two(const struct db_rows *rows)
{
    for (size_t row = 0; row < 2; row++)
        (void)db_ordinal(rows, row, 0, 2);
}

static void copy_three(const struct db_rows *rows)
{
    uint8_t bytes[3];
    db_copy(rows, 0, 0, bytes, sizeof bytes);
}

TEST(H16_more_rows_items_or_bytes_than_fit_end_the_process)
{
    static const char *const fit = "SELECT generate_series(1, 2)::int8";
    static const char *const more[] = {"SELECT generate_series(1, 3)::int8",
        "SELECT generate_series(0, 1)::int8", "SELECT generate_series(2, 3)::int8"};
    WITH_CONNECTION(db)
    {
        AUTO_ROWS rows = NULL;
        assert_int_equal(db_query(db, DB_SQL0(fit), &rows, &detail), ERR_OK);
        assert_int_equal(db_count_at_most(rows, 2), 2);
        assert_int_equal(db_ordinal(rows, 1, 0, 2), 1);
        for (size_t i = 0; i < ARRAY_LEN(more); i++) {
            AUTO_ROWS wrong = NULL;
            assert_int_equal(db_query(db, DB_SQL0(more[i]), &wrong, &detail), ERR_OK);
            assert_int_equal(exit_code_of(i == 0 ? count_two : index_two, wrong), EX_SOFTWARE);
        }
        for (size_t len = 2; len <= 5; len++) {
            AUTO_ROWS bytes = NULL;
            const char *const sql =
                len == 5 ? "SELECT NULL::bytea" : "SELECT substr('\\x01020304'::bytea, 1, $1)";
            assert_int_equal(
                db_query(db, (struct db_statement){sql, &DB_I32((int32_t)len), len != 5}, &bytes, &detail),
                ERR_OK);
            assert_int_equal(exit_code_of(copy_three, bytes), len == 3 ? 0 : EX_SOFTWARE);
        }
    }
}

GROUP_FIXTURE(open_database, close_database)
