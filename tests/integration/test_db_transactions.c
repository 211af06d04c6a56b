/* Transactions of db.h on a real server: what is atomic, what each error means, what is retried. */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/pg.h"
#include "slowness.h"

static struct test_db database;
static struct detail detail;

static int open_database(void **state)
{
    test_pg_start(state);
    database = test_db_new(TEST_DB_EMPTY);
    test_db_exec(&database,
        "CREATE TABLE public.t (n int8 PRIMARY KEY CHECK (n >= 0), v int8 DEFAULT 0);"
        "CREATE TABLE public.child (n int8 REFERENCES public.t DEFERRABLE INITIALLY DEFERRED);"
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no "
        "such'; END $$;"
        "CREATE TABLE public.guarded (n int8);"
        "CREATE TRIGGER g BEFORE INSERT ON public.guarded FOR EACH ROW EXECUTE FUNCTION public.refuse();"
        "CREATE SEQUENCE public.tries;");
    return 0;
}

static int close_database(void **state)
{
    test_db_drop(&database);
    return test_pg_stop(state);
}

static int empty_tables(void **state)
{
    memset(&detail, 0, sizeof detail);
    test_db_exec(&database, "TRUNCATE public.t, public.child; INSERT INTO public.t VALUES (1), (2);"
                            "ALTER SEQUENCE public.tries RESTART");
    return 0;
}

#define WITH_CONNECTION(db) for (struct db *db = test_db_open(&database); db != NULL; db_free(db), db = NULL)

static enum err run(struct db *db, const char *sql)
{
    return db_query(db, DB_SQL0(sql), NULL, &detail);
}

static int64_t rows_in_t(void)
{
    return test_db_number(&database, "SELECT count(*) FROM public.t");
}

TEST(a_rollback_leaves_nothing_and_a_commit_all)
{
    WITH_CONNECTION(db)
    {
        empty_tables(state);
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (3)"), ERR_OK);
        assert_int_equal(rows_in_t(), 2);
        db_rollback(db);
        db_rollback(db); /* a second one does nothing */
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (3)"), ERR_OK);
        assert_int_equal(db_commit(db, &detail), ERR_OK);
        assert_int_equal(rows_in_t(), 3);
    }
}

TEST(statements_of_one_run_are_one_transaction)
{
    WITH_CONNECTION(db)
    {
        const struct db_statement statements[] = {DB_SQL0("INSERT INTO public.t VALUES (7) RETURNING n"),
            DB_SQL0("INSERT INTO public.t VALUES (1)"), DB_SQL0("INSERT INTO public.t VALUES (8)")};
        struct db_rows *rows[3] = {(void *)1, (void *)1, (void *)1};
        assert_int_equal(db_run(db, statements, 3, rows, &detail), ERR_CONSTRAINT);
        assert_non_null(strstr(detail.text, "23505"));
        assert_int_equal(db_i64(rows[0], 0, 0), 7);
        assert_null(rows[1]);
        assert_null(rows[2]);
        db_rows_free(rows[0]);
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(run(db, "SELECT 1"), ERR_OK); /* and the connection is usable */
    }
}

TEST(BEGIN_is_sent_with_the_first_statements)
{
    WITH_CONNECTION(db)
    {
        const struct db_statement statements[] = {DB_BEGIN, DB_SQL0("INSERT INTO public.t VALUES (3)")};
        struct db_rows *rows[2];
        assert_int_equal(db_run(db, statements, 2, rows, &detail), ERR_OK);
        db_rows_free(rows[0]);
        db_rows_free(rows[1]);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (4)"), ERR_OK);
        assert_int_equal(rows_in_t(), 2);
        db_rollback(db);
        assert_int_equal(rows_in_t(), 2);
    }
}

TEST(run_commit_commits_all_or_nothing)
{
    WITH_CONNECTION(db)
    {
        empty_tables(state);
        struct db_rows *rows[2];
        const struct db_statement good[] = {DB_SQL0("INSERT INTO public.t VALUES (3)"),
            DB_SQL0("INSERT INTO public.t VALUES (4) RETURNING n")};
        const struct db_statement bad[] = {
            DB_SQL0("INSERT INTO public.t VALUES (5)"), DB_SQL0("INSERT INTO public.t VALUES (-1)")};
        assert_int_equal(db_run_commit(db, good, 2, rows, &detail), ERR_INTERNAL); /* without a transaction */
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(db_run_commit(db, good, 2, rows, &detail), ERR_OK);
        assert_int_equal(db_i64(rows[1], 0, 0), 4);
        db_rows_free(rows[0]);
        db_rows_free(rows[1]);
        assert_int_equal(rows_in_t(), 4);
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(db_run_commit(db, bad, 2, NULL, &detail), ERR_CONSTRAINT);
        db_rollback(db);
        assert_int_equal(rows_in_t(), 4);
        assert_int_equal(run(db, "SELECT 1"), ERR_OK);
    }
}

TEST(a_deferred_constraint_fails_the_COMMIT)
{
    WITH_CONNECTION(db)
    {
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.child VALUES (99)"), ERR_OK);
        assert_int_equal(db_commit(db, &detail), ERR_CONSTRAINT);
        assert_int_equal(db_begin(db, &detail), ERR_OK); /* the first one has ended */
        assert_int_equal(db_commit(db, &detail), ERR_OK);
    }
}

TEST(COMMIT_of_a_failed_transaction_is_an_error)
{
    WITH_CONNECTION(db)
    {
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (3)"), ERR_OK);
        assert_int_equal(run(db, "SELECT 1 / 0"), ERR_INTERNAL);
        assert_int_equal(db_commit(db, &detail), ERR_INTERNAL);
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(db_commit(db, &detail), ERR_INTERNAL); /* there is none */
    }
}

TEST(after_a_lost_connection_nothing_runs_outside_the_transaction)
{
    WITH_CONNECTION(db)
    {
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (3)"), ERR_OK);
        test_db_exec(&database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            " 'fairway test' AND state = 'idle in transaction'");
        clock_sleep_ms(50);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (4)"), ERR_DATABASE_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "57P01")); /* with the reason */
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (5)"), ERR_DATABASE_UNAVAILABLE);
        assert_int_equal(db_commit(db, &detail), ERR_DATABASE_UNAVAILABLE);
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(run(db, "SELECT 1"), ERR_OK);
    }
}

TEST(nothing_runs_when_the_connection_was_lost_during_BEGIN)
{
    WITH_CONNECTION(db)
    {
        const struct db_statement statements[] = {
            DB_BEGIN, DB_SQL0("SELECT pg_terminate_backend(pg_backend_pid())")};
        assert_int_equal(db_run(db, statements, 2, NULL, &detail), ERR_DATABASE_UNAVAILABLE);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (5)"), ERR_DATABASE_UNAVAILABLE);
        db_rollback(db);
        assert_int_equal(rows_in_t(), 2);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (5)"), ERR_OK);
        assert_int_equal(run(db, "DELETE FROM public.t WHERE n = 5"), ERR_OK);
    }
}

TEST(a_COMMIT_that_was_never_sent_is_certainly_not_committed)
{
    WITH_CONNECTION(db)
    {
        assert_int_equal(db_begin(db, &detail), ERR_OK);
        assert_int_equal(run(db, "INSERT INTO public.t VALUES (3)"), ERR_OK);
        AUTO_ROWS backend = NULL;
        assert_int_equal(db_query(db, DB_SQL0("SELECT pg_backend_pid()"), &backend, &detail), ERR_OK);
        test_db_exec(&database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            " 'fairway test' AND state = 'idle in transaction'");
        /* its socket closes with the process */
        for (int64_t deadline_ms = clock_ms() + slower(5000); kill(db_i32(backend, 0, 0), 0) == 0;)
            assert_true(clock_left_ms(deadline_ms) > 0);
        assert_int_equal(db_commit(db, &detail), ERR_DATABASE_UNAVAILABLE); /* not ERR_OUTCOME_UNKNOWN */
        assert_int_equal(rows_in_t(), 2);
    }
}

/* Two transactions that lock the rows 1 and 2 in opposite order. A barrier makes the first tries deadlock. */
struct locker {
    pthread_t thread;
    struct db *db;
    int64_t order[2];
    pthread_barrier_t *barrier;
    int tries;
    enum err e;
};

static enum err lock_both(struct db *db, void *context)
{
    struct locker *locker = context;
    locker->tries++;
    for (int i = 0; i < 2; i++) {
        enum err e = db_query(
            db, DB_SQL("UPDATE public.t SET v = v + 1 WHERE n = $1", DB_I64(locker->order[i])), NULL, NULL);
        if (e != ERR_OK)
            return e;
        if (i == 0 && locker->tries == 1)
            pthread_barrier_wait(locker->barrier);
    }
    return ERR_OK;
}

static void *run_locker(void *context)
{
    struct locker *locker = context;
    locker->e = db_transaction(locker->db, lock_both, locker, NULL);
    return NULL;
}

TEST(a_deadlock_is_retried)
{
    empty_tables(state);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    struct locker lockers[2] = {{.order = {1, 2}}, {.order = {2, 1}}};
    for (int i = 0; i < 2; i++) {
        lockers[i].barrier = &barrier;
        lockers[i].db = test_db_open(&database);
        assert_int_equal(pthread_create(&lockers[i].thread, NULL, run_locker, &lockers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(lockers[i].thread, NULL);
        assert_int_equal(lockers[i].e, ERR_OK);
        db_free(lockers[i].db);
    }
    assert_true(lockers[0].tries + lockers[1].tries >= 3); /* on a busy machine both may be victims */
    assert_int_equal(test_db_number(&database, "SELECT sum(v)::int8 FROM public.t"), 4);
    pthread_barrier_destroy(&barrier);
}

struct failing {
    enum err e;
    int tries;
};

static enum err fail_with(struct db *db, void *context)
{
    struct failing *failing = context;
    failing->tries++;
    return failing->e;
}

TEST(only_a_serialization_failure_is_retried)
{
    static const enum err errors[] = {
#define X(name, code, status, text) ERR_##name,
        ERR_TABLE(X)
#undef X
    };
    WITH_CONNECTION(db)
    {
        empty_tables(state);
        for (size_t i = 1; i < ARRAY_LEN(errors); i++) {
            struct failing failing = {.e = errors[i]};
            assert_int_equal(db_transaction(db, fail_with, &failing, &detail), errors[i]);
            assert_int_equal(failing.tries, errors[i] == ERR_SERIALIZATION ? 5 : 1);
        }
    }
}

/* Runs test with a connection that has short limits and one that holds a lock on row 1. */
static void with_short_limits(void (*test)(struct db *db, struct db *holder))
{
    AUTO_DB holder = test_db_open(&database);
    AUTO_DB db = db_new(&(struct db_settings){.url = database.url,
        .name = "fairway short",
        .statement_timeout_ms = 300,
        .lock_timeout_ms = 100,
        .idle_transaction_timeout_ms = 200});
    test(db, holder);
}

static void wait_for_lock(struct db *db, struct db *holder)
{
    assert_int_equal(db_begin(holder, &detail), ERR_OK);
    assert_int_equal(run(holder, "UPDATE public.t SET v = 9 WHERE n = 1"), ERR_OK);
    for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
        if (in_transaction)
            assert_int_equal(db_begin(db, &detail), ERR_OK);
        int64_t start_ms = clock_ms();
        assert_int_equal(run(db, "UPDATE public.t SET v = 8 WHERE n = 1"), ERR_DATABASE_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "55P03"));
        assert_in_range(clock_ms() - start_ms, 80, slower(290));
        db_rollback(db);
    }
}

TEST(lock_timeout_limits_a_wait_for_a_lock)
{
    with_short_limits(wait_for_lock);
}

static void run_long(struct db *db, struct db *holder)
{
    for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
        if (in_transaction)
            assert_int_equal(db_begin(db, &detail), ERR_OK);
        int64_t start_ms = clock_ms();
        assert_int_equal(run(db, "SELECT pg_sleep(20)"), ERR_DATABASE_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "57014"));
        assert_in_range(clock_ms() - start_ms, 250, slower(900));
        db_rollback(db);
    }
}

TEST(statement_timeout_limits_a_statement)
{
    with_short_limits(run_long);
}

static void idle_in_transaction(struct db *db, struct db *holder)
{
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    assert_int_equal(run(db, "UPDATE public.t SET v = 8 WHERE n = 1"), ERR_OK);
    clock_sleep_ms(400);
    assert_int_equal(
        run(holder, "UPDATE public.t SET v = 7 WHERE n = 1"), ERR_OK); /* the lock was released */
    assert_int_equal(run(db, "SELECT 1"), ERR_DATABASE_UNAVAILABLE);
    db_rollback(db);
    assert_int_equal(run(db, "SELECT 1"), ERR_OK);
}

TEST(idle_transaction_timeout_ends_a_stalled_transaction)
{
    with_short_limits(idle_in_transaction);
}

TEST_FIXTURE(empty_tables, NULL)
GROUP_FIXTURE(open_database, close_database)
