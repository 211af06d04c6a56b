/* Rules of db/locks.h and pool/oldest_snapshot.h: waits, holders of advisory locks and old snapshots, also
 * for a role without privileges. */
#include "check.h"

#include <fnmatch.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "db/locks.h"
#include "pool/oldest_snapshot.h"
#include "support/pool_rows.h"
#include "slowness.h"

static struct test_db database;
static struct db *db;
static struct detail detail;
static struct locks_report report;

static int open_database(void **state)
{
    database = test_db_new(TEST_DB_MIGRATED);
    db = test_db_open(&database);
    ledger_row(&database, 0);
    account_row(&database, 1, "active");
    return 0;
}

static int close_database(void **state)
{
    locks_report_free(&report);
    db_free(db);
    test_db_drop(&database);
    return 0;
}

static struct db *session(const char *name)
{
    struct db *other = db_new(&(struct db_settings){.url = database.url,
        .name = name,
        .lock_timeout_ms = 30000,
        .statement_timeout_ms = 30000,
        .idle_transaction_timeout_ms = 30000});
    assert_int_equal(db_connect(other, &detail), ERR_OK);
    return other;
}

static void run(struct db *other, struct db_statement statement)
{
    assert_int_equal(db_query(other, statement, NULL, &detail), ERR_OK);
}

static void begin(struct db *other, struct db_statement statement)
{
    assert_int_equal(db_begin(other, &detail), ERR_OK);
    run(other, statement);
}

static const char sql_row[] = "SELECT sequence FROM fairway.cursor FOR UPDATE";

static void *wait_for_row(void *context)
{
    struct db *waiter = context;
    if (db_begin(waiter, NULL) != ERR_OK || db_query(waiter, DB_SQL0(sql_row), NULL, NULL) != ERR_OK)
        return waiter;
    db_rollback(waiter);
    return NULL;
}

static void read_names(struct db *reader, const struct lock_name names[], size_t count)
{
    locks_report_free(&report);
    assert_int_equal(locks_read(reader, names, count, &report, &detail), ERR_OK);
}

static void read_with(struct db *reader)
{
    read_names(reader, NULL, 0);
}

/* Waits, for at most 10 s, until this many sessions wait for a lock. */
static void await_waits(struct db *reader, size_t count)
{
    int64_t deadline_ms = clock_ms() + slower(10000);
    do
        read_with(reader);
    while (db_count(report.waits) < count && clock_ms() < deadline_ms);
    assert_int_equal(db_count(report.waits), count);
}

static void assert_line(const struct db_rows *lines, size_t row, const char *pattern)
{
    assert_true(row < db_count(lines));
    if (fnmatch(pattern, db_text(lines, row, 0), 0) != 0)
        fail_msg("\"%s\" is not \"%s\"", db_text(lines, row, 0), pattern);
}

TEST(an_idle_database_has_an_empty_report)
{
    read_with(db);
    assert_int_equal(db_count(report.waits), 0);
    assert_int_equal(db_count(report.holders), 0);
    assert_int_equal(db_count(report.hidden), 0);
}

TEST(a_wait_shows_waiter_blocker_time_lock_and_query)
{
    struct db *holder = session("holder"), *waiter = session("waiter");
    pthread_t thread;
    void *failed;
    begin(holder, DB_SQL0(sql_row));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_row, waiter), 0);
    await_waits(db, 1);
    assert_line(report.waits, 0,
        "for 0.? s: row of fairway.cursor (ShareLock)\n"
        "    waiter:  * \"waiter\" (superuser, 127.0.0.1:*): active, waits for Lock:transactionid, in a "
        "transaction for 0.? s\n      SELECT sequence FROM fairway.cursor FOR UPDATE\n"
        "    blocker: * \"holder\" (superuser, 127.0.0.1:*): idle in transaction, waits for "
        "Client:ClientRead, in a "
        "transaction for 0.? s\n      SELECT sequence FROM fairway.cursor FOR UPDATE");
    assert_false(db_bool(report.waits, 0, 1));
    clock_sleep_ms(DB_LOCK_MS + 100);
    read_with(db);
    assert_line(report.waits, 0, "for ?.? s: row of fairway.cursor*");
    assert_true(db_bool(report.waits, 0, 1));
    db_rollback(holder);
    pthread_join(thread, &failed);
    assert_null(failed);
    read_with(db);
    assert_int_equal(db_count(report.waits), 0);
    db_free(holder);
    db_free(waiter);
}

TEST(a_table_lock_shows_its_table_and_each_waiter)
{
    struct db *holder = session("holder"), *waiters[] = {session("one"), session("two")};
    pthread_t threads[2];
    begin(holder, DB_SQL0("LOCK TABLE fairway.cursor IN ACCESS EXCLUSIVE MODE"));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_row, waiters[i]), 0);
        await_waits(db, i + 1);
    }
    for (size_t i = 0; i < 2; i++)
        assert_line(report.waits, i,
            "for *: relation fairway.cursor (RowShareLock)\n*waiter: *\n*blocker: * \"holder\" *");
    db_rollback(holder);
    for (size_t i = 0; i < 2; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        db_free(waiters[i]);
    }
    db_free(holder);
}

/* fairway waits for 2 s at most, and then tries again: at most times nobody waits. */
TEST(who_holds_a_table_or_its_rows_is_shown_though_nobody_waits)
{
    struct db *table = session("table"), *row = session("row"), *reader = session("reader");
    begin(table, DB_SQL0("LOCK TABLE fairway.channel_accounts IN ACCESS EXCLUSIVE MODE"));
    begin(row, DB_SQL0(sql_row));
    begin(reader, DB_SQL0("SELECT count(*) FROM fairway.ledgers"));
    read_with(db);
    assert_int_equal(db_count(report.holders), 0); /* as fairway does */
    clock_sleep_ms(DB_LOCK_MS + 100);
    read_with(db);
    assert_int_equal(db_count(report.waits), 0);
    assert_int_equal(db_count(report.holders), 2);
    assert_line(report.holders, 0, "table fairway.channel_accounts (AccessExclusiveLock): * \"table\" *");
    assert_line(report.holders, 1, "table fairway.cursor (RowShareLock): * \"row\" *");
    assert_true(db_bool(report.holders, 1, 1));
    db_free(table);
    db_free(row);
    db_free(reader);
}

TEST(holders_of_advisory_locks_are_shown_with_the_lock_names)
{
    static const struct lock_name names[] = {
        {.name = "leader", .number = -1234567890123456789},
        {.name = "other", .number = 42},
        {.name = "grants", .text = "fairway grants"},
    };
    struct db *leader = session("fairway ingest"), *grant = session("fairway grant");
    run(leader, DB_SQL("SELECT pg_try_advisory_lock($1)", DB_I64(names[0].number)));
    run(leader, DB_SQL0("SELECT pg_try_advisory_lock(7)")); /* a lock without a name */
    begin(grant, DB_SQL0("SELECT pg_try_advisory_xact_lock_shared(hashtext('fairway grants'))"));
    read_names(db, names, ARRAY_LEN(names));
    assert_int_equal(db_count(report.holders), 2);
    assert_line(report.holders, 0, "grants (ShareLock): * \"fairway grant\" *");
    assert_line(report.holders, 1, "leader (ExclusiveLock): * \"fairway ingest\" *");
    assert_false(db_bool(report.holders, 1, 1));
    db_free(leader);
    db_free(grant);
}

/* The line about a pin, or NULL. */
static const char *pin_of(const char *name)
{
    for (size_t i = 0; i < db_count(report.pins); i++)
        if (strstr(db_text(report.pins, i, 0), name) != NULL)
            return db_text(report.pins, i, 0);
    return NULL;
}

TEST(H15_the_oldest_snapshot_is_shown_with_its_age)
{
    AUTO_DB old = session("report that runs all night");
    read_with(db);
    assert_null(pin_of("report that runs all night"));
    test_db_execf(&database, "SELECT 1");
    begin(old, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"));
    run(old, DB_SQL0("SELECT count(*) FROM fairway.channel_accounts"));
    for (int i = 0; i < 3; i++)
        test_db_exec(&database, "UPDATE fairway.cursor SET term = term + 1");
    clock_sleep_ms(DB_LOCK_MS + 100);
    read_with(db);
    assert_line(report.pins, 0,
        "session for ?.? s, [3-9] transactions begun since: * \"report that runs all night\" *");
    db_rollback(old);
    read_with(db);
    assert_null(pin_of("report that runs all night"));
}

TEST(a_role_without_privileges_sees_how_many_sessions_are_hidden)
{
    AUTO_FREE char *name = mem_format("little_%s", database.name);
    test_db_execf(&database, "CREATE ROLE %s LOGIN PASSWORD 'x'", name);
    AUTO_FREE char *url =
        mem_format("postgresql://%s:x@127.0.0.1:%u/%s", name, test_pg_port(), database.name);
    struct db *little = db_new(&(struct db_settings){.url = url, .name = "little"});
    struct db *holder = session("holder"), *waiter = session("waiter");
    pthread_t thread;
    begin(holder, DB_SQL0(sql_row));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_row, waiter), 0);
    await_waits(little, 1);
    assert_line(report.waits, 0, "*blocker: * \"holder\" (*): hidden\n*");
    assert_line(report.hidden, 0, "the statements of [2-9] sessions *");
    db_rollback(holder);
    pthread_join(thread, NULL);
    db_free(holder);
    db_free(waiter);
    db_free(little);
    test_db_execf(&database, "DROP ROLE %s", name);
}

TEST(a_prepared_transaction_is_shown_as_blocker_and_as_held_snapshot)
{
    struct db *holder = session("holder"), *waiter = session("waiter");
    pthread_t thread;
    run(holder, DB_SQL0("BEGIN"));
    run(holder, DB_SQL0(sql_row));
    run(holder, DB_SQL0("UPDATE fairway.cursor SET term = term + 1"));
    run(holder, DB_SQL0("PREPARE TRANSACTION 'forgotten'"));
    db_free(holder);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_row, waiter), 0);
    await_waits(db, 1);
    assert_line(report.waits, 0, "*\n*waiter: * \"waiter\" *\n*blocker: a prepared transaction");
    assert_null(pin_of("forgotten"));
    clock_sleep_ms(DB_LOCK_MS + 100);
    read_with(db);
    assert_non_null(strstr(pin_of("forgotten"), "prepared transaction forgotten for "));
    run(db, DB_SQL0("ROLLBACK PREPARED 'forgotten'"));
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    db_free(waiter);
}

/* ---- pool/oldest_snapshot.h */

static struct db *open_serving_role(const char *name)
{
    test_db_execf(&database,
        "CREATE ROLE %s LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA fairway TO %s;"
        " GRANT SELECT ON fairway.ledgers TO %s",
        name, name, name);
    AUTO_FREE char *url =
        mem_format("postgresql://%s:x@127.0.0.1:%u/%s", name, test_pg_port(), database.name);
    struct db *role = db_new(&(struct db_settings){.url = url, .name = "serving"});
    assert_int_equal(db_connect(role, &detail), ERR_OK);
    return role;
}

static struct oldest_snapshot oldest(struct db *reader)
{
    struct oldest_snapshot snapshot;
    if (oldest_snapshot_read(reader, &snapshot, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return snapshot;
}

static void add_ledger(unsigned sequence, unsigned age_s)
{
    test_db_execf(&database,
        "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count,"
        " committed_at) SELECT %u, hash, 28, 1, 0, clock_timestamp() - interval '%u s'"
        " FROM fairway.ledgers WHERE sequence = %d",
        sequence, age_s, POOL_ROWS_LEDGER);
}

static void take_snapshot(struct db *other)
{
    begin(other, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"));
    run(other, DB_SQL0("SELECT count(*) FROM fairway.channel_accounts"));
}

/* The serving role may not see when the transactions of others began. */
TEST(DX9_the_oldest_snapshot_is_as_old_as_the_first_ledger_after_it)
{
    AUTO_FREE char *name = mem_format("serving_%s", database.name);
    struct db *role = open_serving_role(name), *old = session("a long report"), *later = session("later");
    add_ledger(POOL_ROWS_LEDGER + 1, 900);
    assert_int_equal(oldest(role).age_s, 0);
    take_snapshot(old);
    assert_int_equal(oldest(role).age_s, 0);
    add_ledger(POOL_ROWS_LEDGER + 2, 700);
    take_snapshot(later);
    add_ledger(POOL_ROWS_LEDGER + 3, 300);
    const struct oldest_snapshot found = oldest(role);
    assert_in_range(found.age_s, 700, 720);
    assert_string_equal(found.what, "session");
    assert_string_equal(found.name, "a long report");
    assert_string_equal(found.user, "superuser");
    assert_true(found.pid > 0);
    read_with(role); /* fairway locks shows it too */
    assert_non_null(pin_of("a long report"));
    db_rollback(old);
    assert_in_range(oldest(role).age_s, 300, 320);
    db_rollback(later);
    assert_int_equal(oldest(role).age_s, 0);
    assert_string_equal(oldest(role).what, "");
    db_free(old);
    db_free(later);
    db_free(role);
    test_db_execf(&database, "DROP OWNED BY %s; DROP ROLE %s", name, name);
}

/* Snapshots that were taken meanwhile are as old as the transaction that has not ended. */
TEST(DX9_a_forgotten_transaction_is_found_behind_the_snapshots_that_it_makes_old)
{
    struct db *writer = session("writer"), *reader = session("reader");
    take_snapshot(reader);
    db_rollback(reader);
    begin(writer, DB_SQL0("UPDATE fairway.channel_accounts SET sealed_seed = sealed_seed"));
    take_snapshot(reader);
    add_ledger(POOL_ROWS_LEDGER + 1, 500);
    assert_string_equal(oldest(db).name, "writer");
    assert_in_range(oldest(db).age_s, 500, 520);
    run(writer, DB_SQL0("PREPARE TRANSACTION 'forgotten'"));
    db_free(writer);
    assert_string_equal(oldest(db).what, "prepared transaction");
    assert_string_equal(oldest(db).name, "forgotten");
    db_rollback(reader);
    run(db, DB_SQL0("ROLLBACK PREPARED 'forgotten'"));
    assert_int_equal(oldest(db).age_s, 0);
    db_free(reader);
}

TEST(DX9_a_snapshot_in_another_database_keeps_nothing_here)
{
    struct test_db elsewhere = test_db_new(TEST_DB_EMPTY);
    struct db *other = test_db_open(&elsewhere);
    begin(other, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"));
    run(other, DB_SQL0("SELECT count(*) FROM pg_class"));
    add_ledger(POOL_ROWS_LEDGER + 1, 500);
    assert_int_equal(oldest(db).age_s, 0);
    db_free(other);
    test_db_drop(&elsewhere);
}

/* Prepared transactions are disabled by default. */
static int start_server(void **state)
{
    int failed = test_pg_start_private(state);
    struct test_db postgres = {.url = (char *)(uintptr_t)test_pg_url()};
    if (failed == 0) {
        test_db_exec(&postgres, "ALTER SYSTEM SET max_prepared_transactions = 2");
        test_pg_kill();
        test_pg_restart();
    }
    return failed;
}

TEST_FIXTURE(open_database, close_database)
GROUP_FIXTURE(start_server, test_pg_stop)
