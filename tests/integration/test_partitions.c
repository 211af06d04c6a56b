/*
 * The partitions of history, one a day, between sessions: on a day without them, when housekeeping wants to
 * drop one that somebody reads, and when two replicas keep house. tests/sql/history.sql has the rules.
 */
#include "support/pool.h"

#include <pthread.h>

#include "base/clock.h"
#include "pool/retention.h"
#include "slowness.h"

#define ACCOUNTS 20
#define REPLICAS 4
#define LOCK_TIMEOUT_MS 200 /* the janitor's */

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

static void drop_partitions(const struct test_pool *pool)
{
    test_db_exec(&pool->test,
        "DO $$ DECLARE part text; BEGIN FOR part IN SELECT name FROM fairway.partitions LOOP"
        " EXECUTE format('DROP TABLE fairway.%I', part); END LOOP; END $$");
}

static int64_t number(const struct test_pool *pool, const char *sql)
{
    return test_db_number(&pool->test, sql);
}

#define PARTITIONS_OF_TODAY                                                                                  \
    "SELECT count(*) FROM fairway.partitions WHERE day = (clock_timestamp() AT TIME ZONE 'UTC')::date"

/* ---- a day without partitions */

struct replica {
    struct test_pool pool;
    pthread_barrier_t *barrier;
    pthread_t thread;
    struct asked asked[2];
    enum err e;
};

static void *grant_two(void *context)
{
    struct replica *replica = context;
    pthread_barrier_wait(replica->barrier);
    replica->e = test_pool_grant(&replica->pool, replica->asked, ARRAY_LEN(replica->asked), NULL);
    return NULL;
}

/* The leader has not run for a week, or the clock of the database has changed. */
TEST(the_first_grants_of_a_day_make_its_partitions)
{
    struct test_pool *pool = *state;
    static struct replica replicas[REPLICAS];
    pthread_barrier_t barrier;
    drop_partitions(pool);
    pthread_barrier_init(&barrier, NULL, REPLICAS);
    for (size_t i = 0; i < REPLICAS; i++) {
        replicas[i] = (struct replica){.pool = *pool, .barrier = &barrier};
        replicas[i].pool.db = test_db_open(&pool->test);
        for (size_t n = 0; n < ARRAY_LEN(replicas[i].asked); n++)
            ask(pool, &replicas[i].asked[n]);
        assert_int_equal(pthread_create(&replicas[i].thread, NULL, grant_two, &replicas[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(replicas[i].thread, NULL);
    for (size_t i = 0; i < REPLICAS; i++) {
        assert_int_equal(replicas[i].e, ERR_OK);
        assert_int_equal(replicas[i].asked[1].grant.state, GRANT_DONE);
        asked_wipe_all(replicas[i].asked, ARRAY_LEN(replicas[i].asked));
        db_free(replicas[i].pool.db);
    }
    pthread_barrier_destroy(&barrier);
    assert_int_equal(lease_rows(pool), 2 * REPLICAS);
    assert_int_equal(number(pool, PARTITIONS_OF_TODAY), 4);
}

/* ---- a day that somebody reads */

static struct db *janitor_session(const struct test_pool *pool)
{
    return db_new(&(struct db_settings){
        .url = pool->test.url, .name = "fairway janitor", .lock_timeout_ms = LOCK_TIMEOUT_MS});
}

struct housekeeping {
    struct db *db;
    pthread_t thread;
    size_t refused; /* steps that did not get their lock */
    bool dropped, stop;
};

static void *keep_house(void *context)
{
    struct housekeeping *house = context;
    while (!__atomic_load_n(&house->stop, __ATOMIC_SEQ_CST) && !house->dropped) {
        size_t changed = 0;
        enum err e = retention_step(house->db, RETENTION_HISTORY, 0, 0, &changed, NULL);
        __atomic_store_n(&house->dropped, e == ERR_OK && changed > 0, __ATOMIC_SEQ_CST);
        if (e != ERR_OK)
            __atomic_add_fetch(&house->refused, 1, __ATOMIC_SEQ_CST);
        clock_sleep_ms(100);
    }
    return NULL;
}

/* A long SELECT holds a lock on each partition. Housekeeping waits for it, and grants wait for housekeeping:
 * never longer than its lock_timeout. */
TEST(an_open_read_of_history_stops_housekeeping_and_no_grant)
{
    struct test_pool *pool = *state;
    AUTO_DB reader = db_new(&(struct db_settings){
        .url = pool->test.url, .name = "reader", .idle_transaction_timeout_ms = 600000});
    struct housekeeping house = {.db = janitor_session(pool)};
    int64_t longest_ms = 0;
    test_db_exec(&pool->test, "SELECT fairway.add_partitions(current_date - 3, current_date - 3)");
    assert_int_equal(db_begin(reader, NULL), ERR_OK);
    assert_int_equal(
        db_query(reader, DB_SQL0("SELECT count(*) FROM fairway.lease_history"), NULL, NULL), ERR_OK);
    assert_int_equal(pthread_create(&house.thread, NULL, keep_house, &house), 0);
    for (int n = 0; n < ACCOUNTS || __atomic_load_n(&house.refused, __ATOMIC_SEQ_CST) < 3; n++) {
        struct asked asked CLEANUP(asked_wipe);
        const struct lease *lease = &asked.grant.lease;
        const int64_t begun_ms = clock_ms();
        test_pool_grant_all(pool, &asked, 1);
        const int64_t took_ms = clock_ms() - begun_ms;
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
        test_pool_include(pool->db, &lease, 1);
    }
    print_message("the longest grant took %lld ms\n", (long long)longest_ms);
    assert_in_range(longest_ms, 0, 2 * LOCK_TIMEOUT_MS + slower(200));
    db_rollback(reader);
    for (int64_t end_ms = clock_ms() + slower(20000);
         !__atomic_load_n(&house.dropped, __ATOMIC_SEQ_CST) && clock_left_ms(end_ms) > 0;)
        clock_sleep_ms(20);
    __atomic_store_n(&house.stop, true, __ATOMIC_SEQ_CST);
    pthread_join(house.thread, NULL);
    assert_true(house.dropped);
    db_free(house.db);
}

/* ---- one replica at a time */

static size_t step(struct db *db, enum retention what)
{
    struct detail detail = {0};
    size_t changed;
    const enum err e = retention_step(db, what, 0, 100, &changed, &detail);
    if (e != ERR_OK)
        fail_msg("%s: %s", err_code(e), detail.text);
    return changed;
}

TEST(a_step_does_nothing_while_another_replica_runs_one)
{
    struct test_pool *pool = *state;
    struct db *one = test_db_open(&pool->test), *other = test_db_open(&pool->test);
    static const enum retention steps[] = {
        RETENTION_PARTITIONS, RETENTION_HISTORY, RETENTION_LEDGERS, RETENTION_FORGET};
    test_db_exec(&pool->test, "SELECT fairway.add_partitions(current_date - 3, current_date - 3);"
                              "INSERT INTO fairway.waiting VALUES (2, 1, 0, now() - interval '11 s')");
    assert_int_equal(db_begin(one, NULL), ERR_OK);
    step(one, RETENTION_PARTITIONS);
    const int64_t begun_ms = clock_ms();
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        assert_int_equal(step(other, steps[i]), 0);
    assert_true(clock_ms() - begun_ms < slower(1500)); /* lock_timeout is 2 s */
    db_rollback(one);
    assert_int_equal(step(other, RETENTION_HISTORY), 4);
    assert_int_equal(step(other, RETENTION_FORGET), 1);
    db_free(one);
    db_free(other);
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
