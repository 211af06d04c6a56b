/*
 * The partitions of history, one a day (UTC): on a day without them, at midnight, in sessions of another time
 * zone, and when housekeeping wants to drop one that somebody reads.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/retention.h"
#include "slowness.h"
#include "support/pool_rows.h"

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
static void the_first_grants_of_a_day_make_its_partitions(void **state)
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

/* ---- midnight, and other time zones */

static void set_zone(struct test_pool *pool, const char *zone)
{
    AUTO_FREE char *sql = mem_format("ALTER DATABASE %s SET timezone = '%s'", pool->test.name, zone);
    test_db_exec(&pool->test, sql);
    db_free(pool->db);
    pool->db = test_db_open(&pool->test);
}

static void grant_keyed(struct test_pool *pool, struct asked *asked, const char *key)
{
    struct detail detail = {0};
    ask(pool, asked);
    snprintf(asked->request.idempotency_key, sizeof asked->request.idempotency_key, "%s", key);
    if (test_pool_grant(pool, asked, 1, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(asked->grant.state, GRANT_DONE);
}

/* Grants with a key, asks again with it, and lets a ledger include the transaction. */
static void live(struct test_pool *pool, const char *key, struct asked *first)
{
    struct asked again;
    grant_keyed(pool, first, key);
    grant_keyed(pool, &again, key);
    assert_true(hash_equal(&again.grant.lease.hash, &first->grant.lease.hash));
    asked_wipe(&again);
}

/* As a person does in psql: fairway's own sessions are in UTC. */
static void make_today(const struct test_pool *pool, const char *zone)
{
    AUTO_FREE char *sql = mem_format("SET timezone = '%s'; SELECT fairway.add_partitions(d, d) FROM"
                                     " (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS d) t",
        zone);
    test_db_exec(&pool->test, sql);
}

/* Partitions that begin and end at midnight. */
static const char sql_of_utc[] =
    "SELECT count(*) FROM fairway.partitions p JOIN pg_class c ON c.relname = p.name WHERE"
    " pg_get_expr(c.relpartbound, c.oid) LIKE 'FOR VALUES FROM (''% 00:00:00+00'') TO (''% 00:00:00+00'')'";

static void H3_days_of_history_are_of_utc_in_a_session_of_any_time_zone(void **state)
{
    struct test_pool *pool = *state;
    static const char *const zones[] = {"Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kolkata"};
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct asked asked;
        const struct lease *lease = &asked.grant.lease;
        set_zone(pool, zones[i]);
        drop_partitions(pool);
        if (i > 0) /* else the grant does it */
            make_today(pool, zones[i]);
        live(pool, zones[i], &asked);
        assert_int_equal(test_pool_include(pool->db, &lease, 1).confirmed, 1);
        asked_wipe(&asked);
        assert_int_equal(number(pool, "SELECT count(*) FROM fairway.partitions"), 4);
        assert_int_equal(number(pool, PARTITIONS_OF_TODAY), 4);
        assert_int_equal(number(pool, sql_of_utc), 4);
        assert_int_equal(number(pool, "SELECT count(*) FROM fairway.lease_results"), 1);
    }
}

/* Moves a lease and its key to this time of today, by UTC. */
static void move(const struct test_pool *pool, const char *key, const char *interval)
{
    AUTO_FREE char *sql =
        mem_format("SELECT fairway.add_partitions(current_date - 2, current_date);" TEST_CHANGE_LEASES(
                       "granted_at = date_trunc('day', now(), 'UTC') + interval '%s'"
                       " WHERE hash = (SELECT lease_hash FROM fairway.idempotency_keys WHERE key = '%s')")
                       TEST_UNCHECKED("UPDATE fairway.idempotency_keys k SET granted_at = l.granted_at"
                                      " FROM fairway.leases l WHERE l.hash = k.lease_hash"),
            interval, key);
    test_db_exec(&pool->test, sql);
}

static void leases_of_both_sides_of_midnight_are_found_and_settled(void **state)
{
    struct test_pool *pool = *state;
    struct asked before, after, again;
    const struct lease *const leases[] = {&before.grant.lease, &after.grant.lease};
    set_zone(pool, "Pacific/Kiritimati");
    grant_keyed(pool, &before, "before");
    grant_keyed(pool, &after, "after");
    move(pool, "before", "-1 microsecond");
    move(pool, "after", "0");
    grant_keyed(pool, &again, "before");
    assert_true(hash_equal(&again.grant.lease.hash, &before.grant.lease.hash));
    assert_int_equal(test_pool_include(pool->db, leases, 2).confirmed, 2);
    assert_int_equal(number(pool, "SELECT count(DISTINCT r.tableoid) FROM fairway.lease_results r"), 2);
    assert_int_equal(
        number(pool, "SELECT count(*) FROM fairway.lease_history WHERE result = 'confirmed'"), 2);
    asked_wipe(&before);
    asked_wipe(&after);
    asked_wipe(&again);
}

/* ---- leases of which only the hash is known */

#define THIS_HOUR "date_trunc('hour', now(), 'UTC')"

/* The time of the grant. Later than now: the database's clock was set back since. */
static const char *const moments[] = {"now()", THIS_HOUR, THIS_HOUR " - interval '1 us'",
    THIS_HOUR " + interval '1 hour'", "now() + interval '5 hours'", "now() - interval '30 hours'",
    "date_trunc('day', now(), 'UTC') - interval '1 us'", "date_trunc('day', now(), 'UTC')",
    "date_trunc('day', now(), 'UTC') - interval '2 days'",
    "date_trunc('day', now(), 'UTC') + interval '8 days' - interval '1 us'"};

/* Adds a lease of each moment, with a fee bump. */
static void add_leases(const struct test_db *db)
{
    test_db_exec(db, "SELECT fairway.add_partitions(current_date - 2, current_date + 7)");
    for (size_t i = 0; i < ARRAY_LEN(moments); i++)
        test_db_execf(db,
            TEST_UNCHECKED("WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope,"
                           " max_time, request_id, granted_at) SELECT sha256('lease %zu'), '', %zu, '', '',"
                           " 1, 'r', %s RETURNING *) INSERT INTO fairway.fee_bumps (hash, lease_hash,"
                           " granted_at, fee) SELECT sha256(hash), hash, granted_at, 200 FROM l"),
            i, i, moments[i]);
}

static void assert_found(const struct test_db *db)
{
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        AUTO_FREE char *sql =
            mem_format("SELECT sum(f.ordinal * 100 + f.sequence)::int8 FROM"
                       " fairway.find_leases(ARRAY[sha256('none'), sha256('lease %zu'),"
                       " sha256(sha256('lease %zu'))]) f WHERE f.hash = sha256('lease %zu')",
                i, i, i);
        const int64_t found = test_db_number(db, sql);
        if (found != (int64_t)(500 + 2 * i))
            fail_msg("of %s: %lld", moments[i], (long long)found);
    }
}

static void a_lease_is_found_by_its_hash_whenever_it_was_granted(void **state)
{
    struct test_pool *pool = *state;
    add_leases(&pool->test);
    assert_found(&pool->test);
}

/* An hour of a local time may begin within an hour of UTC. */
static void a_lease_is_found_by_its_hash_in_every_time_zone(void **state)
{
    struct test_pool *pool = *state;
    add_leases(&pool->test);
    test_db_exec(&pool->test,
        "SET timezone = 'Asia/Kathmandu';"
        "DO $$ BEGIN ASSERT (SELECT count(*) FROM fairway.find_leases((SELECT array_agg(l.hash)"
        " FROM fairway.leases l))) = (SELECT count(*) FROM fairway.leases); END $$");
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
static void an_open_read_of_history_stops_housekeeping_and_no_grant(void **state)
{
    struct test_pool *pool = *state;
    struct db *reader = db_new(&(struct db_settings){
        .url = pool->test.url, .name = "reader", .idle_transaction_timeout_ms = 600000});
    struct housekeeping house = {.db = janitor_session(pool)};
    int64_t longest_ms = 0;
    test_db_exec(&pool->test, "SELECT fairway.add_partitions(current_date - 3, current_date - 3)");
    assert_int_equal(db_begin(reader, NULL), ERR_OK);
    assert_int_equal(
        db_query(reader, DB_SQL0("SELECT count(*) FROM fairway.lease_history"), NULL, NULL), ERR_OK);
    assert_int_equal(pthread_create(&house.thread, NULL, keep_house, &house), 0);
    for (int n = 0; n < ACCOUNTS || __atomic_load_n(&house.refused, __ATOMIC_SEQ_CST) < 3; n++) {
        struct asked asked;
        const struct lease *lease = &asked.grant.lease;
        const int64_t begun_ms = clock_ms();
        test_pool_grant_all(pool, &asked, 1);
        const int64_t took_ms = clock_ms() - begun_ms;
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
        test_pool_include(pool->db, &lease, 1);
        asked_wipe(&asked);
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
    db_free(reader);
}

/* ---- housekeeping that has nothing to do */

static size_t step(struct db *db, enum retention what)
{
    struct detail detail = {0};
    size_t changed;
    const enum err e = retention_step(db, what, 7 * 86400, 0, &changed, &detail);
    if (e != ERR_OK)
        fail_msg("%s: %s", err_code(e), detail.text);
    return changed;
}

/* VACUUM and ANALYZE take this lock on a partition, for hours on a large one. */
static void DX10_a_vacuum_of_a_day_does_not_stop_housekeeping(void **state)
{
    struct test_pool *pool = *state;
    struct db *house = janitor_session(pool), *vacuum = test_db_open(&pool->test);
    while (step(house, RETENTION_PARTITIONS) > 0)
        ;
    assert_int_equal(db_begin(vacuum, NULL), ERR_OK);
    assert_int_equal(
        db_query(vacuum,
            DB_SQL0("DO $$ BEGIN EXECUTE format('LOCK TABLE fairway.%I IN SHARE UPDATE EXCLUSIVE MODE',"
                    " to_char(clock_timestamp() AT TIME ZONE 'UTC', '\"leases_\"YYYYMMDD')); END $$"),
            NULL, NULL),
        ERR_OK);
    assert_int_equal(step(house, RETENTION_PARTITIONS), 0);
    test_db_exec(&pool->test,
        "DO $$ DECLARE part text; BEGIN FOR part IN SELECT p.name FROM fairway.partitions p"
        " WHERE p.day = (SELECT max(q.day) FROM fairway.partitions q) LOOP"
        " EXECUTE format('DROP TABLE fairway.%I', part); END LOOP; END $$");
    assert_int_equal(step(house, RETENTION_PARTITIONS), 4);
    db_rollback(vacuum);
    db_free(vacuum);
    db_free(house);
}

/* Reading all accounts of a large pool may take longer than the janitor's statement_timeout. */
static void DX10_accounts_are_not_read_when_no_day_is_old(void **state)
{
    struct test_pool *pool = *state;
    struct db *house = janitor_session(pool), *other = test_db_open(&pool->test);
    assert_int_equal(db_begin(other, NULL), ERR_OK);
    assert_int_equal(db_query(other, DB_SQL0("LOCK TABLE fairway.channel_accounts"), NULL, NULL), ERR_OK);
    assert_int_equal(step(house, RETENTION_HISTORY), 0);
    db_rollback(other);
    db_free(other);
    db_free(house);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_grants_of_a_day_make_its_partitions),
        TEST(H3_days_of_history_are_of_utc_in_a_session_of_any_time_zone),
        TEST(leases_of_both_sides_of_midnight_are_found_and_settled),
        TEST(a_lease_is_found_by_its_hash_whenever_it_was_granted),
        TEST(a_lease_is_found_by_its_hash_in_every_time_zone),
        TEST(an_open_read_of_history_stops_housekeeping_and_no_grant),
        TEST(DX10_a_vacuum_of_a_day_does_not_stop_housekeeping),
        TEST(DX10_accounts_are_not_read_when_no_day_is_old),
    };
    return cmocka_run_group_tests_name("partitions", tests, test_pg_start, test_pg_stop);
}
