/*
 * Grants, ledgers and what reads the whole pool while another transaction keeps an old snapshot: no version
 * of a row can be removed, and what they cost must not grow with the versions. Counted are index entries that
 * scans have met, dead ones included, or pages.
 */
#include "support/pool.h"

#include <inttypes.h>

#include "base/mem.h"
#include "pool/pool_counts.h"
#include "pool/retention.h"

#define ACCOUNTS 16
#define ROUNDS 160

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

/* Index entries of the pool that this session's scans have met so far. */
static int64_t entries_met(struct test_pool *pool)
{
    struct detail detail = {0};
    AUTO_ROWS flushed = NULL;
    if (db_query(pool->db, DB_SQL0("SELECT pg_stat_force_next_flush()"), &flushed, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return test_db_number(&pool->test, "SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes"
                                       " WHERE relid = 'fairway.channel_accounts'::regclass");
}

/* Leases half of the pool and includes all of it in a ledger. */
static void turn(struct test_pool *pool)
{
    enum {
        COUNT = ACCOUNTS / 2
    };
    struct asked asked[COUNT];
    const struct lease *leases[COUNT];
    test_pool_grant_all(pool, asked, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        leases[i] = &asked[i].grant.lease;
    assert_int_equal(test_pool_include(pool->db, leases, COUNT).confirmed, COUNT);
    asked_wipe_all(asked, COUNT);
}

/* Begins a transaction that keeps its snapshot. */
static struct db *hold_snapshot(struct test_pool *pool)
{
    static const char *const statements[] = {"SET LOCAL idle_in_transaction_session_timeout = 0",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM fairway.channel_accounts"};
    struct db *db = test_db_open(&pool->test);
    struct detail detail = {0};
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        AUTO_ROWS rows = NULL;
        if (db_query(db, DB_SQL0(statements[i]), &rows, &detail) != ERR_OK)
            fail_msg("%s", detail.text);
    }
    return db;
}

static void DX9_leases_cost_the_same_under_an_old_snapshot(void **state)
{
    struct test_pool *pool = *state;
    struct db *foreign = hold_snapshot(pool);
    int64_t first = 0, last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t before = entries_met(pool);
        turn(pool);
        const int64_t met = entries_met(pool) - before;
        first += i < ROUNDS / 8 ? met : 0;
        last += i >= ROUNDS - ROUNDS / 8 ? met : 0;
    }
    const int64_t versions =
        test_db_number(&pool->test, "SELECT pg_relation_size('fairway.channel_accounts')") / ACCOUNTS;
    print_message("%d rounds: %" PRId64 " bytes an account, %" PRId64
                  " index entries met in the first rounds, %" PRId64 " in the last\n",
        ROUNDS, versions, first, last);
    assert_true(versions > 16000); /* else the snapshot did not hold */
    assert_in_range(last, 1, first * 3 / 2);
    db_rollback(foreign);
    db_free(foreign);
}

/* Makes this many new versions of each account. */
static void make_versions(struct test_pool *pool, unsigned count)
{
    AUTO_FREE char *sql = mem_format("DO $$ BEGIN FOR i IN 1 .. %u LOOP UPDATE fairway.channel_accounts"
                                     " SET locked_until = locked_until; COMMIT; END LOOP; END $$",
        count);
    test_db_exec(&pool->test, sql);
}

static int64_t pages_an_account(struct test_pool *pool)
{
    return test_db_number(&pool->test,
        "SELECT pg_relation_size('fairway.channel_accounts') / 8192 / (max(slot) + 1)"
        " FROM fairway.channel_accounts");
}

/* Pages of the pool's table and its indexes that this session has read so far. */
static int64_t pages_read(struct test_pool *pool)
{
    struct detail detail = {0};
    AUTO_ROWS flushed = NULL;
    if (db_query(pool->db, DB_SQL0("SELECT pg_stat_force_next_flush()"), &flushed, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return test_db_number(&pool->test,
        "SELECT (heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::int8"
        " FROM pg_statio_user_tables WHERE relid = 'fairway.channel_accounts'::regclass");
}

static void search(struct test_pool *pool)
{
    test_pool_close_ledger(pool->db, NULL); /* without an earlier search, so one is due */
}

static void count_accounts(struct test_pool *pool)
{
    struct pool_counts counts;
    assert_int_equal(pool_counts_read(pool->db, &counts, NULL), ERR_OK);
    assert_int_equal(counts.leased, ACCOUNTS / 2);
    assert_int_equal(counts.idle, ACCOUNTS / 2);
}

static void drop_history(struct test_pool *pool)
{
    size_t changed;
    assert_int_equal(retention_step(pool->db, RETENTION_HISTORY, 86400, 0, &changed, NULL), ERR_OK);
    assert_true(changed > 0); /* only a day that is old makes it read the accounts */
}

/* As the claim of a replica does while requests wait in another one. */
static void count_idle(struct test_pool *pool)
{
    AUTO_ROWS rows = NULL;
    test_db_exec(&pool->test, "INSERT INTO fairway.waiting VALUES (2, 100, 0, clock_timestamp())");
    assert_int_equal(
        db_query(pool->db, DB_SQL0("SELECT s.idle FROM fairway.share_of_idle(1, 100, '{}') s"), &rows, NULL),
        ERR_OK);
    assert_int_equal(db_i64(rows, 0, 0), ACCOUNTS / 2);
}

static void DX9_reads_of_the_whole_pool_cost_the_same_under_an_old_snapshot(void **state)
{
    static const struct {
        const char *what;
        void (*read)(struct test_pool *pool);
    } reads[] = {
        {"search", search}, {"counts", count_accounts}, {"history", drop_history}, {"idle", count_idle}};
    struct test_pool *pool = *state;
    struct asked asked[ACCOUNTS / 2];
    test_pool_grant_all(pool, asked, ACCOUNTS / 2);
    test_db_exec(&pool->test, "SELECT fairway.add_partitions(current_date - 12, current_date - 11)");
    struct db *foreign = hold_snapshot(pool);
    make_versions(pool, 1000);
    const int64_t size = pages_an_account(pool);
    assert_true(size > 20);
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        reads[i].read(pool); /* plans its statements */
        const int64_t before = pages_read(pool);
        reads[i].read(pool);
        const int64_t read = pages_read(pool) - before;
        print_message("%s: %" PRId64 " pages of %" PRId64 "\n", reads[i].what, read, size * ACCOUNTS);
        assert_in_range(read, 1, 6 * ACCOUNTS);
    }
    /* and it finds what a scan finds */
    const struct built_ledger late = {.close_time_s = (uint64_t)test_db_number(&pool->test,
                                          "SELECT max(lease_max_time) + 1 FROM fairway.channel_accounts")};
    assert_int_equal(test_pool_close_ledger(pool->db, &late).expired, ACCOUNTS / 2);
    db_rollback(foreign);
    db_free(foreign);
    asked_wipe_all(asked, ACCOUNTS / 2);
}

/* Whether a claim walks along the index, or looks each slot up. */
static bool claim_walks(struct test_pool *pool)
{
    static const char scans[] = "SELECT sum(idx_scan)::int8 FROM pg_stat_user_indexes"
                                " WHERE relid = 'fairway.channel_accounts'::regclass";
    entries_met(pool);
    const int64_t before = test_db_number(&pool->test, scans);
    assert_int_equal(
        db_query(pool->db, DB_SQL0("SELECT fairway.claim_accounts(1000, '{}')"), NULL, NULL), ERR_OK);
    entries_met(pool);
    const int64_t made = test_db_number(&pool->test, scans) - before;
    print_message("a claim of all %d accounts made %" PRId64 " index scans\n", ACCOUNTS, made);
    assert_in_range(made, 2, 2 + ACCOUNTS);
    return made < ACCOUNTS;
}

static void DX9_claims_take_the_walk_that_is_cheaper_for_the_versions_there_are(void **state)
{
    struct test_pool *pool = *state;
    assert_true(claim_walks(pool));
    struct db *foreign = hold_snapshot(pool);
    make_versions(pool, 1000);
    assert_false(claim_walks(pool));
    db_free(foreign);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(DX9_leases_cost_the_same_under_an_old_snapshot),
        TEST(DX9_reads_of_the_whole_pool_cost_the_same_under_an_old_snapshot),
        TEST(DX9_claims_take_the_walk_that_is_cheaper_for_the_versions_there_are),
    };
    return cmocka_run_group_tests_name("old snapshot", tests, test_pg_start, test_pg_stop);
}
