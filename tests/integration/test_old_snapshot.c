/*
 * Grants and ledgers while another transaction keeps an old snapshot: no version of a row can be removed, and
 * what they cost must not grow with the versions. Counted are index entries that scans have met, dead ones
 * included.
 */
#include "support/pool.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

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
    struct db *db = test_db_open(&pool->test, DB_DIRECT);
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
    assert_in_range(last, 1, 2 * first);
    db_rollback(foreign);
    db_free(foreign);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(DX9_leases_cost_the_same_under_an_old_snapshot),
    };
    return cmocka_run_group_tests_name("old snapshot", tests, test_pg_start, test_pg_stop);
}
