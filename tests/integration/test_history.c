/*
 * The cost of housekeeping and of ledgers with a long history: the number of buffers that each touches is
 * bounded, whatever is or was in the table of leases and whatever the planner's statistics say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "../../src/ingest/lead.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pool/retention.h"
#include "pool/settle.h"
#include "support/pool_rows.h"
#include "support/settle_honest.h"

#define DAY INT64_C(86400)
#define ACCOUNTS 200
#define CHUNK 25000
/* The rows of a step, and the buffers that it may touch. Deleting a lease takes about 5, with the index of
 * fee bumps; removing a key writes to every index. A scan of 300,000 leases takes 16,000. */
#define STEP 100
#define BUFFERS_TO_FIND_NOTHING 60
#define BUFFERS_OF_A_LEDGER 500
#define BUFFERS_TO_DELETE 1500
#define BUFFERS_TO_REMOVE_KEYS 4000

/* Shared by the tests; those that need rows unchanged run before those that delete. */
static struct test_db history;

/* The environment variable FAIRWAY_HISTORY sets another number of leases. */
static int64_t leases_wanted(void)
{
    const char *wanted = getenv("FAIRWAY_HISTORY");
    return wanted != NULL ? atoll(wanted) : 300000;
}

/* Rows are inserted several times faster without the indexes that are not constraints. */
static const char sql_drop_indexes[] =
    "CREATE TABLE public.indexes AS SELECT i.indexrelid::regclass::text AS name,"
    " pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i"
    " WHERE i.indrelid = 'fairway.leases'::regclass"
    " AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid);"
    "DO $$ DECLARE each text; BEGIN FOR each IN SELECT name FROM public.indexes LOOP"
    " EXECUTE 'DROP INDEX ' || each; END LOOP; END $$";
static const char sql_create_indexes[] =
    "DO $$ DECLARE each text; BEGIN FOR each IN SELECT definition FROM public.indexes LOOP"
    " EXECUTE each; END LOOP; END $$";

static void create_indexes(const struct test_db *test)
{
    struct detail detail = {0};
    struct db *db = db_new(&(struct db_settings){
        .url = test->url, .kind = DB_DIRECT, .name = "fairway test", .statement_timeout_ms = 600000});
    if (db_query(db, DB_SQL0(sql_create_indexes), NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    db_free(db);
}

/* Inserts settled leases with keys, evenly over the 6 days until a minute ago. */
static void seed_leases(const struct test_db *db, int64_t count)
{
    ledger_row(db, 1);
    for (unsigned n = 0; n < ACCOUNTS; n++)
        account_row(db, n, "active");
    test_db_exec(db, sql_drop_indexes);
    for (int64_t from = 0; from < count; from += CHUNK)
        test_db_execf(db,
            "SET session_replication_role = replica; SET synchronous_commit = off;"
            "INSERT INTO fairway.leases (hash, account, sequence, client, idempotency_key, request_digest,"
            " envelope, max_time, request_id, granted_at, settled_at, result, result_code, ledger)"
            " SELECT sha256(n::text::bytea), a.public_key, n, '', n::text, sha256(n::text::bytea),"
            " decode(repeat(md5(n::text), 12), 'hex'), 1, 'r', t.at - interval '10 s', t.at, 'confirmed',"
            " 'txSUCCESS', %d FROM generate_series(%lld, %lld) n"
            " JOIN fairway.channel_accounts a ON a.slot = n %% %d,"
            " LATERAL (SELECT now() - interval '6 days' + n * interval '6 days' / %lld - interval '1 min' "
            "AS at) t",
            POOL_ROWS_LEDGER, (long long)from, (long long)(from + CHUNK < count ? from + CHUNK : count) - 1,
            ACCOUNTS, (long long)count);
    create_indexes(db);
}

/* Inserts 2,500 ledgers of this age and moves the cursor to the last one. */
static void seed_ledgers(const struct test_db *db, const char *age)
{
    test_db_execf(db,
        "UPDATE fairway.ledgers SET committed_at = now() - interval '%s';"
        "INSERT INTO fairway.ledgers SELECT n, hash, previous_hash, protocol, close_time, 0, 0, committed_at"
        " FROM fairway.ledgers, generate_series(sequence + 1, sequence + 2500) n;"
        "UPDATE fairway.cursor SET sequence = sequence + 2500",
        age);
}

static int start_history(void **state)
{
    if (test_pg_start_private(state) != 0)
        return -1;
    history = test_db_new(TEST_DB_MIGRATED);
    /* the tests decide when there are statistics */
    test_db_exec(&history, "ALTER TABLE fairway.leases SET (autovacuum_enabled = off)");
    seed_leases(&history, leases_wanted());
    seed_ledgers(&history, "1 hour");
    return 0;
}

static int stop_history(void **state)
{
    test_db_drop(&history);
    return test_pg_stop(state);
}

/* ---- the cost of a step */

static int64_t number(struct db *db, const char *sql)
{
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    if (db_query(db, (struct db_statement){sql, NULL, 0}, &rows, &detail) != ERR_OK)
        fail_msg("%s: %s", sql, detail.text);
    return db_i64(rows, 0, 0);
}

static const char sql_buffers[] =
    "SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int8 FROM pg_class c"
    " WHERE c.relnamespace = 'fairway'::regnamespace";

/* Returns the buffers of fairway's tables and indexes that one step touches. db is in a transaction. */
static int64_t buffers_of(
    struct db *db, enum retention what, int64_t keep_seconds, int64_t limit, size_t expected_rows)
{
    struct detail detail = {0};
    size_t rows;
    const int64_t before = number(db, sql_buffers);
    if (retention_step(db, what, keep_seconds, limit, &rows, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(rows, expected_rows);
    return number(db, sql_buffers) - before;
}

#define ASSERT_AT_MOST(what, buffers, most)                                                                  \
    do {                                                                                                     \
        int64_t touched = (buffers);                                                                         \
        print_message("%s: %lld buffers\n", what, (long long)touched);                                       \
        if (touched > (most))                                                                                \
            fail_msg("%s: %lld buffers, more than %d", what, (long long)touched, (most));                    \
    } while (0)

static struct db *begin(void)
{
    struct db *db = test_db_open(&history, DB_DIRECT);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    return db;
}

static void assert_nothing_is_found(void)
{
    struct db *db = begin();
    ASSERT_AT_MOST(
        "no old lease", buffers_of(db, RETENTION_LEASES, 7 * DAY, STEP, 0), BUFFERS_TO_FIND_NOTHING);
    ASSERT_AT_MOST(
        "no old ledger", buffers_of(db, RETENTION_LEDGERS, 7 * DAY, STEP, 0), BUFFERS_TO_FIND_NOTHING);
    ASSERT_AT_MOST("no old key", buffers_of(db, RETENTION_KEYS, 7 * DAY, STEP, 0), BUFFERS_TO_FIND_NOTHING);
    db_free(db);
}

static void assert_steps_are_small(int64_t keep_seconds)
{
    struct db *db = begin();
    ASSERT_AT_MOST("keys of old leases", buffers_of(db, RETENTION_KEYS, keep_seconds, STEP, STEP),
        BUFFERS_TO_REMOVE_KEYS);
    ASSERT_AT_MOST(
        "old leases", buffers_of(db, RETENTION_LEASES, keep_seconds, STEP, STEP), BUFFERS_TO_DELETE);
    db_free(db);
}

static void where_nothing_is_old_a_step_reads_few_buffers(void **state)
{
    (void)state;
    assert_nothing_is_found(); /* without statistics */
    test_db_exec(&history, "ANALYZE fairway.leases");
    assert_nothing_is_found();
}

static void where_everything_is_old_a_step_reads_only_what_it_deletes(void **state)
{
    (void)state;
    assert_steps_are_small(DAY);
}

/* Index entries of deleted rows cannot be removed while an older snapshot may still see the rows. */
static void after_a_mass_deletion_a_step_does_not_read_the_deleted_rows(void **state)
{
    (void)state;
    const size_t many = 40000;
    struct db *reader = begin(), *db = test_db_open(&history, DB_DIRECT);
    size_t rows;
    assert_int_equal(
        db_query(reader, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), NULL, NULL), ERR_OK);
    assert_true(number(reader, "SELECT count(*) FROM fairway.ledgers") > 0);
    assert_int_equal(retention_step(db, RETENTION_KEYS, DAY, (int64_t)many / 4, &rows, NULL), ERR_OK);
    assert_int_equal(rows, many / 4);
    assert_int_equal(retention_step(db, RETENTION_LEASES, DAY, (int64_t)many, &rows, NULL), ERR_OK);
    assert_int_equal(rows, many);
    assert_steps_are_small(DAY);
    db_free(db);
    db_free(reader);
}

/* By the statistics, no row is as old as the step asks for. */
static void wrong_statistics_do_not_change_the_plan(void **state)
{
    (void)state;
    test_db_exec(&history, "ANALYZE fairway.leases; DELETE FROM fairway.housekeeping");
    for (int part = 0; part < 4; part++)
        test_db_execf(&history,
            "SET session_replication_role = replica; UPDATE fairway.leases"
            " SET settled_at = settled_at - interval '30 days', granted_at = granted_at - interval '30 days'"
            " WHERE sequence / 5000 = %d",
            20 + part);
    assert_steps_are_small(20 * DAY);
}

/* With statistics from a time when almost every lease was open, the planner would find the open ones by a
 * scan of the table. */
static void a_ledger_does_not_read_the_history_whatever_the_statistics_say(void **state)
{
    (void)state;
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    struct lead lead = {.db = test_db_open(&history, DB_DIRECT), .locks = lock_numbers_of(&network)};
    const struct ledger empty = {.sequence = POOL_ROWS_LEDGER + 1, .close_time_s = 1800000000};
    struct settled settled;
    struct detail detail = {0};
    test_db_exec(&history,
        "ANALYZE fairway.leases; UPDATE pg_statistic SET stanullfrac = 1 FROM pg_attribute a"
        " WHERE starelid = 'fairway.leases'::regclass AND a.attrelid = starelid"
        " AND a.attnum = staattnum AND a.attname IN ('settled_at', 'result', 'ledger')");
    assert_int_equal(lead_take(&lead, NULL), ERR_OK);
    assert_int_equal(db_begin(lead.db, NULL), ERR_OK);
    const int64_t before = number(lead.db, sql_buffers);
    if (settle_honest(lead.db, &empty, &settled, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    ASSERT_AT_MOST("an empty ledger", number(lead.db, sql_buffers) - before, BUFFERS_OF_A_LEDGER);
    lead_drop(&lead);
    db_free(lead.db);
}

/* ---- which rows, and which replica */

static void ledgers_of_the_retention_time_and_the_cursors_stay(void **state)
{
    (void)state;
    struct test_db test = test_db_new(TEST_DB_MIGRATED);
    struct db *db = test_db_open(&test, DB_DIRECT);
    size_t rows;
    ledger_row(&test, 1);
    seed_ledgers(&test, "2 hours");
    assert_int_equal(retention_step(db, RETENTION_LEDGERS, 7300, 1000, &rows, NULL), ERR_OK);
    assert_int_equal(rows, 0);
    for (size_t left = 2500; left > 0; left -= rows) {
        assert_int_equal(retention_step(db, RETENTION_LEDGERS, 7000, 1000, &rows, NULL), ERR_OK);
        assert_int_equal(rows, left < 1000 ? left : 1000);
    }
    assert_int_equal(retention_step(db, RETENTION_LEDGERS, 7000, 1000, &rows, NULL), ERR_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(
        number(db, "SELECT min(l.sequence) - min(c.sequence) FROM fairway.ledgers l, fairway.cursor c"), 0);
    db_free(db);
    test_db_drop(&test);
}

static void a_step_does_nothing_while_another_replica_runs_one(void **state)
{
    (void)state;
    struct db *other = test_db_open(&history, DB_DIRECT);
    static const enum retention steps[] = {RETENTION_LEASES, RETENTION_KEYS, RETENTION_LEDGERS};
    size_t rows;
    assert_int_equal(retention_step(other, RETENTION_LEASES, 7 * DAY, STEP, &rows, NULL),
        ERR_OK); /* inserts the row of housekeeping */
    struct db *one = begin();
    assert_int_equal(retention_step(one, RETENTION_LEASES, DAY, STEP, &rows, NULL), ERR_OK);
    assert_int_equal(rows, STEP);
    const int64_t begun_ms = clock_ms();
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        assert_int_equal(retention_step(other, steps[i], 0, STEP, &rows, NULL), ERR_OK);
        assert_int_equal(rows, 0);
    }
    assert_true(clock_ms() - begun_ms < 1500); /* lock_timeout is 2 s */
    db_free(one);
    db_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_is_old_a_step_reads_few_buffers),
        cmocka_unit_test(where_everything_is_old_a_step_reads_only_what_it_deletes),
        cmocka_unit_test(a_step_does_nothing_while_another_replica_runs_one),
        cmocka_unit_test(after_a_mass_deletion_a_step_does_not_read_the_deleted_rows),
        cmocka_unit_test(wrong_statistics_do_not_change_the_plan),
        cmocka_unit_test(a_ledger_does_not_read_the_history_whatever_the_statistics_say),
        cmocka_unit_test(ledgers_of_the_retention_time_and_the_cursors_stay),
    };
    return cmocka_run_group_tests_name("pool/retention, a long history", tests, start_history, stop_history);
}
