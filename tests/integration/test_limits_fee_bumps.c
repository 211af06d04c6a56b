/*
 * Limits of clients on fee bumps (DL8), by sessions that race as replicas do: no lease ever has more fee
 * bumps than its client's limit, and those of a day cost no more than its limit.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pool/fee_bump.h"
#include "slowness.h"

#define ACCOUNTS 40
#define REPLICAS 6
#define CLIENTS 4
#define BIDS 150

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

/* A fee bump of a lease of `client`; number makes its hash unlike others'. */
static struct fee_bump_item bump_item(
    const struct lease *lease, const char *client, int64_t number, int64_t fee, struct limits limits)
{
    return (struct fee_bump_item){.lease = lease->hash,
        .source = lease->account,
        .sequence = lease->sequence,
        .client = client,
        .limits = limits,
        .hash = sha256((struct bytes){(const uint8_t *)&number, sizeof number}),
        .fee_stroops = fee};
}

/* As a batch does it, without signing. Errors of the call are the item's. */
static void find_and_record(struct db *db, struct fee_bump_item *item)
{
    const struct hash hash = item->hash;
    const int64_t fee = item->fee_stroops;
    enum err e;
    do { /* as the engine does */
        e = fee_bumps_find(db, item, 1, NULL);
        item->hash = hash;
        item->fee_stroops = fee;
        if (e == ERR_OK && item->error == ERR_OK) {
            item->limit = limit_of_fee_bump(
                &item->limits, fee, item->bumps, item->highest_stroops, item->spent_stroops);
            item->error = limit_refuse(item->limit, &item->limits, &item->detail);
        }
        if (e == ERR_OK && item->error == ERR_OK)
            e = fee_bumps_record(db, item, 1, NULL);
    } while (e == ERR_SERIALIZATION);
    if (e != ERR_OK)
        item->error = e;
}

static enum err bump(struct test_pool *pool, const struct lease *lease, int64_t number, int64_t fee,
    struct limits limits, enum limit limit)
{
    struct fee_bump_item item = bump_item(lease, "", number, fee, limits);
    find_and_record(pool->db, &item);
    assert_int_equal(item.limit, limit);
    return item.error;
}

#define BUMPS_MAX(n) ((struct limits){.most = {[LIMIT_FEE_BUMPS] = (n)}})
#define DAY_MAX(n) ((struct limits){.most = {[LIMIT_STROOPS_PER_DAY] = (n)}})

static void DL8_each_fee_bump_with_another_hash_counts_also_one_with_the_same_fee(void **state)
{
    struct test_pool *pool = *state;
    const struct limits limits = BUMPS_MAX(2);
    struct asked asked;
    test_pool_grant_all(pool, &asked, 1);
    const struct lease *lease = &asked.grant.lease;
    assert_int_equal(bump(pool, lease, 1, 20000, limits, LIMIT_NONE), ERR_OK);
    assert_int_equal(bump(pool, lease, 1, 20000, limits, LIMIT_NONE), ERR_OK); /* the same one again */
    assert_int_equal(bump(pool, lease, 3, 20000, limits, LIMIT_NONE), ERR_OK); /* other signatures */
    assert_int_equal(bump(pool, lease, 4, 20000, limits, LIMIT_FEE_BUMPS), ERR_LIMIT_REACHED);
    assert_int_equal(bump(pool, lease, 5, 30000, limits, LIMIT_FEE_BUMPS), ERR_LIMIT_REACHED);
    assert_int_equal(bump(pool, lease, 1, 20000, limits, LIMIT_NONE), ERR_OK);
    assert_int_equal(test_db_number(&pool->test, "SELECT count(*) FROM fairway.fee_bumps"), 2);
    asked_wipe(&asked);
}

struct bidder {
    struct test_pool *pool;
    const struct lease *leases;
    size_t lease_count;
    struct limits limits;
    unsigned seed;
    pthread_t thread;
};

static char client_of(size_t lease)
{
    return (char)('a' + lease % CLIENTS);
}

static void lease_to_clients(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    for (size_t i = 0; i < count; i++) {
        ask(pool, &asked[i]);
        asked[i].request.client[0] = client_of(i);
    }
    if (test_pool_grant(pool, asked, count, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static void *bid(void *context)
{
    struct bidder *bidder = context;
    struct db *db = test_db_open(&bidder->pool->test);
    int64_t next = (int64_t)bidder->seed << 32;
    for (int i = 0; i < BIDS; i++) {
        const size_t at = (size_t)rand_r(&bidder->seed) % bidder->lease_count;
        const int64_t fee = 20000 + rand_r(&bidder->seed) % 50000;
        const char client[] = {client_of(at), '\0'};
        struct fee_bump_item item = bump_item(&bidder->leases[at], client, next++, fee, bidder->limits);
        find_and_record(db, &item);
        if (item.error != ERR_OK && item.limit == LIMIT_NONE)
            abort(); /* cmocka's assertions work on the main thread only */
    }
    db_free(db);
    return NULL;
}

/* Bids of many replicas for leases of CLIENTS clients. */
static void run_bidders(
    struct test_pool *pool, struct asked asked[], size_t lease_count, struct limits limits)
{
    struct bidder bidders[REPLICAS];
    struct lease *leases AUTO_FREE = NEW_ARRAY(lease_count, struct lease);
    lease_to_clients(pool, asked, lease_count);
    for (size_t i = 0; i < lease_count; i++)
        leases[i] = asked[i].grant.lease;
    for (unsigned i = 0; i < REPLICAS; i++) {
        bidders[i] = (struct bidder){pool, leases, lease_count, limits, i, 0};
        assert_int_equal(pthread_create(&bidders[i].thread, NULL, bid, &bidders[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(bidders[i].thread, NULL);
}

static void DL8_in_all_replicas_together_a_lease_gets_no_more_fee_bumps_than_its_limit(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    run_bidders(pool, asked, 2, BUMPS_MAX(9));
    assert_int_equal(test_db_number(&pool->test, "SELECT sum((n = 9)::int)::int8 FROM (SELECT count(*) AS n"
                                                 " FROM fairway.fee_bumps GROUP BY lease_hash) b"),
        2);
    asked_wipe_all(asked, 2);
}

struct recording {
    const struct test_db *test;
    struct db *db;
};

/* Commits the session's transaction when another session waits for it, or later. */
static void *commit_when_waited_for(void *context)
{
    const struct recording *recording = context;
    test_db_await_lock_wait(recording->test, slower(2000));
    if (db_commit(recording->db, NULL) != ERR_OK)
        abort();
    return NULL;
}

static void DL8_in_all_replicas_together_a_bid_waits_for_one_that_is_being_recorded(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    test_pool_grant_all(pool, &asked, 1);
    struct db *other = test_db_open(&pool->test);
    assert_int_equal(db_begin(other, NULL), ERR_OK);
    assert_int_equal(db_query(other,
                         DB_SQL0("SELECT count(*) FROM fairway.channel_accounts a CROSS JOIN LATERAL"
                                 " fairway.record_fee_bumps(ARRAY[sha256('other')], ARRAY[a.lease_hash],"
                                 " ARRAY[20000], ARRAY[a.public_key], ARRAY[a.lease_client], ARRAY[1],"
                                 " ARRAY[0]) WHERE a.lease_hash IS NOT NULL"),
                         NULL, NULL),
        ERR_OK);
    struct recording recording = {&pool->test, other};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, commit_when_waited_for, &recording), 0);
    const enum err e = bump(pool, &asked.grant.lease, 1, 40000, BUMPS_MAX(1), LIMIT_FEE_BUMPS);
    pthread_join(thread, NULL);
    assert_int_equal(e, ERR_LIMIT_REACHED);
    db_free(other);
    asked_wipe(&asked);
}

static void DL8_in_all_replicas_together_the_fee_bumps_of_a_client_cost_no_more_than_its_limit(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[ACCOUNTS];
    run_bidders(pool, asked, ACCOUNTS, DAY_MAX(300000));
    /* of each lease the highest */
    assert_int_equal(test_db_number(&pool->test,
                         "SELECT count(*) FROM fairway.client_fees c WHERE c.stroops > 300000 OR c.stroops <>"
                         " (SELECT sum(f.highest) FROM (SELECT max(b.fee) AS highest FROM fairway.fee_bumps b"
                         "   JOIN fairway.leases l ON l.hash = b.lease_hash WHERE l.client = c.client"
                         "   GROUP BY b.lease_hash) f)"),
        0);
    assert_int_equal(test_db_number(&pool->test, "SELECT count(*) FROM fairway.client_fees"), CLIENTS);
    assert_int_equal(test_db_number(&pool->test, "SELECT deadlocks::int8 FROM pg_stat_database"
                                                 " WHERE datname = current_database()"),
        0);
    asked_wipe_all(asked, ACCOUNTS);
}

static void DL8_batches_in_opposite_orders_record_all(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    struct fee_bump_item items[2][2];
    const struct limits limits = DAY_MAX(1000000);
    lease_to_clients(pool, asked, 2);
    for (size_t batch = 0; batch < 2; batch++)
        for (size_t i = 0; i < 2; i++) {
            const size_t at = batch == 0 ? i : 1 - i;
            items[batch][i] = bump_item(&asked[at].grant.lease, asked[at].request.client,
                (int64_t)(10 * batch + i), 20000 + (int64_t)(10 * batch), limits);
            items[batch][i].error = ERR_OK;
        }
    for (size_t batch = 0; batch < 2; batch++) {
        assert_int_equal(fee_bumps_record(pool->db, items[batch], 2, NULL), ERR_OK);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(items[batch][i].error, ERR_OK);
    }
    assert_int_equal(
        test_db_number(&pool->test, "SELECT sum(stroops)::int8 FROM fairway.client_fees"), 40020);
    asked_wipe_all(asked, 2);
}

static void DL8_a_session_whose_day_is_over_forgets_nothing_of_the_new_day(void **state)
{
    struct test_pool *pool = *state;
    const struct limits limits = DAY_MAX(50000);
    struct asked asked;
    test_pool_grant_all(pool, &asked, 1);
    test_db_exec(&pool->test, "INSERT INTO fairway.client_fees VALUES ('', current_date + 1, 40000)");
    assert_int_equal(
        bump(pool, &asked.grant.lease, 1, 20000, limits, LIMIT_STROOPS_PER_DAY), ERR_LIMIT_EXCEEDED);
    assert_int_equal(bump(pool, &asked.grant.lease, 2, 10000, limits, LIMIT_NONE), ERR_OK);
    assert_int_equal(test_db_number(&pool->test, "SELECT stroops FROM fairway.client_fees"), 50000);
    asked_wipe(&asked);
}

/* Ends the lease as the ledger transaction does. */
static void end_lease(struct test_pool *pool, const struct lease *lease, const char *result, int fee)
{
    char address[ADDRESS_SIZE];
    address_encode(&lease->account, address);
    AUTO_FREE char *sql = mem_format(
        "SELECT fairway.settle_accounts(ARRAY['%s'], ARRAY['active'], ARRAY[%lld], ARRAY[100], ARRAY[NULL],"
        " ARRAY['%s'], ARRAY[NULL], ARRAY[100], ARRAY[NULL::bytea], ARRAY[%d], ARRAY[NULL::bytea],"
        " ARRAY[NULL::bytea])",
        address, (long long)lease->sequence, result, fee);
    test_db_exec(&pool->test, sql);
}

static void DL8_a_lease_that_has_ended_counts_with_the_fee_that_was_charged_on_the_day_of_its_bids(
    void **state)
{
    static const char sql_yesterday[] =
        TEST_UNCHECKED("UPDATE fairway.fee_bumps SET signed_at = signed_at - interval '1 day'"
                       " WHERE lease_hash = (SELECT lease_hash FROM fairway.fee_bumps"
                       "   ORDER BY signed_at DESC LIMIT 1);"
                       " UPDATE fairway.client_fees SET stroops = stroops - 20000");
    static const struct {
        const char *result;
        int charged;    /* 0: not known */
        bool yesterday; /* the first bid, of 20,000, is of the day before */
        int second;     /* bid of today; 0: none */
        int counted;
    } cases[] = {
        {"failed", 200, false, 0, 200},
        {"confirmed", 15000, false, 30000, 15000},
        {"superseded", 0, false, 30000, 0},
        {"consumed", 0, false, 0, 20000},
        {"confirmed", 0, false, 0, 20000}, /* after a gap */
        {"confirmed", 25000, true, 30000, 5000},
        {"confirmed", 200, true, 30000, 0},
        {"confirmed", 200, true, 0, 0},
    };
    struct test_pool *pool = *state;
    struct asked asked[ARRAY_LEN(cases)];
    int64_t spent = 0;
    test_pool_grant_all(pool, asked, ARRAY_LEN(cases));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct lease *lease = &asked[i].grant.lease;
        const int64_t number = 2 * (int64_t)i;
        assert_int_equal(bump(pool, lease, number, 20000, DAY_MAX(1000000), LIMIT_NONE), ERR_OK);
        if (cases[i].yesterday)
            test_db_exec(&pool->test, sql_yesterday);
        if (cases[i].second != 0)
            assert_int_equal(
                bump(pool, lease, number + 1, cases[i].second, DAY_MAX(1000000), LIMIT_NONE), ERR_OK);
        end_lease(pool, lease, cases[i].result, cases[i].charged);
        spent += cases[i].counted;
        assert_int_equal(test_db_number(&pool->test, "SELECT stroops FROM fairway.client_fees"), spent);
    }
    asked_wipe_all(asked, ARRAY_LEN(cases));
}

int main(void)
{
#define LIMITS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        LIMITS_TEST(DL8_each_fee_bump_with_another_hash_counts_also_one_with_the_same_fee),
        LIMITS_TEST(DL8_in_all_replicas_together_a_lease_gets_no_more_fee_bumps_than_its_limit),
        LIMITS_TEST(DL8_in_all_replicas_together_a_bid_waits_for_one_that_is_being_recorded),
        LIMITS_TEST(DL8_in_all_replicas_together_the_fee_bumps_of_a_client_cost_no_more_than_its_limit),
        LIMITS_TEST(DL8_batches_in_opposite_orders_record_all),
        LIMITS_TEST(DL8_a_session_whose_day_is_over_forgets_nothing_of_the_new_day),
        LIMITS_TEST(DL8_a_lease_that_has_ended_counts_with_the_fee_that_was_charged_on_the_day_of_its_bids),
    };
    return cmocka_run_group_tests_name("limits on fee bumps", tests, test_pg_start, test_pg_stop);
}
