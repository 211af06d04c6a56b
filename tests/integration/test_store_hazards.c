/*
 * Hazards of the tables of leases and accounts: time zones (H3), HOT updates (H15), claims at once
 * (DL16), keys of locked rows (Z3), the order of locks (DL12), a grant or release in two transactions (Z7).
 */
#include "support/pool.h"

#include <pthread.h>

#include "../../include/pool/accounts.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/fee_bump.h"
#include "slowness.h"

#define ACCOUNTS 6

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

TEST(H3_DL11_the_end_of_a_lease_does_not_depend_on_the_time_zone)
{
    struct test_pool *pool = *state;
    static const char *const zones[] = {
        "UTC", "America/New_York", "Pacific/Kiritimati", "Asia/Kolkata", "Pacific/Marquesas"};
    struct asked asked[ARRAY_LEN(zones)];
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        AUTO_FREE char *set = mem_format("ALTER DATABASE %s SET timezone = '%s'", pool->test.name, zones[i]);
        test_db_exec(&pool->test, set);
        db_free(pool->db);
        pool->db = test_db_open(&pool->test);
        test_pool_grant_all(pool, &asked[i], 1);
        /* read in a session with another time zone */
        AUTO_FREE char *look =
            mem_format("SET timezone = '%s'; DO $$ BEGIN ASSERT (SELECT count(*) FROM fairway.lease_history l"
                       " JOIN fairway.channel_accounts a ON a.lease_hash = l.hash AND a.lease_max_time ="
                       " l.max_time AND a.locked_at <= clock_timestamp()"
                       " AND a.locked_at > clock_timestamp() - interval '1 minute') = %zu; END $$",
                zones[(i + 1) % ARRAY_LEN(zones)], i + 1);
        test_db_exec(&pool->test, look);
    }
    assert_int_equal(leased_accounts(pool), ARRAY_LEN(zones));
    asked_wipe_all(asked, ARRAY_LEN(zones));
}

/* Leases all accounts this many times. A ledger settles all leases of a round. */
static void cycle(struct test_pool *pool, size_t rounds)
{
    for (size_t round = 0; round < rounds; round++) {
        struct asked asked[ACCOUNTS];
        const struct lease *leases[ACCOUNTS];
        test_pool_grant_all(pool, asked, ACCOUNTS);
        for (size_t i = 0; i < ACCOUNTS; i++)
            leases[i] = &asked[i].grant.lease;
        assert_int_equal(test_pool_include(pool->db, leases, ACCOUNTS).released, ACCOUNTS);
        asked_wipe_all(asked, ACCOUNTS);
    }
}

TEST(H15_updates_of_accounts_are_HOT)
{
    struct test_pool *pool = *state;
    const size_t rounds = 100;
    cycle(pool, rounds);
    db_free(pool->db); /* a session reports its statistics when it ends */
    pool->db = test_db_open(&pool->test);
    int64_t deadline_ms = clock_ms() + slower(10000), updates;
    while ((updates = test_db_number(&pool->test, "SELECT n_tup_upd FROM pg_stat_user_tables"
                                                  " WHERE relname = 'channel_accounts'")) <
               (int64_t)(2 * rounds * ACCOUNTS) &&
           clock_ms() < deadline_ms)
        clock_sleep_ms(50);
    int64_t hot = test_db_number(
        &pool->test, "SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'channel_accounts'");
    assert_true(updates >= (int64_t)(2 * rounds * ACCOUNTS));
    if (hot * 100 < updates * 95)
        fail_msg("%lld of %lld updates were HOT", (long long)hot, (long long)updates);
}

static int64_t updates(const struct test_pool *pool, const char *column)
{
    AUTO_FREE char *sql =
        mem_format("SELECT %s FROM pg_stat_user_tables WHERE relname = 'channel_accounts'", column);
    return test_db_number(&pool->test, sql);
}

/* A version that moves to another page costs more with each entry that its key already has. */
TEST(DX9_H15_few_updates_move_a_row_under_an_old_snapshot)
{
    struct test_pool *pool = *state;
    const size_t rounds = 60;
    AUTO_DB foreign = test_db_open(&pool->test);
    assert_int_equal(
        db_query(foreign, DB_SQL0("SELECT set_config('idle_in_transaction_session_timeout', '0', false)"),
            NULL, NULL),
        ERR_OK);
    assert_int_equal(db_begin(foreign, NULL), ERR_OK);
    assert_int_equal(
        db_query(foreign, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), NULL, NULL), ERR_OK);
    assert_int_equal(db_query(foreign, DB_SQL0("SELECT count(*) FROM pg_class"), NULL, NULL), ERR_OK);
    cycle(pool, rounds);
    db_free(pool->db); /* a session reports its statistics when it ends */
    pool->db = test_db_open(&pool->test);
    for (int64_t end_ms = clock_ms() + slower(10000);
         updates(pool, "n_tup_upd") < (int64_t)(2 * rounds * ACCOUNTS); clock_sleep_ms(50))
        assert_int_not_equal(clock_left_ms(end_ms), 0);
    const int64_t all = updates(pool, "n_tup_upd"), hot = updates(pool, "n_tup_hot_upd");
    print_message("%lld of %lld updates were HOT\n", (long long)hot, (long long)all);
    assert_true(hot * 100 >= all * 85);
}

static void *claim_submissions(void *context)
{
    struct test_pool *pool = context;
    AUTO_DB db = test_db_open(&pool->test);
    for (int64_t claimed = 64; claimed == 64;) {
        AUTO_ROWS rows = NULL;
        if (db_query(db,
                DB_SQL0(
                    "WITH c AS (INSERT INTO public.claimed SELECT tip, hash FROM"
                    " fairway.claim_submissions(64, 300, 0, 1000000) RETURNING 1) SELECT count(*) FROM c"),
                &rows, NULL) != ERR_OK)
            break;
        claimed = db_i64(rows, 0, 0);
    }
    return NULL;
}

TEST(DL16_of_all_replicas_one_claims_a_submission_in_a_ledger)
{
    struct test_pool *pool = *state;
    test_db_exec(&pool->test,
        "CREATE TABLE public.claimed (ledger bigint, hash bytea);"
        "INSERT INTO fairway.submissions (lease_hash, client, granted_at, inner_digest, max_fee, "
        "stroops_max, bid, bid_hash,"
        " round_ledger, due_ledger) SELECT sha256(n::text::bytea), '', now(), sha256(''), 1, 0, 1,"
        " sha256(n::text::bytea), c.sequence, c.sequence + 1 FROM fairway.cursor c, generate_series(1, "
        "128) n");
    for (int ledger = 1; ledger <= 10; ledger++) {
        pthread_t claimers[4];
        test_pool_close_ledger(pool->db, NULL);
        for (size_t i = 0; i < ARRAY_LEN(claimers); i++)
            assert_int_equal(pthread_create(&claimers[i], NULL, claim_submissions, pool), 0);
        for (size_t i = 0; i < ARRAY_LEN(claimers); i++)
            pthread_join(claimers[i], NULL);
        assert_int_equal(test_db_number(&pool->test, "SELECT count(*) FROM public.claimed"), 128 * ledger);
        assert_int_equal(
            test_db_number(&pool->test, "SELECT count(DISTINCT (ledger, hash)) FROM public.claimed"),
            128 * ledger);
    }
}

TEST(Z3_a_key_is_read_while_its_rows_are_locked)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct fee_bump_item found;
    struct account_batch batch;
    test_pool_grant_all(pool, &asked, 1);
    test_db_exec(&pool->test, "UPDATE fairway.channel_accounts SET state = 'retiring' WHERE slot >= 3"
                              " AND lease_hash IS NULL");
    size_t retiring = (size_t)test_db_number(
        &pool->test, "SELECT count(*) FROM fairway.channel_accounts WHERE state = 'retiring'");
    AUTO_DB holder = test_db_open(&pool->test);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(
        db_query(holder, DB_SQL0("SELECT 1 FROM fairway.channel_accounts FOR UPDATE"), NULL, NULL), ERR_OK);
    assert_int_equal(
        db_query(holder, DB_SQL0("SELECT 1 FROM fairway.leases FOR UPDATE"), NULL, NULL), ERR_OK);
    const struct lease *lease = &asked.grant.lease;
    assert_int_equal(
        fee_bump_find_one(pool->db, &lease->hash, &lease->account, lease->sequence, "", &found), ERR_OK);
    assert_int_equal(accounts_pick(pool->db, PROVISIONING_MERGE, 19, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, retiring);
}

/* In Estonian the other way round. */
#define FIRST_ACCOUNT "'G' || repeat('T', 55)"
#define SECOND_ACCOUNT "'G' || repeat('Z', 55)"
#define LOCK(account)                                                                                        \
    "SELECT FROM fairway.channel_accounts WHERE public_key = " account " FOR UPDATE SKIP LOCKED"

static void *record_two_fee_bumps(void *context)
{
    struct test_pool *pool = context;
    AUTO_DB db = test_db_open(&pool->test);
    enum err e = db_query(db,
        DB_SQL0("SELECT fairway.record_fee_bumps(ARRAY[sha256('bump 1'), sha256('bump 2')],"
                " ARRAY[sha256('first'), sha256('second')], '{100,100}', ARRAY[" FIRST_ACCOUNT
                ", " SECOND_ACCOUNT "], '{\"\",\"\"}', '{0,0}', '{0,0}')"),
        NULL, NULL);
    return e == ERR_OK ? NULL : pool;
}

TEST(DL12_fee_bumps_lock_accounts_in_the_order_of_ledgers_in_any_collation)
{
    struct test_pool *pool = *state;
    pthread_t thread;
    void *failed;
    if (test_db_number(&pool->test, "SELECT count(*) FROM pg_collation WHERE collname = 'et-x-icu'") == 0)
        skip();
    test_db_exec(&pool->test,
        "DROP VIEW fairway.pool_accounts; ALTER TABLE fairway.channel_accounts ALTER public_key TYPE "
        "fairway.address COLLATE \"et-x-icu\";"
        "INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence,"
        " sequence_ledger, state) SELECT 'G' || repeat(c, 55), ascii(c), repeat('x', 72)::bytea, k.key_id, 1,"
        " 1, 'active' FROM unnest('{T,Z}'::text[]) c, fairway.master_keys k;"
        "DO $$ BEGIN ASSERT (SELECT max(public_key) FROM fairway.channel_accounts WHERE slot > 50) = "
        "" FIRST_ACCOUNT "; END $$;"
        "SELECT" TEST_LEASE("sha256('first')", FIRST_ACCOUNT, "2",
            "''") ";"
                  "SELECT" TEST_LEASE("sha256('second')", SECOND_ACCOUNT, "2", "''"));
    AUTO_DB ledger = test_db_open(&pool->test);
    assert_int_equal(db_begin(ledger, NULL), ERR_OK);
    assert_int_equal(db_query(ledger, DB_SQL0(LOCK(SECOND_ACCOUNT)), NULL, NULL), ERR_OK);
    assert_int_equal(pthread_create(&thread, NULL, record_two_fee_bumps, pool), 0);
    assert_true(test_db_await_lock_wait(&pool->test, slower(10000)));
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(ledger, DB_SQL0(LOCK(FIRST_ACCOUNT)), &rows, NULL), ERR_OK);
    assert_int_equal(db_count(rows), 0); /* the fee bumps have it */
    db_rollback(ledger);
    pthread_join(thread, &failed);
    assert_null(failed);
}

/* Compares leases and accounts in fresh snapshots, repeatedly. */
struct watcher {
    const struct test_pool *pool;
    bool over;
    int64_t looks, wrong;
};

static void *watch_rows(void *context)
{
    struct watcher *watcher = context;
    AUTO_DB db = test_db_open(&watcher->pool->test);
    while (!__atomic_load_n(&watcher->over, __ATOMIC_SEQ_CST)) {
        AUTO_ROWS rows = NULL;
        if (db_query(db,
                DB_SQL0("SELECT count(*) FROM fairway.lease_history l FULL JOIN fairway.channel_accounts a"
                        " ON a.public_key = l.account AND a.lease_hash = l.hash"
                        " WHERE (l.settled_at IS NULL AND l.hash IS NOT NULL AND a.public_key IS NULL)"
                        " OR (a.lease_hash IS NOT NULL AND (l.hash IS NULL OR l.settled_at IS NOT NULL))"),
                &rows, NULL) == ERR_OK) {
            watcher->wrong += db_i64(rows, 0, 0);
            watcher->looks++;
        }
    }
    return NULL;
}

TEST(Z7_a_lease_and_its_account_change_in_one_transaction_at_every_instant)
{
    struct test_pool *pool = *state;
    struct watcher watcher = {.pool = pool};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch_rows, &watcher), 0);
    cycle(pool, 60);
    __atomic_store_n(&watcher.over, true, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    assert_true(watcher.looks > 20);
    assert_int_equal(watcher.wrong, 0);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
