/*
 * The cost of grants, ledgers and housekeeping with a long history: the number of buffers that each touches
 * is bounded, whatever is in the tables of history and whatever the planner's statistics say. And which days
 * housekeeping drops.
 */
#include "support/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/retention.h"
#include "pool/settle.h"
#include "support/pool_rows.h"
#include "support/settle_alone.h"
#include "slowness.h"

#define DAY INT64_C(86400)
#define ACCOUNTS 200
#define DAYS 6
#define CHUNK 25000
/* A scan of a day before today takes 2,500 buffers, of today 1,200. */
#define BUFFERS_TO_FIND_NOTHING 600    /* six steps read the 67 pages of the pool */
#define BUFFERS_OF_AN_EMPTY_LEDGER 200 /* it reads the pool twice, 67 pages, to find expired leases */
#define BUFFERS_OF_A_GRANT 120
#define BUFFERS_OF_32_GRANTS 1600
#define BUFFERS_OF_A_LEDGER_OF_32 1600
#define WAL_OF_A_LEASE 5000 /* bytes, after a checkpoint; of which 1,700 for the accounts' pages */

/* Shared by the tests. */
static struct test_pool pool;

/* The environment variable FAIRWAY_HISTORY sets another number of leases; each day has as many. */
static int64_t leases_wanted(void)
{
    const char *wanted = getenv("FAIRWAY_HISTORY");
    return wanted != NULL ? atoll(wanted) / DAYS * DAYS : 300000;
}

/* Inserts the settled leases from number `from` on, at most CHUNK of them, with keys; time: SQL, in which n
 * is the lease's number. The envelope's size leaves no page with room for one more lease: each page that has
 * some would be written to. */
static void seed_chunk(const struct test_db *db, int64_t from, int64_t end, const char *time)
{
    test_db_execf(db,
        "SET session_replication_role = replica; SET synchronous_commit = off;"
        "WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time,"
        "   request_id, granted_at)"
        "   SELECT sha256(n::text::bytea), a.public_key, n, '', decode(repeat(md5(n::text), 11), 'hex'),"
        "   1, 'r', %s FROM generate_series(%lld, %lld) n"
        "   JOIN fairway.channel_accounts a ON a.slot = n %% %d RETURNING *),"
        " r AS (INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger, client,"
        "     ended_ledger, place)"
        "   SELECT l.hash, l.granted_at, 'confirmed', 'txSUCCESS', 1, l.client, l.sequence / 100, l.sequence "
        "%% 100"
        "   FROM l)"
        " INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)"
        " SELECT '', l.sequence::text, l.hash, l.hash, l.granted_at FROM l",
        time, (long long)from, (long long)(from + CHUNK < end ? from + CHUNK : end) - 1, ACCOUNTS);
}

/* Another hour of today (UTC). */
#define OTHER_HOUR                                                                                           \
    "date_trunc('day', now(), 'UTC') + interval '1 hour' * ((extract(hour FROM now() AT TIME ZONE"           \
    " 'UTC')::int + 12) % 24) + n % 3000 * interval '1 s'"

/* Inserts leases evenly over the 6 days before today, and CHUNK leases of today. */
static void seed_leases(const struct test_db *db, int64_t count)
{
    AUTO_FREE char *time = mem_format(
        "current_date - interval '%d days' + n * interval '%d days' / %lld", DAYS, DAYS, (long long)count);
    for (int64_t from = 0; from < count; from += CHUNK)
        seed_chunk(db, from, count, time);
    seed_chunk(db, count, INT64_MAX, OTHER_HOUR);
}

/* Inserts 2,500 ledgers of this age and moves the cursor to the last one. */
static void seed_ledgers(const struct test_db *db, const char *age)
{
    test_db_execf(db,
        "UPDATE fairway.ledgers SET committed_at = now() - interval '%s';"
        "INSERT INTO fairway.ledgers SELECT n, hash, previous_hash, protocol, close_time, 0, 0, NULL, "
        "committed_at"
        " FROM fairway.ledgers, generate_series(sequence + 1, sequence + 2500) n;"
        "UPDATE fairway.cursor SET sequence = sequence + 2500",
        age);
}

/* ---- costs */

static int64_t number(struct db *db, const char *sql)
{
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    if (db_query(db, (struct db_statement){sql, NULL, 0}, &rows, &detail) != ERR_OK)
        fail_msg("%s: %s", sql, detail.text);
    return db_i64(rows, 0, 0);
}

/* The buffers of fairway's tables and indexes that this transaction has touched. */
static const char sql_buffers[] =
    "SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int8 FROM pg_class c"
    " WHERE c.relnamespace = 'fairway'::regnamespace";

#define ASSERT_AT_MOST(what, buffers, most)                                                                  \
    do {                                                                                                     \
        int64_t touched = (buffers);                                                                         \
        print_message("%s: %lld buffers\n", what, (long long)touched);                                       \
        if (touched > (most))                                                                                \
            fail_msg("%s: %lld buffers, more than %d", what, (long long)touched, (most));                    \
    } while (0)

static struct db *begin(void)
{
    struct db *db = test_db_open(&pool.test);
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    return db;
}

/* Waits until the locks are released: the server may end a transaction later than its connection. */
static void end(struct db *db)
{
    db_rollback(db);
    db_free(db);
}

/* Records leases on the accounts of slots 0 to count - 1, with keys. */
static const char sql_grant[] =
    "SELECT fairway.record_leases(array_agg(sha256(convert_to(a.public_key || clock_timestamp(), 'UTF8'))), "
    "array_agg(a.public_key::text),"
    " array_agg(a.sequence + 1), array_agg(1::bigint), array_agg(''::text), array_agg('\\x00'::bytea),"
    " array_agg(2000000000::bigint), array_agg(0::bigint), array_agg('r'::text),"
    " array_agg(a.slot || clock_timestamp()::text), array_agg(sha256(''::bytea)),"
    " array_agg(0::bigint), array_agg(NULL::text), array_agg(NULL::bytea), array_agg(NULL::text),"
    " array_agg(0::bigint)) FROM fairway.channel_accounts a "
    "WHERE a.slot < $1";

static const char *const keys[] = {"77", "none"};

static void settle(struct db *db, size_t count)
{
    struct ledger_transaction *transactions AUTO_FREE = NEW_ARRAY(count, struct ledger_transaction);
    struct settled settled = {0};
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    const struct ledger ledger = {.sequence = 100000,
        .close_time_s = 1000000000,
        .transactions = transactions,
        .transaction_count = count};
    assert_int_equal(
        db_query(db,
            DB_SQL("SELECT a.public_key, a.lease_sequence, a.lease_hash FROM fairway.channel_accounts a"
                   " WHERE a.slot < $1",
                DB_I64((int64_t)count)),
            &rows, &detail),
        ERR_OK);
    for (size_t i = 0; i < count; i++) {
        transactions[i] = (struct ledger_transaction){.sequence = db_i64(rows, i, 1), .consumed = true};
        assert_int_equal(address_decode(db_text(rows, i, 0), &transactions[i].source), ERR_OK);
        memcpy(transactions[i].hash.bytes, db_bytea(rows, i, 2).data, sizeof transactions[i].hash.bytes);
    }
    if (settle_alone(db, &ledger, NULL, &settled, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(settled.confirmed, count);
}

static int64_t run_grant(struct db *db, int64_t count)
{
    struct detail detail = {0};
    const int64_t before = number(db, sql_buffers);
    if (db_query(db, DB_SQL(sql_grant, DB_I64(count)), NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    test_find_keys(db, keys, ARRAY_LEN(keys));
    return number(db, sql_buffers) - before;
}

static int64_t run_ledger(struct db *db, size_t count)
{
    const int64_t before = number(db, sql_buffers);
    settle(db, count);
    return number(db, sql_buffers) - before;
}

/* A session that has planned its statements while the tables of history were empty. */
static struct db *planned;

static int start_history(void **state)
{
    if (test_pg_start_private(state) != 0)
        return -1;
    test_pool_open(&pool, ACCOUNTS);
    test_db_execf(&pool.test, "SELECT fairway.add_partitions(current_date - %d, current_date)", DAYS);
    /* The tests decide when there are statistics, and no autovacuum holds a lock on a day that is to be
     * dropped. */
    test_db_exec(&pool.test,
        "DO $$ DECLARE each oid; BEGIN FOR each IN SELECT format('fairway.%I', name)::regclass"
        " FROM fairway.partitions LOOP"
        " EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', each::regclass); END LOOP; END $$");
    planned = begin();
    run_grant(planned, 32);
    run_ledger(planned, 32);
    db_rollback(planned);
    seed_leases(&pool.test, leases_wanted());
    seed_ledgers(&pool.test, "1 hour");
    return 0;
}

static int stop_history(void **state)
{
    db_free(planned);
    test_pool_close(&pool);
    return test_pg_stop(state);
}

/* In a transaction that is rolled back. */
static void assert_costs(struct db *db)
{
    test_find_keys(db, keys, ARRAY_LEN(keys)); /* planning reads the files of tables */
    ASSERT_AT_MOST("an empty ledger", run_ledger(db, 0), BUFFERS_OF_AN_EMPTY_LEDGER);
    ASSERT_AT_MOST("32 leases", run_grant(db, 32), BUFFERS_OF_32_GRANTS);
    ASSERT_AT_MOST("a ledger with 32 leases", run_ledger(db, 32), BUFFERS_OF_A_LEDGER_OF_32);
    ASSERT_AT_MOST("a lease", run_grant(db, 1), BUFFERS_OF_A_GRANT);
}

static void DX10_plans_that_were_made_for_empty_tables_are_good_for_full_ones(void **state)
{
    assert_int_equal(db_begin(planned, NULL), ERR_OK);
    assert_costs(planned);
    db_rollback(planned);
}

static void DX10_costs_do_not_depend_on_the_history_whatever_the_statistics_say(void **state)
{
    struct db *db = begin(); /* without statistics */
    assert_costs(db);
    end(db);
    test_db_exec(&pool.test, "ANALYZE");
    db = begin();
    assert_costs(db);
    end(db);
    /* by these statistics, all tables of history are empty */
    test_db_exec(&pool.test, "UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE relname ~ '_20[0-9]{6}'");
    db = begin();
    assert_costs(db);
    end(db);
}

/* After a checkpoint the first change of a page writes all of it to the WAL. Hashes are random, so leases
 * would spread over a whole day's indexes. */
static void DX10_leases_and_their_ends_write_to_few_pages_of_a_day(void **state)
{
    static const char sql_wal[] = "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8";
    test_db_exec(&pool.test, "CHECKPOINT");
    struct db *db = begin();
    const int64_t before = number(db, sql_wal);
    for (int batch = 0; batch < 10; batch++) {
        run_grant(db, 32);
        run_ledger(db, 32);
    }
    const int64_t bytes = (number(db, sql_wal) - before) / 320;
    end(db);
    print_message("a lease and its end: %lld bytes of WAL\n", (long long)bytes);
    assert_in_range(bytes, 1, WAL_OF_A_LEASE);
}

/* ---- which days, and which replica */

static size_t step(struct db *db, enum retention what, int64_t keep_seconds)
{
    struct detail detail = {0};
    size_t changed;
    if (retention_step(db, what, keep_seconds, 1000, &changed, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return changed;
}

static void exec(struct db *db, const char *sql)
{
    struct detail detail = {0};
    if (db_query(db, (struct db_statement){sql, NULL, 0}, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static int64_t leases_of_day(struct db *db, int days_ago)
{
    AUTO_ROWS rows = NULL;
    assert_int_equal(
        db_query(db,
            DB_SQL("SELECT count(*) FROM fairway.leases l WHERE l.granted_at >= current_date - $1::int4"
                   " AND l.granted_at < current_date - $1::int4 + 1",
                DB_I32(days_ago)),
            &rows, NULL),
        ERR_OK);
    return db_i64(rows, 0, 0);
}

static const char sql_keys_left[] =
    "SELECT count(*) FROM fairway.idempotency_keys k WHERE k.granted_at < current_date - 1";

/* Keys of the days before yesterday first, a day with each step; leases not before they are old. */
static void a_day_is_dropped_when_all_of_it_is_older_than_the_retention_time(void **state)
{
    struct db *db = begin();
    const int64_t before = number(db, sql_buffers);
    for (int day = DAYS; day > 1; day--)
        assert_int_equal(step(db, RETENTION_HISTORY, 7 * DAY), 1);
    assert_int_equal(step(db, RETENTION_HISTORY, 7 * DAY), 0);
    ASSERT_AT_MOST("dropping keys", number(db, sql_buffers) - before, BUFFERS_TO_FIND_NOTHING);
    assert_int_equal(number(db, sql_keys_left), 0);
    assert_int_equal(number(db, "SELECT count(*) FROM fairway.leases"), leases_wanted() + CHUNK);
    assert_int_equal(step(db, RETENTION_HISTORY, 4 * DAY), 3); /* leases, results and fee bumps of day 6 */
    assert_int_equal(step(db, RETENTION_HISTORY, 4 * DAY), 3); /* day 5 */
    assert_int_equal(step(db, RETENTION_HISTORY, 4 * DAY), 0);
    assert_int_equal(leases_of_day(db, 5), 0);
    assert_int_equal(leases_of_day(db, 4), leases_wanted() / DAYS);
    assert_int_equal(step(db, RETENTION_HISTORY, 0), 3);
    assert_int_equal(step(db, RETENTION_HISTORY, 0), 3);
    assert_int_equal(step(db, RETENTION_HISTORY, 0), 3);
    assert_int_equal(
        step(db, RETENTION_HISTORY, 0), 0); /* yesterday's leases have keys that are still found */
    assert_int_equal(leases_of_day(db, 1), leases_wanted() / DAYS);
    end(db);
}

/* Ledgers may have stopped for days. */
static void Z6_a_day_on_which_an_open_lease_was_granted_is_not_dropped(void **state)
{
    struct db *db = begin();
    static const char *const sql[] = {"SET LOCAL session_replication_role = replica",
        "INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id, "
        "granted_at)"
        " SELECT sha256('open'), a.public_key, 2, '', '', 1, 'r', current_date - 3 FROM "
        "fairway.channel_accounts a"
        " WHERE a.slot = 7",
        "UPDATE fairway.channel_accounts a SET lease_hash = sha256('open'), lease_client = '', "
        "lease_sequence = 2,"
        " lease_max_time = 1, locked_at = current_date - 3, locked_until = now() WHERE a.slot = 7"};
    for (size_t i = 0; i < ARRAY_LEN(sql); i++)
        exec(db, sql[i]);
    while (step(db, RETENTION_HISTORY, 0) > 0)
        ;
    assert_int_equal(leases_of_day(db, 4), 0);
    assert_int_equal(leases_of_day(db, 3), leases_wanted() / DAYS + 1);
    end(db);
}

/* The database's clock is three days ahead of the ledgers. */
static void a_day_is_over_when_the_last_ledger_says_so_too(void **state)
{
    struct db *db = begin();
    exec(db, "UPDATE fairway.cursor SET close_time = extract(epoch FROM current_date - 3)::int8 + 60");
    while (step(db, RETENTION_HISTORY, 0) > 0)
        ;
    assert_int_equal(leases_of_day(db, 5), 0);
    assert_int_equal(leases_of_day(db, 4), leases_wanted() / DAYS);
    exec(db, "DELETE FROM fairway.cursor");
    assert_int_equal(step(db, RETENTION_HISTORY, 0), 0);
    assert_int_equal(leases_of_day(db, 4), leases_wanted() / DAYS);
    end(db);
}

/* The role of fairway serve may call it with any argument. */
static void leases_and_keys_of_yesterday_and_today_stay_whatever_the_caller_asks(void **state)
{
    struct db *db = begin();
    while (number(db, "SELECT fairway.drop_history('-1000 days')") > 0)
        ;
    assert_int_equal(number(db, "SELECT count(*) FROM fairway.leases"), leases_wanted() / DAYS + CHUNK);
    assert_int_equal(leases_of_day(db, 1), leases_wanted() / DAYS);
    assert_int_equal(
        number(db, "SELECT count(*) FROM fairway.idempotency_keys"), leases_wanted() / DAYS + CHUNK);
    end(db);
}

static void partitions_of_the_next_7_days_are_made(void **state)
{
    struct db *db = begin();
    assert_int_equal(step(db, RETENTION_PARTITIONS, 0), 0);
    assert_int_equal(number(db, "SELECT (min(p.last) - current_date)::int8 FROM (SELECT max(day) AS last FROM"
                                " fairway.partitions GROUP BY parent) p"),
        RETENTION_DAYS_AHEAD);
    end(db);
}

static void ledgers_of_the_retention_time_and_the_cursors_stay(void **state)
{
    struct test_db test = test_db_new(TEST_DB_MIGRATED);
    struct db *db = test_db_open(&test);
    ledger_row(&test, 1);
    seed_ledgers(&test, "2 hours");
    assert_int_equal(step(db, RETENTION_LEDGERS, 7300), 0);
    assert_int_equal(step(db, RETENTION_LEDGERS, 7000), 1000);
    assert_int_equal(step(db, RETENTION_LEDGERS, 7000), 1000);
    assert_int_equal(step(db, RETENTION_LEDGERS, 7000), 500);
    assert_int_equal(step(db, RETENTION_LEDGERS, 7000), 0);
    assert_int_equal(
        number(db, "SELECT min(l.sequence) - min(c.sequence) FROM fairway.ledgers l, fairway.cursor c"), 0);
    end(db);
    test_db_drop(&test);
}

static void a_step_does_nothing_while_another_replica_runs_one(void **state)
{
    struct db *one = begin(), *other = test_db_open(&pool.test);
    static const enum retention steps[] = {RETENTION_PARTITIONS, RETENTION_HISTORY, RETENTION_LEDGERS};
    assert_int_equal(step(one, RETENTION_PARTITIONS, 0), 0);
    const int64_t begun_ms = clock_ms();
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        assert_int_equal(step(other, steps[i], 0), 0);
    assert_true(clock_ms() - begun_ms < slower(1500)); /* lock_timeout is 2 s */
    db_free(one);
    db_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DX10_plans_that_were_made_for_empty_tables_are_good_for_full_ones),
        cmocka_unit_test(DX10_costs_do_not_depend_on_the_history_whatever_the_statistics_say),
        cmocka_unit_test(DX10_leases_and_their_ends_write_to_few_pages_of_a_day),
        cmocka_unit_test(a_day_is_dropped_when_all_of_it_is_older_than_the_retention_time),
        cmocka_unit_test(Z6_a_day_on_which_an_open_lease_was_granted_is_not_dropped),
        cmocka_unit_test(a_day_is_over_when_the_last_ledger_says_so_too),
        cmocka_unit_test(leases_and_keys_of_yesterday_and_today_stay_whatever_the_caller_asks),
        cmocka_unit_test(partitions_of_the_next_7_days_are_made),
        cmocka_unit_test(a_step_does_nothing_while_another_replica_runs_one),
        cmocka_unit_test(ledgers_of_the_retention_time_and_the_cursors_stay),
    };
    return cmocka_run_group_tests_name("a long history", tests, start_history, stop_history);
}
