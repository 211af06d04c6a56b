/* db.h when the server or the network fails: no call hangs, no outcome is guessed, and the connection
 * recovers. */
#include <dlfcn.h>
#include <libpq-fe.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/pg.h"
#include "support/proxy.h"
#include "slowness.h"

/* The longest that a call may take: 2 s to connect, 400 ms for a statement and a margin of 1 s. */
#define STATEMENT_TIMEOUT_MS 400
#define STATEMENT_BOUND_MS (STATEMENT_TIMEOUT_MS + 1000 + 400)
#define CONNECT_BOUND_MS (2000 + 600)

static struct test_db database;
static struct proxy *proxy;
static struct detail detail;

static int open_database(void **state)
{
    test_pg_start_private(state);
    database = test_db_new(TEST_DB_EMPTY);
    test_db_exec(&database, "CREATE TABLE public.t (n int8)");
    proxy = proxy_new(test_pg_port());
    return 0;
}

static int close_database(void **state)
{
    proxy_free(proxy);
    test_db_drop(&database);
    return test_pg_stop(state);
}

static struct db *open_through(unsigned port)
{
    AUTO_FREE char *credentials = mem_copy_text(test_pg_url());
    *strchr(credentials, '@') = '\0';
    AUTO_FREE char *url = mem_format("%s@127.0.0.1:%u/%s", credentials, port, database.name);
    return db_new(&(struct db_settings){.url = url,
        .name = "fairway failing",
        .connect_timeout_s = 2,
        .statement_timeout_ms = STATEMENT_TIMEOUT_MS});
}

static enum err run(struct db *db, const char *sql)
{
    return db_query(db, DB_SQL0(sql), NULL, &detail);
}

static int64_t rows_in_t(void)
{
    return test_db_number(&database, "SELECT count(*) FROM public.t");
}

static int empty_table(void **state)
{
    test_db_exec(&database, "TRUNCATE public.t");
    return 0;
}

/* Runs a transaction up to COMMIT on a pooled connection, so that the proxy sees the text of COMMIT. */
static struct db *about_to_commit(enum proxy_fault fault)
{
    struct db *db = open_through(proxy_port(proxy));
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    assert_int_equal(run(db, "INSERT INTO public.t VALUES (1)"), ERR_OK);
    proxy_arm(proxy, fault, "COMMIT");
    return db;
}

TEST(DR2_the_outcome_of_a_COMMIT_without_a_reply_is_unknown)
{
    AUTO_DB db = about_to_commit(PROXY_CUT_AFTER);
    assert_int_equal(db_commit(db, &detail), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(rows_in_t(), 1); /* it is committed */
    assert_int_equal(run(db, "SELECT 1"), ERR_OK);
}

TEST(DR2_the_outcome_of_a_lost_COMMIT_is_unknown)
{
    AUTO_DB db = about_to_commit(PROXY_CUT_BEFORE);
    assert_int_equal(db_commit(db, &detail), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(rows_in_t(), 0); /* it is not */
}

TEST(a_COMMIT_to_a_silent_server_returns_unknown_outcome_in_time)
{
    AUTO_DB db = about_to_commit(PROXY_SILENT);
    int64_t start_ms = clock_ms();
    assert_int_equal(db_commit(db, &detail), ERR_OUTCOME_UNKNOWN);
    assert_in_range(clock_ms() - start_ms, STATEMENT_TIMEOUT_MS, slower(STATEMENT_BOUND_MS));
}

static enum err insert_and_count(struct db *db, void *context)
{
    (*(int *)context)++;
    enum err e = run(db, "INSERT INTO public.t VALUES (1)");
    proxy_arm(proxy, PROXY_CUT_AFTER, "COMMIT"); /* not earlier: the text of BEGIN contains COMMITTED */
    return e;
}

TEST(a_transaction_is_not_retried_after_an_unknown_outcome)
{
    AUTO_DB db = open_through(proxy_port(proxy));
    int tries = 0;
    assert_int_equal(db_transaction(db, insert_and_count, &tries, &detail), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(tries, 1);
    assert_int_equal(rows_in_t(), 1);
}

/* The result that libpq has no memory for, counted from 1; 0: none. */
static int lost_result;

/* Called in place of libpq's. An error that libpq itself reports has no SQLSTATE. */
PGresult *PQgetResult(PGconn *conn)
{
    PGresult *(*next)(PGconn *) = (__typeof__(next))dlsym(RTLD_NEXT, "PQgetResult");
    PGresult *result = next(conn);
    if (result == NULL || lost_result == 0 || --lost_result > 0)
        return result;
    PQclear(result);
    return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
}

TEST(DX5_a_session_is_not_used_again_after_a_result_was_lost)
{
    AUTO_DB db = open_through(test_pg_port());
    static const char sql[] = "SELECT 1";
    assert_int_equal(db_connect(db, &detail), ERR_OK);
    lost_result = 1; /* of the preparation: the server has the statement */
    assert_int_equal(run(db, sql), ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(run(db, sql), ERR_OK);
}

TEST(DR2_the_outcome_of_a_COMMIT_whose_result_is_lost_is_unknown)
{
    AUTO_DB db = open_through(test_pg_port());
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    assert_int_equal(run(db, "INSERT INTO public.t VALUES (1)"), ERR_OK);
    lost_result = 1;
    assert_int_equal(db_commit(db, &detail), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(rows_in_t(), 1);
    assert_int_equal(run(db, "SELECT 1"), ERR_OK);
}

TEST(a_large_request_to_a_silent_server_times_out)
{
    const size_t len = 24 << 20; /* more than all buffers together */
    AUTO_FREE uint8_t *data = NEW_ARRAY(len, uint8_t);
    struct proxy *stuck = proxy_new(test_pg_port()); /* its only connection stays full */
    struct db *db = open_through(proxy_port(stuck));
    proxy_arm(stuck, PROXY_SILENT, "octet_length");
    int64_t start_ms = clock_ms();
    assert_int_equal(
        db_query(db, DB_SQL("SELECT octet_length($1)", DB_BYTEA(((struct bytes){data, len}))), NULL, &detail),
        ERR_DATABASE_UNAVAILABLE);
    assert_in_range(clock_ms() - start_ms, STATEMENT_TIMEOUT_MS, slower(STATEMENT_BOUND_MS + 2000));
    db_free(db);
    proxy_free(stuck);
}

TEST(DX7_a_stopped_server_times_out)
{
    struct db *open = open_through(test_pg_port()), *closed = open_through(test_pg_port());
    assert_int_equal(db_connect(open, &detail), ERR_OK);
    test_pg_freeze();
    int64_t start_ms = clock_ms();
    assert_int_equal(run(open, "SELECT 1"), ERR_DATABASE_UNAVAILABLE);
    assert_in_range(clock_ms() - start_ms, STATEMENT_TIMEOUT_MS, slower(STATEMENT_BOUND_MS));
    start_ms = clock_ms();
    assert_int_equal(db_connect(closed, &detail), ERR_DATABASE_UNAVAILABLE);
    assert_in_range(clock_ms() - start_ms, 1000, slower(CONNECT_BOUND_MS));
    test_pg_thaw();
    assert_int_equal(run(open, "SELECT 1"), ERR_OK);
    assert_int_equal(run(closed, "SELECT 1"), ERR_OK);
    db_free(open);
    db_free(closed);
}

TEST(DX7_the_connection_recovers_after_a_server_crash)
{
    struct db *in_transaction = open_through(test_pg_port()), *idle = open_through(test_pg_port());
    test_db_exec(&database, "TRUNCATE public.t");
    assert_int_equal(run(idle, "INSERT INTO public.t VALUES (1)"), ERR_OK);
    assert_int_equal(db_begin(in_transaction, &detail), ERR_OK);
    assert_int_equal(run(in_transaction, "INSERT INTO public.t VALUES (2)"), ERR_OK);
    test_pg_kill();
    assert_int_equal(run(in_transaction, "INSERT INTO public.t VALUES (3)"), ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(run(idle, "SELECT 1"), ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(run(idle, "SELECT 1"), ERR_DATABASE_UNAVAILABLE);
    test_pg_restart();
    assert_int_equal(run(idle, "SELECT 1"), ERR_OK);
    assert_int_equal(run(in_transaction, "INSERT INTO public.t VALUES (4)"), ERR_DATABASE_UNAVAILABLE);
    db_rollback(in_transaction);
    assert_int_equal(run(in_transaction, "SELECT 1"), ERR_OK);
    assert_int_equal(rows_in_t(), 1);
    db_free(in_transaction);
    db_free(idle);
}

static bool notified_within(struct db *db, int timeout_ms)
{
    bool notified;
    assert_int_equal(db_wait_notify(db, timeout_ms, -1, &notified, &detail), ERR_OK);
    return notified;
}

TEST(a_notification_ends_the_wait)
{
    AUTO_DB db = test_db_open(&database);
    assert_int_equal(db_listen(db, "released", &detail), ERR_OK);
    assert_true(notified_within(db, 1000)); /* a new session: a notification may have been missed */
    int64_t start_ms = clock_ms();
    assert_false(notified_within(db, 100));
    assert_in_range(clock_ms() - start_ms, 90, slower(400));
    test_db_exec(&database, "NOTIFY released; NOTIFY other");
    test_db_exec(&database, "NOTIFY released");
    start_ms = clock_ms();
    assert_true(notified_within(db, 5000));
    assert_in_range(clock_ms() - start_ms, 0, slower(1000));
    clock_sleep_ms(50);
    notified_within(db, 0);
    assert_false(notified_within(db, 50)); /* all are consumed */
    test_db_exec(&database, "NOTIFY released");
    clock_sleep_ms(50);
    assert_int_equal(run(db, "SELECT 1"), ERR_OK); /* read by another call */
    assert_true(notified_within(db, 0));
}

TEST(a_readable_wake_fd_ends_the_wait)
{
    int wake[2];
    bool notified;
    AUTO_DB db = test_db_open(&database);
    assert_int_equal(pipe(wake), 0);
    assert_int_equal(db_listen(db, "released", &detail), ERR_OK);
    assert_true(notified_within(db, 0));
    assert_int_equal(write(wake[1], "x", 1), 1);
    int64_t start_ms = clock_ms();
    assert_int_equal(db_wait_notify(db, 5000, wake[0], &notified, &detail), ERR_OK);
    assert_false(notified);
    assert_in_range(clock_ms() - start_ms, 0, slower(1000));
    close(wake[0]);
    close(wake[1]);
}

TEST(the_next_session_listens_again)
{
    AUTO_DB db = test_db_open(&database);
    bool notified;
    assert_int_equal(db_listen(db, "released", &detail), ERR_OK);
    assert_true(notified_within(db, 0));
    test_pg_kill();
    assert_int_equal(db_wait_notify(db, 5000, -1, &notified, &detail), ERR_DATABASE_UNAVAILABLE);
    assert_false(notified);
    test_pg_restart();
    assert_true(
        notified_within(db, 0)); /* one that was sent in between is lost, so the new session counts as one */
    assert_false(notified_within(db, 50));
    test_db_exec(&database, "NOTIFY released");
    assert_true(notified_within(db, 5000));
}

TEST(listening_begins_when_the_server_becomes_available)
{
    AUTO_DB db = test_db_open(&database);
    test_pg_kill();
    assert_int_equal(db_listen(db, "released", &detail), ERR_DATABASE_UNAVAILABLE);
    test_pg_restart();
    assert_true(notified_within(db, 0));
    test_db_exec(&database, "NOTIFY released");
    assert_true(notified_within(db, 5000));
}

TEST(each_host_of_the_URL_is_in_the_reason)
{
    AUTO_DB db = db_new(&(struct db_settings){
        .url = "postgresql://u:secret@127.0.0.1:1,127.0.0.1:2/x", .name = "fairway test"});
    assert_int_equal(run(db, "SELECT 1"), ERR_DATABASE_UNAVAILABLE);
    assert_string_equal(detail.text, "\"127.0.0.1\", port 1 failed: Connection refused; "
                                     "\"127.0.0.1\", port 2 failed: Connection refused");
}

TEST_FIXTURE(empty_table, NULL)
GROUP_FIXTURE(open_database, close_database)
