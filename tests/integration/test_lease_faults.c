/*
 * DL6, H4: a grant that fails at any step changes nothing; the outcome of a COMMIT without a
 * reply is looked up.
 */
#include "support/pool.h"

#include "base/clock.h"
#include "base/mem.h"
#include "support/keyd.h"
#include "support/proxy.h"
#include "slowness.h"

#define ACCOUNTS 4

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

/* Checks that the pool is unchanged: the same request, on the same connection, gets one lease. */
static void assert_recovered(struct test_pool *pool, struct asked *asked)
{
    struct detail detail = {0};
    assert_int_equal(asked->grant.state, GRANT_OPEN);
    enum err e = test_pool_grant(pool, asked, 1, &detail);
    if (e != ERR_OK)
        fail_msg("%s %s", err_code(e), detail.text);
    assert_int_equal(asked->grant.state, GRANT_DONE);
    assert_lease_signed(pool, &asked->grant.lease);
    assert_int_equal(leased_accounts(pool), 1);
    assert_int_equal(lease_rows(pool), 1);
}

/* ---- in the database */

/* A fault in the database at one step of the grant. */
struct fault {
    const char *name, *install, *remove;
    enum err expected;
    const char *detail; /* a part of it, or NULL */
};

#define FAULTY(body)                                                                                         \
    "CREATE FUNCTION public.fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " body                      \
    " RETURN NULL; END $$;"
#define DIES "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1);"
#define RAISES "RAISE EXCEPTION 'planted';"
#define FILLS "RAISE EXCEPTION 'planted: no space left' USING ERRCODE = 'disk_full';"
#define HANGS "PERFORM pg_sleep(5);"
#define ON_LEASES                                                                                            \
    "CREATE TRIGGER fault AFTER INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.fault()"
#define ON_ACCOUNTS                                                                                          \
    "CREATE TRIGGER fault AFTER UPDATE ON fairway.channel_accounts FOR EACH ROW EXECUTE FUNCTION "           \
    "public.fault()"
#define AT_COMMIT                                                                                            \
    "CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON fairway.leases DEFERRABLE INITIALLY DEFERRED FOR EACH"  \
    " ROW EXECUTE FUNCTION public.fault()"
#define REMOVE "DROP FUNCTION public.fault() CASCADE"

static const struct fault faults[] = {
    {"raises at the lease row", FAULTY(RAISES) ON_LEASES, REMOVE, ERR_CONSTRAINT, NULL},
    {"raises at the account", FAULTY(RAISES) ON_ACCOUNTS, REMOVE, ERR_CONSTRAINT, NULL},
    {"raises at COMMIT", FAULTY(RAISES) AT_COMMIT, REMOVE, ERR_CONSTRAINT, NULL},
    {"dies at the lease row", FAULTY(DIES) ON_LEASES, REMOVE, ERR_SERIALIZATION, NULL},
    {"dies at the account", FAULTY(DIES) ON_ACCOUNTS, REMOVE, ERR_SERIALIZATION, NULL},
    {"dies at COMMIT", FAULTY(DIES) AT_COMMIT, REMOVE, ERR_SERIALIZATION, NULL},
    {"hangs at the lease row", FAULTY(HANGS) ON_LEASES, REMOVE, ERR_DATABASE_UNAVAILABLE, NULL},
    {"has a full disk", FAULTY(FILLS) ON_LEASES, REMOVE, ERR_DATABASE_UNAVAILABLE, "no space left"},
    {"refuses by a constraint", "ALTER TABLE fairway.leases ADD CONSTRAINT fault CHECK (sequence < 7)",
        "ALTER TABLE fairway.leases DROP CONSTRAINT fault", ERR_CONSTRAINT, NULL},
    {"has no such column", "ALTER TABLE fairway.leases RENAME request_id TO other",
        "ALTER TABLE fairway.leases RENAME other TO request_id", ERR_INTERNAL, NULL},
    {"has no such table", "ALTER TABLE fairway.cursor RENAME TO other",
        "ALTER TABLE fairway.other RENAME TO cursor", ERR_INTERNAL, NULL},
};

TEST(DL6_a_fault_at_each_step_in_the_database_leaves_nothing)
{
    struct test_pool *pool = *state;
    struct db *mine = pool->db;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct asked asked;
        struct detail detail = {0};
        pool->db = db_new(
            &(struct db_settings){.url = pool->test.url, .name = "faults", .statement_timeout_ms = 2000});
        ask(pool, &asked);
        test_db_exec(&pool->test, faults[i].install);
        enum err e = test_pool_grant(pool, &asked, 1, &detail);
        if (e != faults[i].expected ||
            (faults[i].detail != NULL && strstr(detail.text, faults[i].detail) == NULL))
            fail_msg("%s: %s %s", faults[i].name, err_code(e), detail.text);
        assert_nothing_leased(pool);
        test_db_exec(&pool->test, faults[i].remove);
        assert_recovered(pool, &asked);
        const struct lease *lease = &asked.grant.lease;
        assert_int_equal(test_pool_include(mine, &lease, 1).released, 1);
        test_db_exec(&pool->test, TEST_DELETE_LEASES);
        asked_wipe(&asked);
        db_free(pool->db);
    }
    pool->db = mine;
}

TEST(DL6_a_locked_table_costs_a_bounded_time_and_leaves_nothing)
{
    struct test_pool *pool = *state;
    struct asked asked;
    struct detail detail = {0};
    struct db *mine = pool->db, *other = test_db_open(&pool->test);
    pool->db = db_new(&(struct db_settings){.url = pool->test.url, .name = "faults", .lock_timeout_ms = 200});
    ask(pool, &asked);
    assert_int_equal(db_begin(other, &detail), ERR_OK);
    assert_int_equal(
        db_query(other, DB_SQL0("LOCK TABLE fairway.leases IN SHARE MODE"), NULL, &detail), ERR_OK);
    int64_t begun_ms = clock_ms();
    enum err e = test_pool_grant(pool, &asked, 1, &detail);
    assert_in_range(clock_ms() - begun_ms, 150, slower(2000));
    assert_int_equal(err_status(e), 503);
    db_rollback(other);
    assert_nothing_leased(pool);
    assert_recovered(pool, &asked);
    asked_wipe(&asked);
    db_free(pool->db);
    db_free(other);
    pool->db = mine;
}

/* ---- in the key process */

TEST(a_lost_key_process_leaves_nothing)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    struct keyd *alive = pool->keyd;
    ask(pool, &asked);
    pool->keyd = keyd_loaded(KEYD_PROVISION); /* it exits at the first message of another mode */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_KEYD_UNAVAILABLE);
        assert_nothing_leased(pool);
    }
    keyd_stop(pool->keyd);
    pool->keyd = alive;
    assert_recovered(pool, &asked);
}

/* ---- in the connection */

/* Grants through a proxy that breaks the connection when the client sends text. */
static enum err grant_through(
    struct test_pool *pool, struct asked *asked, enum proxy_fault fault, const char *text)
{
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    AUTO_FREE char *url = test_db_url_through(&pool->test, proxy_port(proxy));
    struct db *mine = pool->db;
    pool->db = db_new(&(struct db_settings){.url = url, .name = "lease test"});
    assert_int_equal(db_connect(pool->db, &detail), ERR_OK);
    proxy_arm(proxy, fault, text);
    enum err e = test_pool_grant(pool, asked, 1, &detail);
    db_free(pool->db);
    proxy_free(proxy);
    pool->db = mine;
    return e;
}

#define WITH_THE_CLAIM "fairway grants"
#define WITH_THE_COMMIT "fairway.record_leases" /* in one packet with COMMIT */

TEST(a_connection_cut_at_the_claim_leaves_nothing)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    ask(pool, &asked);
    assert_int_equal(grant_through(pool, &asked, PROXY_CUT_BEFORE, WITH_THE_CLAIM), ERR_DATABASE_UNAVAILABLE);
    assert_nothing_leased(pool);
    assert_int_equal(grant_through(pool, &asked, PROXY_CUT_AFTER, WITH_THE_CLAIM), ERR_DATABASE_UNAVAILABLE);
    assert_nothing_leased(pool);
    assert_recovered(pool, &asked);
}

/* The promoted standby has another transaction with this id. */
TEST(DR10_DR2_the_status_of_another_transaction_with_the_same_id_is_no_proof)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    ask(pool, &asked);
    test_db_exec(&pool->test, "ALTER TABLE fairway.leases DISABLE TRIGGER history_stays;" FAULTY(
                                  "DELETE FROM fairway.leases;") AT_COMMIT);
    assert_int_equal(grant_through(pool, &asked, PROXY_CUT_AFTER, WITH_THE_COMMIT), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_int_equal(asked.grant.lease.envelope.len, 0);
}

/* statement_timeout does not apply to COMMIT. The connection is closed while its session goes on. */
TEST(DR2_a_COMMIT_that_takes_longer_than_its_deadline_is_looked_up_until_it_ends)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    struct db *mine = pool->db;
    pool->db =
        db_new(&(struct db_settings){.url = pool->test.url, .name = "faults", .statement_timeout_ms = 300});
    ask(pool, &asked);
    test_db_exec(&pool->test, FAULTY("PERFORM pg_sleep(2.5);") AT_COMMIT);
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_OK);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    assert_lease_signed(pool, &asked.grant.lease);
    assert_int_equal(leased_accounts(pool), 1);
    assert_int_equal(lease_rows(pool), 1);
    db_free(pool->db);
    pool->db = mine;
}

/* The outcome cannot be looked up: the request is refused with ERR_OUTCOME_UNKNOWN. */
TEST(DR2_a_COMMIT_to_a_silent_server_that_cannot_be_looked_up_has_an_unknown_outcome)
{
    struct test_pool *pool = *state;
    struct asked asked CLEANUP(asked_wipe);
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    AUTO_FREE char *url = test_db_url_through(&pool->test, proxy_port(proxy));
    struct db *mine = pool->db;
    ask(pool, &asked);
    AUTO_FREE char *close = mem_format("ALTER DATABASE %s ALLOW_CONNECTIONS false", pool->test.name);
    AUTO_FREE char *open = mem_format("ALTER DATABASE %s ALLOW_CONNECTIONS true", pool->test.name);
    struct test_db postgres = {.url = (char *)(uintptr_t)test_pg_url()};
    pool->db = db_new(&(struct db_settings){.url = url, .name = "lease test"});
    assert_int_equal(db_connect(pool->db, &detail), ERR_OK);
    proxy_arm(proxy, PROXY_CUT_AFTER, WITH_THE_COMMIT);
    test_db_exec(&postgres, close);
    int64_t begun_ms = clock_ms();
    assert_int_equal(test_pool_grant(pool, &asked, 1, &detail), ERR_OUTCOME_UNKNOWN);
    assert_in_range(clock_ms() - begun_ms, 2500, slower(10000));
    test_db_exec(&postgres, open);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_int_equal(asked.grant.lease.envelope.len, 0);
    assert_int_equal(lease_rows(pool), 1); /* it was committed; its max time ends the lease */
    db_free(pool->db);
    proxy_free(proxy);
    pool->db = mine;
}

TEST_FIXTURE(set_up, test_pool_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
