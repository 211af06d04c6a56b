/*
 * Limits of clients (DL8), by sessions that race as replicas do: no client ever has more than its limit, and
 * what is counted is what the accounts say, whatever was rolled back, cut off, or ended by a ledger.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

#define ACCOUNTS 40
#define REPLICAS 6
#define BATCHES 60
#define BATCH_MAX 8
#define CLIENTS 4
#define OPEN_MAX 7
#define LEDGER_MS 5
#define KILL_MS 40

/* cmocka's assertions work on the main thread only. */
#define check(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

static void ask_limited(
    const struct test_pool *pool, struct asked *asked, const char *client, struct lease_limits limits)
{
    ask(pool, asked);
    snprintf(asked->request.client, sizeof asked->request.client, "%s", client);
    asked->request.limits = limits;
}

static void grant_on(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    enum err e = test_pool_grant(pool, asked, count, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
}

/* Grants one lease of this client or refuses it; returns whether it was granted. */
static bool grant_one(struct test_pool *pool, const char *client, struct lease_limits limits)
{
    struct asked asked;
    ask_limited(pool, &asked, client, limits);
    grant_on(pool, &asked, 1);
    const bool done = asked.grant.state == GRANT_DONE;
    if (!done)
        assert_int_equal(asked.grant.error, ERR_LIMIT_EXCEEDED);
    asked_wipe(&asked);
    return done;
}

static void assert_counts_are_true(const struct test_pool *pool)
{
    assert_int_equal(
        test_db_number(&pool->test,
            "SELECT count(*) FROM fairway.client_usage u WHERE u.open_leases <>"
            " (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = u.client)"),
        0);
}

/* ---- open leases, in a storm */

struct storm {
    struct test_pool *pool;
    pthread_mutex_t lock;
    struct lease *leases; /* to be included in the next ledger */
    size_t count, granted, refused, unknown;
    int64_t most; /* open leases of a client that were ever seen */
    bool kills, done;
};

struct replica {
    struct storm *storm;
    unsigned seed;
    pthread_t thread;
};

static void finish_batch(struct storm *storm, struct asked asked[], size_t count, enum err e)
{
    pthread_mutex_lock(&storm->lock);
    storm->unknown += e == ERR_OUTCOME_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        const struct grant *grant = &asked[i].grant;
        check(grant->state != GRANT_REFUSED || grant->error == ERR_LIMIT_EXCEEDED);
        storm->refused += grant->state == GRANT_REFUSED;
        if (grant->state == GRANT_DONE)
            storm->leases[storm->count++] = (struct lease){.hash = grant->lease.hash,
                .account = grant->lease.account,
                .sequence = grant->lease.sequence};
    }
    pthread_mutex_unlock(&storm->lock);
}

static void *grant_all(void *context)
{
    struct replica *replica = context;
    struct storm *storm = replica->storm;
    struct test_pool pool = *storm->pool;
    pool.db = db_new(&(struct db_settings){.url = pool.test.url, .name = "racing replica"});
    for (int i = 0; i < BATCHES; i++) {
        struct asked asked[BATCH_MAX];
        struct detail detail = {0};
        const size_t count = 1 + (size_t)rand_r(&replica->seed) % BATCH_MAX;
        for (size_t k = 0; k < count; k++) {
            char client[] = {(char)('a' + rand_r(&replica->seed) % CLIENTS), '\0'};
            ask_limited(&pool, &asked[k], client, (struct lease_limits){.open_leases = OPEN_MAX});
        }
        enum err e = test_pool_grant(&pool, asked, count, &detail);
        if (e == ERR_SERIALIZATION)
            e = test_pool_grant_again(&pool, asked, count, &detail);
        if (e != ERR_OK && !storm->kills)
            print_error("%s %s\n", err_code(e), detail.text);
        check(e == ERR_OK || (storm->kills && err_status(e) == 503));
        finish_batch(storm, asked, count, e);
        for (size_t k = 0; k < count; k++)
            asked_wipe(&asked[k]);
        clock_sleep_ms(1);
    }
    db_free(pool.db);
    return NULL;
}

static int64_t number(struct db *db, const char *sql)
{
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    check(db_query(db, (struct db_statement){sql, NULL, 0}, &rows, &detail) == ERR_OK);
    return db_i64(rows, 0, 0);
}

/* Ends the leases that were granted since the last ledger, and looks how many each client has. */
static void *close_ledgers(void *context)
{
    struct storm *storm = context;
    struct db *db = test_db_open(&storm->pool->test);
    for (bool done = false; !done; clock_sleep_ms(LEDGER_MS)) {
        const struct lease *included[ACCOUNTS];
        struct lease copies[ACCOUNTS];
        const int64_t most =
            number(db, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM fairway.channel_accounts"
                       " WHERE lease_client IS NOT NULL GROUP BY lease_client) c");
        pthread_mutex_lock(&storm->lock);
        const size_t count = storm->count;
        check(count <= ACCOUNTS);
        memcpy(copies, storm->leases, count * sizeof copies[0]);
        storm->granted += count;
        storm->count = 0;
        storm->most = most > storm->most ? most : storm->most;
        done = storm->done;
        pthread_mutex_unlock(&storm->lock);
        for (size_t i = 0; i < count; i++)
            included[i] = &copies[i];
        test_pool_include(db, included, count);
    }
    db_free(db);
    return NULL;
}

static void *kill_sessions(void *context)
{
    struct storm *storm = context;
    struct db *db = test_db_open(&storm->pool->test);
    for (bool done = false; !done; clock_sleep_ms(KILL_MS)) {
        number(db, "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                   " WHERE application_name = 'racing replica' AND datname = current_database()"
                   " ORDER BY random() LIMIT 1) s");
        pthread_mutex_lock(&storm->lock);
        done = storm->done;
        pthread_mutex_unlock(&storm->lock);
    }
    db_free(db);
    return NULL;
}

static void run_storm(struct storm *storm)
{
    struct replica replicas[REPLICAS];
    pthread_t closer, killer;
    pthread_mutex_init(&storm->lock, NULL);
    storm->leases = NEW_ARRAY(ACCOUNTS, struct lease);
    assert_int_equal(pthread_create(&closer, NULL, close_ledgers, storm), 0);
    if (storm->kills)
        assert_int_equal(pthread_create(&killer, NULL, kill_sessions, storm), 0);
    for (unsigned i = 0; i < REPLICAS; i++) {
        replicas[i] = (struct replica){.storm = storm, .seed = i};
        assert_int_equal(pthread_create(&replicas[i].thread, NULL, grant_all, &replicas[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(replicas[i].thread, NULL);
    pthread_mutex_lock(&storm->lock);
    storm->done = true;
    pthread_mutex_unlock(&storm->lock);
    pthread_join(closer, NULL);
    if (storm->kills)
        pthread_join(killer, NULL);
    pthread_mutex_destroy(&storm->lock);
    free(storm->leases);
    print_message("%zu leases, %zu refusals, at most %d of a client, %zu outcomes unknown\n", storm->granted,
        storm->refused, (int)storm->most, storm->unknown);
    assert_in_range(storm->most, 1, OPEN_MAX);
    assert_true(storm->refused > 0);
    assert_counts_are_true(storm->pool);
}

static void DL8_in_all_replicas_together_a_client_never_has_more_open_leases_than_its_limit(void **state)
{
    struct storm storm = {.pool = *state};
    run_storm(&storm);
    assert_int_equal(leased_accounts(storm.pool), 0);
}

static void DL8_sessions_that_are_killed_leave_no_wrong_count(void **state)
{
    struct test_pool *pool = *state;
    struct storm storm = {.pool = pool, .kills = true};
    run_storm(&storm);
    /* the leases of unknown outcome expire */
    const struct built_ledger late = {.close_time_s = (uint64_t)test_db_number(&pool->test,
                                          "SELECT extract(epoch FROM clock_timestamp())::int8 + 1000")};
    test_pool_close_ledger(pool->db, &late);
    assert_int_equal(leased_accounts(pool), 0);
    assert_counts_are_true(pool);
    assert_int_equal(
        test_db_number(&pool->test, "SELECT count(*) FROM fairway.client_usage WHERE NOT counted"), 0);
}

static void DL8_a_client_above_its_limit_fails_no_lease_of_another(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    for (int i = 0; i < 3; i++)
        assert_true(grant_one(pool, "full", (struct lease_limits){.open_leases = 3}));
    ask_limited(pool, &asked[0], "full", (struct lease_limits){.open_leases = 1}); /* it was lowered */
    ask_limited(pool, &asked[1], "other", (struct lease_limits){.open_leases = 1});
    grant_on(pool, asked, 2);
    assert_int_equal(asked[0].grant.error, ERR_LIMIT_EXCEEDED);
    assert_int_equal(asked[1].grant.state, GRANT_DONE);
    asked_wipe(&asked[0]);
    asked_wipe(&asked[1]);
    assert_counts_are_true(pool);
}

static void DL8_a_share_of_the_pool_is_at_least_one_account(void **state)
{
    struct test_pool *pool = *state;
    const struct lease_limits one = {.pool_percent = 1}, tenth = {.pool_percent = 10},
                              both = {.pool_percent = 10, .open_leases = 2};
    assert_true(grant_one(pool, "one", one));
    assert_false(grant_one(pool, "one", one));
    for (int i = 0; i < ACCOUNTS / 10; i++)
        assert_true(grant_one(pool, "tenth", tenth));
    assert_false(grant_one(pool, "tenth", tenth));
    for (int i = 0; i < 2; i++)
        assert_true(grant_one(pool, "both", both));
    assert_false(grant_one(pool, "both", both));
    assert_counts_are_true(pool);
}

/* ---- the first lease of a client with limits */

/* While it runs, its transaction has changed accounts and not committed, as a ledger transaction. */
static struct db *open_writer(struct test_pool *pool, const char *sql)
{
    struct db *db = test_db_open(&pool->test);
    struct detail detail = {0};
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    if (db_query(db, (struct db_statement){sql, NULL, 0}, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return db;
}

static void DL8_a_client_is_counted_without_waiting_for_a_ledger_transaction(void **state)
{
    struct test_pool *pool = *state;
    const struct lease_limits limits = {.open_leases = 3};
    struct asked old;
    ask_limited(pool, &old, "late", (struct lease_limits){0}); /* from before it had limits */
    grant_on(pool, &old, 1);
    AUTO_FREE char *other = mem_format("UPDATE fairway.channel_accounts SET sequence_ledger = sequence_ledger"
                                       " WHERE lease_hash IS NOT NULL");
    struct db *ledger = open_writer(pool, other);
    struct db *unlimited = open_writer(pool, "SELECT" TEST_LEASE("sha256('x')",
                                                 "(SELECT public_key FROM fairway.channel_accounts WHERE "
                                                 "lease_hash IS NULL ORDER BY slot LIMIT 1)",
                                                 "(SELECT sequence + 1 FROM fairway.channel_accounts WHERE "
                                                 "lease_hash IS NULL ORDER BY slot LIMIT 1)",
                                                 "'late'"));
    const int64_t begun_ms = clock_ms();
    assert_true(grant_one(pool, "late", limits));
    assert_true(clock_ms() - begun_ms < slower(1500)); /* below lock_timeout */
    assert_int_equal(db_commit(unlimited, NULL), ERR_OK);
    assert_int_equal(db_commit(ledger, NULL), ERR_OK);
    for (int i = 0; i < 3; i++) /* the lease that was not visible then counts too */
        assert_false(grant_one(pool, "late", limits));
    const struct lease *ended = &old.grant.lease;
    test_pool_include(pool->db, &ended, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(grant_one(pool, "late", limits), i == 0);
        assert_true(grant_one(pool, "late", (struct lease_limits){.open_leases = ACCOUNTS}));
    }
    assert_counts_are_true(pool);
    assert_int_equal(
        test_db_number(&pool->test, "SELECT count(*) FROM fairway.client_usage WHERE counted"), 1);
    db_free(ledger);
    db_free(unlimited);
    asked_wipe(&old);
}

/* A session that holds a lock. As soon as another one waits, it needs a lock on a client's row, and ends. */
struct holder {
    const struct test_db *test;
    struct db *db;
    const char *needs; /* SQL */
    enum err error;    /* of that */
};

static void *take_and_commit(void *context)
{
    struct holder *holder = context;
    if (!test_db_await_lock_wait(holder->test, slower(5000)))
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

/* The holder is the first to lease for client "new", and has read the clients' rows before "seen" had one. */
static void assert_who_waits_for_a_new_client_holds_no_other(struct test_pool *pool, bool again)
{
    const struct lease_limits limits = {.open_leases = 3};
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.count_clients('{new}')"),
        .needs = "SELECT fairway.lock_usage('{seen}')"};
    assert_true(grant_one(pool, "seen", limits));
    struct asked asked[2];
    ask_limited(pool, &asked[0], "seen", limits);
    ask_limited(pool, &asked[1], "new", limits);
    pthread_t thread;
    struct detail detail = {0};
    assert_int_equal(pthread_create(&thread, NULL, take_and_commit, &holder), 0);
    enum err e = (again ? test_pool_grant_again : test_pool_grant)(pool, asked, 2, &detail);
    pthread_join(thread, NULL);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
    assert_int_equal(holder.error, ERR_OK);
    asked_wipe_all(asked, 2);
    db_free(holder.db);
    assert_counts_are_true(pool);
}

static void DL8_who_waits_for_a_new_client_holds_no_other(void **state)
{
    assert_who_waits_for_a_new_client_holds_no_other(*state, false);
}

static void DL8_who_waits_for_a_new_client_in_its_second_try_holds_no_other(void **state)
{
    assert_who_waits_for_a_new_client_holds_no_other(*state, true);
}

/* ---- leases a second */

static void DL8_a_clock_that_was_set_back_stops_no_client(void **state)
{
    struct test_pool *pool = *state;
    const struct lease_limits limits = {.leases_per_second = 2};
    assert_true(grant_one(pool, "fast", limits));
    test_db_exec(&pool->test, "UPDATE fairway.client_usage SET busy_until = clock_timestamp() + '1 hour'");
    assert_true(grant_one(pool, "fast", limits));
    assert_int_equal(test_db_number(&pool->test,
                         "SELECT count(*) FROM fairway.client_usage WHERE busy_until > clock_timestamp()"
                         " + '1 s'"),
        0);
}

int main(void)
{
#define LIMITS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        LIMITS_TEST(DL8_in_all_replicas_together_a_client_never_has_more_open_leases_than_its_limit),
        LIMITS_TEST(DL8_sessions_that_are_killed_leave_no_wrong_count),
        LIMITS_TEST(DL8_a_client_above_its_limit_fails_no_lease_of_another),
        LIMITS_TEST(DL8_a_share_of_the_pool_is_at_least_one_account),
        LIMITS_TEST(DL8_a_client_is_counted_without_waiting_for_a_ledger_transaction),
        LIMITS_TEST(DL8_who_waits_for_a_new_client_holds_no_other),
        LIMITS_TEST(DL8_who_waits_for_a_new_client_in_its_second_try_holds_no_other),
        LIMITS_TEST(DL8_a_clock_that_was_set_back_stops_no_client),
    };
    return cmocka_run_group_tests_name("limits of clients", tests, test_pg_start, test_pg_stop);
}
