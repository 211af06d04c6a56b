/*
 * The distribution account's balance, on a real PostgreSQL: the leader reads it again and again from the RPC,
 * without delaying a ledger. Below the minimum nothing is leased.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/ledger_feed.h"
#include "support/pool.h"
#include "slowness.h"

#define FIRST 100
#define PATIENCE_MS 20000
#define OURS 1 /* built_key of the distribution account */
#define RESERVES (2 * BUILT_BASE_RESERVE)

struct world {
    struct test_db db;
    struct ledger_feed *feed;
    struct ingest *ingest;
};

/* The number of requests for accounts, and whether such a request hangs. */
static atomic_int reads;
static atomic_bool hangs;

static void on_read(void *context)
{
    reads++;
    while (hangs)
        clock_sleep_ms(5);
}

static struct ingest *start(struct world *world)
{
    struct ingest *ingest;
    const struct feed feed = ledger_feed_source(world->feed);
    const struct ingest_settings settings = {.database_url = world->db.url,
        .feed = &feed,
        .network = network_id_of(BUILT_PASSPHRASE),
        .poll_ms = 20,
        .ledger_ms = 5000,
        .funds = {.payment_stroops = 20000, .low_payments = 1000, .min_payments = 100},
        .retention_s = 3600};
    assert_int_equal(ingest_start(&settings, &ingest, NULL), ERR_OK);
    return ingest;
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    const struct public_key ours = built_key(OURS);
    char address[ADDRESS_SIZE];
    address_encode(&ours, address);
    world->db = test_db_new(TEST_DB_MIGRATED);
    AUTO_FREE char *sql =
        mem_format("INSERT INTO fairway.network (passphrase, distribution_account) VALUES ('" BUILT_PASSPHRASE
                   "', '%s')",
            address);
    test_db_exec(&world->db, sql);
    world->feed = ledger_feed_new(FIRST, 20);
    ledger_feed_on_read(world->feed, on_read, NULL);
    ledger_feed_put(world->feed, &(struct built_account){.key = ours, .balance_stroops = 90000000});
    reads = 0;
    hangs = false;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    hangs = false;
    ingest_stop(world->ingest);
    ledger_feed_free(world->feed);
    test_db_drop(&world->db);
    free(world);
    return 0;
}

static void await_cursor(struct world *world, uint32_t sequence)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS);
         test_db_number(&world->db, "SELECT coalesce(max(sequence), 0) FROM fairway.cursor") != sequence;
         clock_sleep_ms(10))
        if (clock_left_ms(end) == 0)
            fail_msg("the cursor is not at %u", sequence);
}

/* Closes a ledger that sets the balance, or, with a negative balance, does not change the account. Waits
 * until the ledger is committed. */
static void close_with(struct world *world, int64_t balance)
{
    const struct built_account account = {.key = built_key(OURS), .balance_stroops = balance};
    ledger_feed_close(
        world->feed, &(struct built_ledger){.accounts = &account, .account_count = balance >= 0});
    await_cursor(world, ledger_feed_latest(world->feed));
}

/* Returns what the distribution account can spend, or -1 if it is unknown. */
static int64_t spendable(struct world *world)
{
    return test_db_number(&world->db, "SELECT coalesce((SELECT spendable FROM fairway.funds), -1)");
}

/* Closes empty ledgers until this can be spent. */
static void await_spendable(struct world *world, int64_t stroops)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); spendable(world) != stroops; close_with(world, -1))
        if (clock_left_ms(end) == 0)
            fail_msg("%lld can be spent", (long long)spendable(world));
}

TEST(the_balance_is_read_now_and_then)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    await_spendable(world, 90000000 - RESERVES);
    assert_int_equal(reads, 1);
    close_with(world, 70000000);
    await_spendable(world, 70000000 - RESERVES);
    close_with(world, RESERVES - 1);
    await_spendable(world, 0);
    assert_in_range(reads, 3, 6);
}

TEST(an_RPC_that_hangs_or_fails_delays_no_ledger)
{
    struct world *world = *state;
    hangs = true;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    for (int i = 0; i < 5; i++)
        close_with(world, -1);
    assert_int_equal(spendable(world), -1);
    ledger_feed_fail_accounts(world->feed, ERR_RPC_UNAVAILABLE);
    hangs = false;
    for (int i = 0; i < 5; i++)
        close_with(world, -1);
    assert_int_equal(spendable(world), -1);
    assert_true(ingest_ready(world->ingest, NULL));
    ledger_feed_fail_accounts(world->feed, ERR_OK);
    await_spendable(world, 90000000 - RESERVES);
}

TEST(the_next_leader_corrects_a_wrong_balance)
{
    struct world *world = *state;
    world->ingest = start(world);
    await_cursor(world, FIRST);
    await_spendable(world, 90000000 - RESERVES);
    ingest_stop(world->ingest);
    test_db_exec(&world->db, "UPDATE fairway.funds SET balance = 1, spendable = 0, ledger = 100");
    world->ingest = start(world);
    await_spendable(world, 90000000 - RESERVES);
}

/* ---- grants */

static int pool_set_up(void **state)
{
    test_pool_set_up(state, 2);
    struct test_pool *pool = *state;
    pool->settings.funds =
        (struct funds_limits){.payment_stroops = 20000, .low_payments = 1000, .min_payments = 100};
    return 0;
}

static void set_spendable(struct test_pool *pool, int64_t stroops)
{
    AUTO_FREE char *sql =
        mem_format("DELETE FROM fairway.funds; INSERT INTO fairway.funds (ledger, balance, reserves,"
                   " selling_liabilities, base_reserve, spendable) VALUES (1, 0, 0, 0, 0, %lld)",
            (long long)stroops);
    test_db_exec(&pool->test, sql);
}

TEST_WITH(a_retry_gets_its_lease_below_the_minimum_too, pool_set_up, test_pool_tear_down)
{
    struct test_pool *pool = *state;
    CLEANUP(asked_wipe) struct asked first, retry;
    struct detail detail = {0};
    ask(pool, &first);
    snprintf(first.request.idempotency_key, sizeof first.request.idempotency_key, "key");
    ask(pool, &retry);
    snprintf(retry.request.idempotency_key, sizeof retry.request.idempotency_key, "key");
    assert_int_equal(test_pool_grant(pool, &first, 1, &detail), ERR_OK);
    set_spendable(pool, 0);
    assert_int_equal(test_pool_grant(pool, &retry, 1, &detail), ERR_OK);
    assert_int_equal(retry.grant.state, GRANT_DONE);
    assert_memory_equal(retry.grant.lease.hash.bytes, first.grant.lease.hash.bytes, 32);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
