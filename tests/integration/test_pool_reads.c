/* Reading the pool (pool_counts, account_read) and fee bumps (fee_bump). */
#include "check.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "pool/account_read.h"
#include "support/fee_bump.h"
#include "pool/pool_counts.h"
#include "pool/role.h"
#include "slowness.h"
#include "support/pool_rows.h"

static struct test_db database;
static struct db *db;
static struct detail detail;

static int open_database(void **state)
{
    database = test_db_new(TEST_DB_MIGRATED);
    db = test_db_open(&database);
    detail = (struct detail){0};
    return 0;
}

static int close_database(void **state)
{
    db_free(db);
    test_db_drop(&database);
    return 0;
}

/* Asserts the counts by state. */
static void assert_pool(struct pool_counts wanted)
{
    struct pool_counts pool;
    assert_int_equal(pool_counts_read(db, true, &pool, &detail), ERR_OK);
    assert_int_equal(pool.idle, wanted.idle);
    assert_int_equal(pool.leased, wanted.leased);
    assert_int_equal(pool.creating, wanted.creating);
    assert_int_equal(pool.retiring, wanted.retiring);
    assert_int_equal(pool.quarantined, wanted.quarantined);
}

TEST(each_account_is_counted_once_by_its_state)
{
    static const char *const states[] = {"active", "active", "active", "active", "active", "creating",
        "retiring", "retiring", "retiring", "retired", "quarantined", "quarantined"};
    for (unsigned n = 0; n < ARRAY_LEN(states); n++)
        account_row(&database, n, states[n]);
    lease_row(&database, 0, "", 0);
    lease_row(&database, 1, "", 0);
    lease_row(&database, 6, "", 0);  /* retiring */
    lease_row(&database, 10, "", 0); /* quarantined */
    assert_pool((struct pool_counts){.idle = 3, .leased = 2, .creating = 1, .retiring = 3, .quarantined = 2});
}

TEST(a_status_says_whether_any_account_is_active)
{
    struct pool_counts pool;
    account_row(&database, 1, "retiring");
    account_row(&database, 2, "quarantined");
    assert_int_equal(pool_counts_read(db, false, &pool, &detail), ERR_OK);
    assert_int_equal(pool.active, 0);
    account_row(&database, 3, "active");
    account_row(&database, 4, "active");
    assert_int_equal(pool_counts_read(db, false, &pool, &detail), ERR_OK);
    assert_int_equal(pool.active, 1);
    assert_int_equal(pool.quarantined, 0);
}

TEST(the_oldest_lease_counts_whatever_the_state_of_its_account)
{
    struct pool_counts pool;
    account_row(&database, 1, "active");
    account_row(&database, 2, "retiring");
    lease_row(&database, 1, "", 5);
    lease_row(&database, 2, "", 40);
    assert_int_equal(pool_counts_read(db, true, &pool, &detail), ERR_OK);
    assert_in_range(pool.oldest_lease_s, 40, 40 + slower(5000) / 1000);
    lease_row_end(&database, 2, "expired", NULL);
    assert_int_equal(pool_counts_read(db, true, &pool, &detail), ERR_OK);
    assert_in_range(pool.oldest_lease_s, 5, 5 + slower(5000) / 1000);
}

TEST(the_lag_is_the_databases_clock_less_the_close_time_and_may_be_negative)
{
    struct pool_counts pool;
    ledger_row(&database, 100);
    assert_int_equal(pool_counts_read(db, true, &pool, &detail), ERR_OK);
    assert_int_equal(pool.cursor_sequence, POOL_ROWS_LEDGER);
    assert_in_range(pool.cursor_lag_s, 100, 100 + slower(5000) / 1000);
    assert_int_equal(pool.grants.clock_s - pool.grants.close_time_s, pool.cursor_lag_s);
    test_db_exec(&database, "UPDATE fairway.cursor SET close_time = close_time + 200, grants_allowed = false,"
                            " grants_reason = 'test'");
    assert_int_equal(pool_counts_read(db, true, &pool, &detail), ERR_OK);
    assert_true(pool.cursor_lag_s >= -100 && pool.cursor_lag_s <= -100 + slower(5000) / 1000);
}

static struct account_shown page[ACCOUNT_PAGE_MAX];

static size_t read_page(const char *name, const char *after, size_t limit)
{
    size_t count;
    assert_int_equal(account_read_page(db, name, NULL, after, limit, page, &count, &detail), ERR_OK);
    return count;
}

TEST(a_status_selects_accounts_and_retired_ones_are_only_returned_by_it)
{
    static const char *const states[] = {
        "active", "active", "active", "creating", "retiring", "retired", "quarantined"};
    static const struct {
        const char *state;
        size_t count;
    } wanted[] = {{"idle", 2}, {"leased", 1}, {"creating", 1}, {"retiring", 1}, {"retired", 1},
        {"quarantined", 1}, {NULL, 6}};
    for (unsigned n = 0; n < ARRAY_LEN(states); n++)
        account_row(&database, n, states[n]);
    lease_row(&database, 0, "", 0);
    lease_row(&database, 4, "", 0);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_int_equal(read_page(wanted[i].state, "", ACCOUNT_PAGE_MAX), wanted[i].count);
        for (size_t k = 0; k < wanted[i].count && wanted[i].state != NULL; k++) {
            assert_string_equal(page[k].state, wanted[i].state);
            assert_int_equal(page[k].sequence, strcmp(wanted[i].state, "creating") == 0 ? -1 : 50);
        }
    }
}

static int64_t recorded(void)
{
    return test_db_number(&database, "SELECT count(*) FROM fairway.fee_bumps");
}

/* Items of every kind in one call, two of them the same fee bump. */
TEST(each_fee_bump_of_a_batch_has_its_own_result)
{
    struct fee_bump_item items[5], *all[5];
    for (unsigned n = 0; n < ARRAY_LEN(items); n++) {
        const unsigned account = n == 4 ? 3 : n;
        all[n] = &items[n];
        items[n] = (struct fee_bump_item){.lease = built_hash(account),
            .source = built_key(account),
            .sequence = INT64_MAX,
            .client = "",
            .hash = built_hash(100 + account),
            .fee_stroops = 400};
        if (n > 0 && n < 4) {
            account_row(&database, n, "active");
            lease_row(&database, n, "", 0);
        }
    }
    lease_row_end(&database, 2, "expired", NULL);
    assert_int_equal(fee_bumps_find(db, all, ARRAY_LEN(items), &detail), ERR_OK);
    const enum err found[] = {ERR_NOT_ELIGIBLE, ERR_OK, ERR_LEASE_EXPIRED, ERR_OK, ERR_OK};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_int_equal(items[i].error, found[i]);
    items[2].error = items[0].error = ERR_OK;
    lease_row_end(&database, 1, "confirmed", "txSUCCESS");
    assert_int_equal(fee_bumps_record(db, all, ARRAY_LEN(items), &detail), ERR_OK);
    const enum err kept[] = {ERR_LEASE_NOT_FOUND, ERR_LEASE_SETTLED, ERR_LEASE_EXPIRED, ERR_OK, ERR_OK};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_int_equal(items[i].error, kept[i]);
    assert_int_equal(recorded(), 1);
}

static void *record_bump(void *context)
{
    struct hash lease = built_hash(1), bump = built_hash(100);
    const struct public_key account = built_key(1);
    *(enum err *)context = fee_bump_record_one(db, &bump, &lease, &account, 400);
    return NULL;
}

/* Records a fee bump while a ledger transaction has ended the lease and has not committed yet. */
static enum err record_while_it_ends(const char *verdict)
{
    static const char sql_end[] = TEST_END_LEASES("'expired'", "NULL", "100", "true");
    AUTO_DB ledger = test_db_open(&database);
    enum err e = ERR_INTERNAL;
    pthread_t thread;
    account_row(&database, 1, "active");
    lease_row(&database, 1, "", 0);
    assert_int_equal(db_begin(ledger, &detail), ERR_OK);
    assert_int_equal(db_query(ledger, DB_SQL0(sql_end), NULL, &detail), ERR_OK);
    assert_int_equal(pthread_create(&thread, NULL, record_bump, &e), 0);
    test_db_await_lock_wait(&database, 1500); /* less than the lock timeout */
    assert_int_equal(recorded(), 0);
    if (strcmp(verdict, "commit") == 0)
        assert_int_equal(db_commit(ledger, &detail), ERR_OK);
    else
        db_rollback(ledger);
    pthread_join(thread, NULL);
    return e;
}

TEST(a_fee_bump_waits_for_the_ledger_transaction_that_ends_its_lease)
{
    assert_int_equal(record_while_it_ends("commit"), ERR_LEASE_EXPIRED);
    assert_int_equal(recorded(), 0);
}

TEST(after_a_ledger_rolled_back_its_lease_can_have_fee_bumps)
{
    assert_int_equal(record_while_it_ends("roll back"), ERR_OK);
    assert_int_equal(recorded(), 1);
}

static bool may_write(void)
{
    bool out = false;
    assert_int_equal(role_may_write(db, &out, &detail), ERR_OK);
    return out;
}

/* Runs the SQL as superuser; db has the role of the test from then on. */
static void become(const char *sql)
{
    db_disconnect(db);
    test_db_exec(&database, sql);
    assert_int_equal(db_query(db, DB_SQL0("SET ROLE fairway_pool_reader"), NULL, &detail), ERR_OK);
}

TEST(a_role_that_only_reads_is_told_from_one_that_may_write_or_owns)
{
    assert_true(may_write()); /* a superuser */
    become("CREATE ROLE fairway_pool_reader; GRANT USAGE ON SCHEMA fairway TO fairway_pool_reader;"
           "GRANT SELECT ON ALL TABLES IN SCHEMA fairway TO fairway_pool_reader");
    assert_false(may_write());
    become("GRANT UPDATE ON fairway.channel_accounts TO fairway_pool_reader");
    assert_true(may_write());
    become("REVOKE UPDATE ON fairway.channel_accounts FROM fairway_pool_reader");
    assert_false(may_write());
    become("ALTER SCHEMA fairway OWNER TO fairway_pool_reader");
    assert_true(may_write());
    db_disconnect(db);
    test_db_exec(&database, "ALTER SCHEMA fairway OWNER TO CURRENT_USER; DROP OWNED BY fairway_pool_reader;"
                            "DROP ROLE fairway_pool_reader");
}

TEST_FIXTURE(open_database, close_database)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
