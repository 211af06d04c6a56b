/*
 * Limits of clients (DL8) when another replica has judged or recorded and not committed: no client ever has
 * more than its limit. What one session decides is in tests/sql/limits.sql and fee_bumps.sql.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/fee_bump.h"
#include "support/proxy.h"
#include "slowness.h"

#define ACCOUNTS 40
#define CONTRACT_PERCENT 10
#define CONTRACT_MAX 4 /* that is of the accounts */

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

static void ask_limited(
    const struct test_pool *pool, struct asked *asked, const char *client, int64_t open_max)
{
    ask(pool, asked);
    snprintf(asked->request.client, sizeof asked->request.client, "%s", client);
    asked->request.limits.most[LIMIT_OPEN_LEASES] = open_max;
}

/* The same for a call of this contract. */
static void ask_call(const struct test_pool *pool, struct asked *asked, const char *client, int64_t open_max,
    const char *contract)
{
    ask_limited(pool, asked, client, open_max);
    snprintf(asked->request.contract, sizeof asked->request.contract, "%s", contract);
    asked->request.limits.most[LIMIT_CONTRACT_PERCENT] = CONTRACT_PERCENT;
}

static void assert_counts_are_true(const struct test_pool *pool)
{
    assert_int_equal(test_db_broken_rules(pool->db), 0);
}

/* ---- another session, which holds a lock */

/* It has run this and not committed, as another replica. */
static struct db *open_writer(struct test_pool *pool, const char *sql)
{
    struct db *db = test_db_open(&pool->test);
    struct detail detail = {0};
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    if (db_query(db, (struct db_statement){sql, NULL, 0}, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return db;
}

/* As soon as another session waits, it needs a lock on a client's row, and commits. */
struct holder {
    const struct test_db *test;
    struct db *db;
    const char *needs; /* SQL */
    enum err error;    /* of that */
};

static void *take_and_commit(void *context)
{
    struct holder *holder = context;
    if (!test_db_await_lock_wait(holder->test, slower(2000)))
        print_error("no session waits for a lock\n");
    const struct db_statement statements[] = {
        DB_SQL0("SET LOCAL lock_timeout = 400"), {holder->needs, NULL, 0}};
    struct detail detail = {0};
    holder->error = db_run(holder->db, statements, 2, NULL, &detail);
    if (holder->error == ERR_OK)
        holder->error = db_commit(holder->db, &detail);
    else
        db_rollback(holder->db);
    return NULL;
}

/* Grants while the holder has its lock. */
static void grant_beside(struct holder *holder, struct test_pool *pool, struct asked asked[], size_t count)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_and_commit, holder), 0);
    test_pool_decide(pool, asked, count);
    pthread_join(thread, NULL);
    assert_int_equal(holder->error, ERR_OK);
    db_free(holder->db);
}

/* The holder makes the row of "new", and has read the clients' rows before "seen" had one. */
TEST(DL8_who_waits_for_a_new_client_holds_no_other)
{
    struct test_pool *pool = *state;
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.lock_clients('{new}')"),
        .needs = "SELECT fairway.lock_clients('{seen}')"};
    struct asked asked[2];
    ask_limited(pool, &asked[0], "seen", 3);
    test_pool_decide(pool, asked, 1);
    asked_wipe(&asked[0]);
    ask_limited(pool, &asked[0], "seen", 3);
    ask_limited(pool, &asked[1], "new", 3);
    grant_beside(&holder, pool, asked, 2);
    asked_wipe_all(asked, 2);
    assert_counts_are_true(pool);
}

/* The leases of another replica are seen only under the lock of the row, when all are signed: the batch runs
 * again. */
TEST(DL8_a_batch_records_what_is_left_of_a_limit_and_all_of_other_clients)
{
    struct test_pool *pool = *state;
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.count_leases('{full,full}', 1)"),
        .needs = "SELECT"};
    struct asked asked[4];
    for (size_t i = 0; i < 4; i++)
        ask_limited(pool, &asked[i], i % 2 == 0 ? "full" : "other", i % 2 == 0 ? 3 : 0);
    grant_beside(&holder, pool, asked, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(asked[i].grant.state, i == 2 ? GRANT_REFUSED : GRANT_DONE);
    assert_int_equal(asked[2].grant.error, ERR_LIMIT_EXCEEDED);
    assert_int_equal(asked[2].grant.limit, LIMIT_OPEN_LEASES);
    assert_int_equal(asked[2].grant.lease.envelope.len, 0);
    assert_int_equal(lease_rows(pool), 3);
    assert_int_equal(leased_accounts(pool), 3);
    assert_int_equal(
        test_db_number(&pool->test, "SELECT open_leases FROM fairway.client_usage WHERE client = 'full'"), 3);
    asked_wipe_all(asked, 4);
}

/* CLIENTS_FILE was read again while the first request waited for an account. */
TEST(DL8_a_limit_that_is_new_fails_no_batch)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++)
        ask_limited(pool, &asked[i], "a", (int64_t)i);
    assert_int_equal(test_pool_grant(pool, asked, 2, NULL), ERR_OK);
    asked_wipe_all(asked, 2);
}

/* ---- by contract */

static int64_t counted(const struct test_pool *pool, const char *client, const char *contract)
{
    AUTO_FREE char *sql = mem_format("SELECT coalesce((SELECT open_leases FROM fairway.client_usage"
                                     " WHERE client = fairway.contract_row('%s', '%s')), -1)",
        client, contract);
    return test_db_number(&pool->test, sql);
}

/* What a replica reads before its batch is old when it records: the row of the contract, and how many leases
 * the client has. */
TEST(DL8_of_two_batches_at_once_a_contract_gets_its_share_only)
{
    static const struct {
        const char *contract;
        enum limit refused;
    } items[] = {{"C1", LIMIT_NONE}, {"C1", LIMIT_CONTRACT_PERCENT}, {"C2", LIMIT_NONE}, {"", LIMIT_NONE},
        {"C3", LIMIT_OPEN_LEASES}};
    struct test_pool *pool = *state;
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.count_leases('{a,a,a,a/C1,a/C1,a/C1}', 1)"),
        .needs = "SELECT"};
    struct asked asked[ARRAY_LEN(items)];
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        ask_call(pool, &asked[i], "a", 6, items[i].contract);
    grant_beside(&holder, pool, asked, ARRAY_LEN(items));
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        assert_int_equal(asked[i].grant.limit, items[i].refused);
        assert_int_equal(asked[i].grant.state, items[i].refused == LIMIT_NONE ? GRANT_DONE : GRANT_REFUSED);
    }
    assert_int_equal(counted(pool, "a", "C1"), CONTRACT_MAX);
    assert_int_equal(counted(pool, "a", "C2"), 1);
    assert_int_equal(counted(pool, "a", "C3"), -1); /* no row stays behind */
    test_db_exec(&pool->test, "SELECT fairway.count_leases('{a,a,a,a/C1,a/C1,a/C1}', -1)");
    assert_counts_are_true(pool);
    asked_wipe_all(asked, ARRAY_LEN(items));
}

/* ---- fee bumps */

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
        e = fee_bumps_find(db, &item, 1, NULL);
        item->hash = hash;
        item->fee_stroops = fee;
        if (e == ERR_OK && item->error == ERR_OK) {
            item->limit = limit_of_fee_bump(
                &item->limits, fee, item->bumps, item->highest_stroops, item->spent_stroops);
            item->error = limit_refuse(item->limit, &item->limits, &item->detail);
        }
        if (e == ERR_OK && item->error == ERR_OK)
            e = fee_bumps_record(db, &item, 1, NULL);
    } while (e == ERR_SERIALIZATION);
    if (e != ERR_OK)
        item->error = e;
}

#define BUMPS_MAX(n) ((struct limits){.most = {[LIMIT_FEE_BUMPS] = (n)}})
#define DAY_MAX(n) ((struct limits){.most = {[LIMIT_STROOPS_PER_DAY] = (n)}})

/* What another replica is recording is not seen when a bid is judged first: of the same lease, or of another
 * one of the client. */
TEST(DL8_in_all_replicas_together_a_bid_waits_for_one_that_is_being_recorded)
{
    static const struct {
        struct limits limits;
        size_t lease;
        enum limit refused;
        enum err error;
    } cases[] = {
        {BUMPS_MAX(1), 0, LIMIT_FEE_BUMPS, ERR_LIMIT_REACHED},
        {DAY_MAX(60000), 1, LIMIT_STROOPS_PER_DAY, ERR_LIMIT_EXCEEDED},
    };
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (size_t i = 0; i < 2; i++)
        ask_limited(pool, &asked[i], "a", 0);
    test_pool_decide(pool, asked, 2);
    char hex[HASH_HEX_SIZE];
    hash_encode(&asked[0].grant.lease.hash, hex);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *sql =
            mem_format("SELECT count(*) FROM fairway.channel_accounts a CROSS JOIN LATERAL"
                       " fairway.record_fee_bumps(ARRAY[sha256('%zu')], ARRAY[a.lease_hash], ARRAY[%zu],"
                       " ARRAY[a.public_key], '{a}', '{2}', '{60000}') WHERE a.lease_hash = '\\x%s'",
                i, 20000 + 10000 * i, hex);
        struct holder holder = {.test = &pool->test, .db = open_writer(pool, sql), .needs = "SELECT"};
        pthread_t thread;
        struct fee_bump_item item =
            bump_item(&asked[cases[i].lease].grant.lease, "a", 1, 40000, cases[i].limits);
        assert_int_equal(pthread_create(&thread, NULL, take_and_commit, &holder), 0);
        find_and_record(pool->db, &item);
        pthread_join(thread, NULL);
        assert_int_equal(holder.error, ERR_OK);
        assert_int_equal(item.limit, cases[i].refused);
        assert_int_equal(item.error, cases[i].error);
        db_free(holder.db);
    }
    asked_wipe_all(asked, 2);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
